/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The loop's ear at rdma_cm. An event is copied and acknowledged before anything is done about it,
 * so that rdma_destroy_id, in whatever thread, waits for no more than that.
 */
#ifndef DAT_PROVIDER_CM_EVENTS_H
#define DAT_PROVIDER_CM_EVENTS_H

#include <dat2/udat.h>

struct dpr_ia;

/* The loop: something is readable on ia->channel. */
void dpr_conn_ready(struct dpr_ia *ia);

#endif

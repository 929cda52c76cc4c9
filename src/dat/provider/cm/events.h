/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of rdma_cm. An event is copied and acknowledged before it is handled, so that
 * rdma_destroy_id in another thread waits for no more than that.
 */
#ifndef DAT_PROVIDER_CM_EVENTS_H
#define DAT_PROVIDER_CM_EVENTS_H

#include <dat2/udat.h>

struct dpr_ia;

/* In the loop: ia->channel is readable. */
void dpr_conn_ready(struct dpr_ia *ia);

#endif

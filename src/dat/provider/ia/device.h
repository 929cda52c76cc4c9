/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The asynchronous events of a verbs device, and what DAT calls them. An event is acknowledged
 * before anything is done about it: whoever destroys the queue waits for that.
 */
#ifndef DAT_PROVIDER_IA_DEVICE_H
#define DAT_PROVIDER_IA_DEVICE_H

#include <dat2/udat.h>

struct dpr_ia;

/* The adapter takes part in the events of its device. 0 or -errno. */
int dpr_device_join(struct dpr_ia *ia);
void dpr_device_leave(struct dpr_ia *ia);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HOST_OUTBOX_H
#define HOST_OUTBOX_H

#include "host/mailbox.h"

/* As host_send(); a message that finds a full mailbox waits a little, in order. */
int host_outbox_send(struct host *h, struct host_addr *a, struct host_dest to,
		     struct host_message *m, const void *body, size_t len);
void host_outbox_flush(struct host *h);
/* When to flush again, or UT_NEVER. */
uint64_t host_outbox_deadline(const struct host *h);
/* Drops what waits from this address. */
void host_outbox_forget(struct host *h, const struct host_addr *a);

#endif

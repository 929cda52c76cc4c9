/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams that wait for room in another member's mailbox. A mailbox holds few messages (net.unix.max_dgram_qlen is
 * 10 on many hosts), fewer than a sender's window, so what does not fit waits here a little, bounded in number and
 * time: a stopped member must not fill our memory. Fewer wait for a service: its requests are repeated, and many may
 * come for a listener that is stopped, while what goes to a slot is one connection's window. The messages for one
 * destination keep their order.
 */
#ifndef HOST_OUTBOX_H
#define HOST_OUTBOX_H

#include "host/mailbox.h"

/* Sends a message as host_send() does; one that finds a full mailbox, or others waiting for it, waits. Returns 0; -EAGAIN
 * if too many wait already; or -errno. */
int host_outbox_send(struct host *h, struct host_addr *a, struct host_dest to,
		     struct host_message *m, const void *body, size_t len);
/* Sends what fits now, and drops what has waited for too long. */
void host_outbox_flush(struct host *h);
/* Returns when to flush again, or UT_NEVER. */
uint64_t host_outbox_deadline(const struct host *h);
/* Drops what waits from this address. */
void host_outbox_forget(struct host *h, const struct host_addr *a);

#endif

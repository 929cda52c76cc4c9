/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connection records, kept by other members for the case that a process dies: it passes a sealed memory and its
 * pidfd to two other members of each address. The member that sees the pidfd die finds the memory in
 * host_dead_peer(), and disconnects on behalf of the dead peer. Two keepers, because the first may be stopped or die
 * as well; not all, because descriptors are few.
 *
 * The keepers are the next slots after our own, so each change of the members is a reason to send the records again.
 * A keeper replaces those it has of a slot; sending twice costs a message.
 */
#ifndef HOST_SURVIVOR_H
#define HOST_SURVIVOR_H

#include "host/host.h"

/* Passes the process's connection records, a sealed memory that stays the caller's, to the keepers. */
void host_entrust(struct host *h, int fd);
/* Returns the records of a member that has died, and the address that it shared with us; valid until the next call.
 * NULL: no further one has died. The bytes are those of another process: they are not checked. */
const void *host_dead_peer(struct host *h, uint8_t ret_addr[16], size_t *ret_len);

/* The members have changed, and with them the keepers: host_records_settle() sends the records anew. */
void host_records_news(struct host *h, struct host_addr *a);
void host_records_settle(struct host *h, struct host_addr *a, uint64_t now);
uint64_t host_records_deadline(const struct host_addr *a);
/* host_handler of HOST_MSG_RECORDS: keeps the records of a member. */
void host_records_take(void *host, struct host_addr *a, const struct host_message *m,
		       const uint8_t *body, size_t len);
void host_peer_watches_drop(struct host *h, const struct host_addr *a); /* NULL: all */

#endif

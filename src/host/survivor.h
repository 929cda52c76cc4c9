/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HOST_SURVIVOR_H
#define HOST_SURVIVOR_H

#include "host/host.h"

/* The process's connection records: a sealed memory that stays the caller's. */
void host_entrust(struct host *h, int fd);
/* The records of a member that died, and the address that it shared with us; valid until the next call.
 * NULL: no (further) one has died. Its bytes are those of another process. */
const void *host_dead_peer(struct host *h, uint8_t ret_addr[16], size_t *ret_len);

/* The members have changed: others keep our records now. Sent by the next settle. */
void host_records_news(struct host *h, struct host_addr *a);
void host_records_settle(struct host *h, struct host_addr *a, uint64_t now);
uint64_t host_records_deadline(const struct host_addr *a);
/* HOST_MSG_RECORDS of a member. */
void host_records_take(void *host, struct host_addr *a, const struct host_message *m,
		       const uint8_t *body, size_t len);
void host_peer_watches_drop(struct host *h, const struct host_addr *a); /* NULL: all */

#endif

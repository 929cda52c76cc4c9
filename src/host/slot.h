/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Slots: the names of the members of an address, and the lock of an address. All addresses of a host
 * share one slot, since a QPN has room for one. As long as the slot is not in use, a further address
 * whose name for it is taken makes the host move to another slot with all its addresses; later
 * that address is refused.
 */
#ifndef HOST_SLOT_H
#define HOST_SLOT_H

#include "host/host.h"

#include <sys/socket.h>
#include <sys/un.h>

/* "127.0.0.1", "fe80::1%2"; as long as the longest of them. */
#define HOST_ADDR_TEXT 64
void host_addr_text(const uint8_t addr[16], uint32_t scope, char ret[HOST_ADDR_TEXT]);

/* Our uid as peers are shown it. 0 or -errno. */
int host_self_uid(uint32_t *ret);
/* A datagram socket with this name that is told the sender of each message, or -errno. */
int host_socket(const struct sockaddr_un *sun, socklen_t n);
socklen_t host_slot_name(const struct host *h, const uint8_t addr[16], uint32_t scope,
			 unsigned slot, struct sockaddr_un *ret);
/* Marks the slots that are claimed on an address; returns how many are. */
unsigned host_slot_claims(const struct host *h, const struct host_addr *a, uint8_t claimed[256]);
/* The lock of an address: a descriptor, or -EBUSY. Waits up to ns. */
int host_lock(const struct host *h, const uint8_t addr[16], uint32_t scope, uint64_t ns);

void host_addr_init(struct host_addr *a, const uint8_t addr[16], uint32_t scope);
/*
 * Claims the host's slot on the address, which is not in h->addrs yet; h->slot is chosen if there is
 * none, or changed unless `fixed`. 0 and a->mail is open; -EADDRINUSE if the name is taken; -errno.
 */
int host_slot_take(struct host *h, struct host_addr *a, bool fixed);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Slots: the names of the members of an address, and the lock of an address. All addresses of a host share one slot,
 * since a QPN has room for one. As long as the slot is not in use, a further address whose name for it is taken makes
 * the host move to another slot with all its addresses; later that address is refused.
 *
 * Names are abstract unix sockets, one for each claimed slot and one as the lock of an address. The kernel drops them
 * with the process, they belong to a network namespace (host_user.socket), and nothing is left on disk. A forked child
 * may keep the name of a dead parent: that slot is lost until the child ends, and the next one is taken. A name that
 * another user has bound is replaced by a random one (owners.h).
 */
#ifndef HOST_SLOT_H
#define HOST_SLOT_H

#include "host/host.h"

#include <sys/socket.h>
#include <sys/un.h>

/* Writes "127.0.0.1", "fe80::1%2"; HOST_ADDR_TEXT: room for the longest. */
#define HOST_ADDR_TEXT 64
void host_addr_text(const uint8_t addr[16], uint32_t scope, char ret[HOST_ADDR_TEXT]);

/* Finds our uid as peer processes see it. Returns 0 or -errno. */
int host_self_uid(uint32_t *ret);
/* Returns a datagram socket with this name, on which the kernel states the sender of each message; or -errno. */
int host_socket(const struct host *h, const struct sockaddr_un *sun, socklen_t n);
/* Writes the name of a member's mailbox: the tagged one where that is known (owners.h). Returns its length. */
socklen_t host_slot_name(struct host *h, const uint8_t addr[16], uint32_t scope,
			 unsigned slot, struct sockaddr_un *ret);
/* Marks the slots that members have claimed on an address, and learns their names. Returns how many are. */
unsigned host_slot_claims(struct host *h, struct host_addr *a, uint8_t claimed[256]);
/* Takes the lock of an address, waiting up to ns. Returns a descriptor to close, or -EBUSY. */
int host_lock(struct host *h, const uint8_t addr[16], uint32_t scope, uint64_t ns);

void host_addr_init(struct host_addr *a, const uint8_t addr[16], uint32_t scope);
/*
 * Claims the host's slot on the address, which is not in h->addrs yet; h->slot is chosen if there is
 * none, or changed unless `fixed`. Returns 0 with a->mail open, -EADDRINUSE if the name is taken, or -errno.
 */
int host_slot_take(struct host *h, struct host_addr *a, bool fixed);

#endif

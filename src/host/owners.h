/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The names of an address as the kernel sees them: an abstract name has no permissions, so another user can bind those
 * of slots and of the lock (a squatter). The kernel tells the owner of each socket (sock_diag(7), the uid since Linux
 * 5.3). A name of ours that is squatted gets a tag, 16 random digits, which the other members find in the same way:
 *
 *     dapple-roce/127.0.0.1/4791/3                     the name of slot 3
 *     dapple-roce/127.0.0.1/4791/3/0123456789abcdef    in place of it, where another user holds that
 */
#ifndef HOST_OWNERS_H
#define HOST_OWNERS_H

#include "host/host.h"

#include <sys/socket.h>
#include <sys/un.h>

#define HOST_LOCK HOST_SLOTS /* "slot" of the lock's name */

/* What is bound on an address, by slot and for the lock. */
struct host_owners {
	bool foreign[HOST_SLOTS + 1]; /* the plain name belongs to another user */
	bool ours[HOST_SLOTS + 1];    /* a name belongs to this user */
	uint64_t tag[HOST_SLOTS + 1]; /* of that name, 0: it is the plain one */
	unsigned locks;               /* tagged names of the lock that belong to this user */
	uint32_t uid;                 /* of the last other user, if n_foreign */
	unsigned n_foreign;
};

/* Asks the kernel. Returns 0, or -errno: it does not tell, and *ret has no owners. */
int host_owners(const struct host *h, const uint8_t addr[16], uint32_t scope, struct host_owners *ret);
/* Writes the name of a slot, or of the lock, with this tag (0: none). Returns its length as an address. */
socklen_t host_owned_name(const struct host *h, const uint8_t addr[16], uint32_t scope, unsigned slot, uint64_t tag,
			  struct sockaddr_un *ret);
/* Returns true if this is a name of the slot, and its tag (0: none). n: length as an address. */
bool host_owned_tag(const struct host *h, const uint8_t addr[16], uint32_t scope, unsigned slot,
		    const struct sockaddr_un *sun, socklen_t n, uint64_t *ret_tag);

#endif

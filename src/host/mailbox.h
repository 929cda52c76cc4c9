/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages between the members of an address: what host.h draws. Every user of the network namespace can write to
 * the names, so the sender's uid, as the kernel states it, decides, and the contents are checked like a packet's.
 * A mailbox holds few messages (net.unix.max_dgram_qlen); what is to wait for room goes by the outbox (outbox.h).
 */
#ifndef HOST_MAILBOX_H
#define HOST_MAILBOX_H

#include "host/host.h"

#define HOST_MESSAGE_MAGIC 0x444c5031u

/* In front of the body. Its form never changes (layout.h). */
struct host_message {
	uint32_t magic;
	uint8_t type, slot, index, tos; /* enum host_message_type; the sender's slot */
	uint64_t nonce;
	uint8_t src[16];
	uint16_t sport, seg;
	uint8_t ttl;
	uint8_t layout; /* of the sender (layout.h) */
	uint8_t pad[2];
};

/* The owner of a slot, or the claimant of a service. */
struct host_dest {
	uint16_t slot; /* HOST_NO_SLOT: the service */
	uint64_t service;
	const uint8_t *addr; /* of another local address; NULL: the sender's own */
	uint32_t scope;
};

static inline struct host_dest host_to_slot(unsigned slot)
{
	return (struct host_dest){ .slot = (uint16_t)slot };
}

static inline struct host_dest host_to_service(uint64_t service)
{
	return (struct host_dest){ .slot = HOST_NO_SLOT, .service = service };
}

/* Returns a small number for a destination; services may share one. */
static inline unsigned host_key(struct host_dest to)
{
	return to.slot != HOST_NO_SLOT ? to.slot & 0xffu
				       : 0x100u + (unsigned)((to.service ^ to.service >> 8) & 0xff);
}

/* Sends a message. Returns 0, -EAGAIN if the mailbox is full, -ECONNREFUSED if the name has no owner, or -errno. */
int host_send(struct host *h, struct host_addr *a, struct host_dest to, struct host_message *m,
	      const void *body, size_t len);
/* The same with n descriptors, at most HOST_FDS. */
int host_send_fds(struct host *h, struct host_addr *a, struct host_dest to, struct host_message *m,
		  const void *body, size_t len, const int *fds, int n);
/* Takes one message. Returns 1 with its parts, or 0 if the mailbox is empty. Messages of other users are skipped. Its
 * descriptors are in h->fds until the next call. */
int host_receive(struct host *h, int fd, struct host_message *m, uint8_t *body, size_t room,
		 size_t *ret_len);
/* Closes what is left in h->fds. */
void host_fds_close(struct host *h);

struct msghdr;
/* Takes the descriptors of a message on a unix socket (SCM_RIGHTS, unix(7)): the i-th goes to to[i] if that is -1; all
 * others are closed, since any process may send any number. */
void host_fds_take(struct msghdr *m, int *to, unsigned n);
/* Puts n descriptors into the control data of a message to be sent, which has room for just these: CMSG_SPACE(n * sizeof(int)) zeros. */
void host_fds_put(struct msghdr *m, const int *fds, unsigned n);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How the processes of one host share an adapter, without a daemon.
 *
 * Each process that has an adapter open on a local address is a member of that address and claims a
 * slot on it: a number that stands in the upper bits of its QPNs and communication IDs. The claim is
 * an abstract unix socket named after address, port and slot, and the member's mailbox at once:
 *
 *     member, slot 3                               member, slot 7
 *     bound: .../127.0.0.1/4791/3                  bound: .../127.0.0.1/4791/7
 *          |  host_send(to slot 7) ----- message ----->  host_receive(): the kernel's word on the
 *          |                             + descriptors   sender's uid (SCM_CREDENTIALS) decides
 *          |  pidfd, connection records  ------------->  survivor.c: keeps them for the day of death
 *
 * The kernel drops claims with their owner; nothing is left on disk. Liveness is a pidfd, since a
 * forked child keeps names and sockets of a dead parent alive (liveness.h adds a word that tells an
 * exec too).
 *
 * Who writes what: a process writes its own sockets and its own sealed segments (shm/), and sends
 * messages to mailboxes of others. Every message is hostile input: the handler checks length and
 * fields like those of a packet.
 *
 * No wake-up is lost: mailboxes, pidfds and wake fds are in one epoll set, level-triggered but for
 * the wake fds, which the owner sleeps on; a mailbox is read to its end each time it was reported.
 *
 * Everything is guarded by the owner's progress lock.
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include "util/list.h"
#include "util/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Slot 255 would hold QPN 0xffffff, which means multicast. */
#define HOST_SLOTS 255u
#define HOST_NO_SLOT 0xffffu
#define HOST_SLOT_SHIFT 16 /* of the slot in a QPN */
#define HOST_OUTBOX_KEYS 512u
#define HOST_FDS 5 /* descriptors of one message at most */

struct host;
struct host_addr;
struct host_message;
struct host_peer_watch;
struct host_port;

/* A kind of descriptor in the epoll set. */
struct host_port_kind {
	uint32_t events; /* epoll(7); 0: watched for nothing, so that a forked child closes it */
	/* The set reports it. May unwatch and free the port. */
	void (*ready)(struct host *h, struct host_port *p, uint32_t events);
};

struct host_port {
	const struct host_port_kind *kind;
	int fd; /* -1: not in the set */
};

/* A local address. The link that is on it has more, behind this. */
struct host_addr {
	struct ut_list node; /* host.addrs */
	uint8_t addr[16];
	uint32_t scope;
	struct host_port mail;
	bool mail_ready;      /* the set has reported it */
	unsigned mail_polled; /* read without being reported for so many calls */
	unsigned records_tries; /* our connection records are to be given to others, from records_at on */
	uint64_t records_at;
	/* owners.h: names that another user holds, and what members have in place of them. */
	bool squatted[HOST_SLOTS];
	uint64_t tag[HOST_SLOTS];
};

enum host_socket_kind {
	HOST_SOCKET_MAIL,   /* unix(7), datagrams: a name of a slot or a service */
	HOST_SOCKET_LOCK,   /* unix(7), stream: the name of a lock */
	HOST_SOCKET_OWNERS, /* sock_diag(7) */
};

/* What the link on the addresses adds. The link fills every slot. */
struct host_user {
	/* Writes the slots of the members of an address in the link's order, ours included. Returns how many. */
	unsigned (*members)(struct host_addr *a, uint16_t ret[HOST_SLOTS]);
	/* A member has died: the link finds the order anew. */
	void (*member_died)(struct host_addr *a);
	/* The slot has changed, and so has the mailbox: the address joins again. */
	void (*moved)(struct host_addr *a);
	/* A deadline of this room may be earlier than before. */
	void (*deadline)(struct host *h);
	/* Makes a socket in the network namespace that has the names: it does not block and closes at exec. *ret_uid is our
	 * uid as the namespace has it. Returns a descriptor or -errno; host_socket_here() is that of our own namespace. */
	int (*socket)(const struct host *h, enum host_socket_kind kind, uint32_t *ret_uid);
};

int host_socket_here(const struct host *h, enum host_socket_kind kind, uint32_t *ret_uid);
/* Makes such a socket in our own namespace. Returns a descriptor or -errno. */
int host_socket_make(enum host_socket_kind kind);

/* Kinds of messages between members. */
enum host_message_type {
	HOST_MSG_ANSWER = 1, HOST_MSG_ORDER, HOST_MSG_LEFT, /* link/udp/order.h */
	HOST_MSG_FORWARD, /* a datagram for its owner */
	HOST_MSG_RECORDS, /* survivor.h */
	HOST_MSG_GROUP,   /* a datagram behind the group's address */
	HOST_MSG_SHM_HELLO, HOST_MSG_SHM_READY, HOST_MSG_SHM_OPEN, HOST_MSG_SHM_EXPORT, /* shm/handshake.h */
	HOST_MSG_TYPES
};

/* Called for a message to `a`; its descriptors are in h->fds until the next receive. */
typedef void host_handler(void *arg, struct host_addr *a, const struct host_message *m,
			  const uint8_t *body, size_t len);

struct host_stats {
	uint64_t dropped, passed_on, forwarded; /* messages with datagrams: lost, to a service, to a slot */
};

struct host {
	const struct host_user *user;
	uint16_t port;  /* of the adapter; part of every name */
	unsigned slot;  /* HOST_NO_SLOT before the first address */
	uint32_t uid;   /* ours, as peers are shown it */
	int epfd;
	struct ut_rng rng;
	struct ut_list addrs;
	/* outbox.c */
	struct ut_list outbox;
	unsigned outbox_used;
	uint16_t outbox_for[HOST_OUTBOX_KEYS]; /* by host_key() */
	/* service.c */
	struct ut_list services, services_ready;
	/* survivor.c */
	struct ut_list peer_watches, dead;
	unsigned n_peer_watches;
	struct host_peer_watch *told; /* the last that host_dead_peer() returned */
	int records;                  /* our connection records; the owner's descriptor, or -1 */
	/* mailbox.c */
	int fds[HOST_FDS]; /* descriptors of the last message read, or -1 */
	int fds_pid;       /* process number of its sender in our pid namespace; 0: it has none */
	struct {
		host_handler *fn;
		void *arg;
	} handlers[HOST_MSG_TYPES];
	bool tagged;  /* an address has squatted names or tags */
	bool leaving; /* set by the link around its last sends and responses: no response of a peer is awaited */
	struct host_stats stats;
};

/* Returns 0 or negative errno; after a failure host_fini() is due, too. */
int host_init(struct host *h, const struct host_user *user, uint16_t port);
/* Called when no address is left. */
void host_fini(struct host *h);

/* Messages of this type go to fn from now on. */
void host_handle(struct host *h, enum host_message_type type, host_handler *fn, void *arg);
/* A message of a sender with another layout (layout.h) whose type is not one of the base goes to nothing, but for those
 * of shm/handshake.h, which answers it. */
void host_dispatch(struct host *h, struct host_addr *a, const struct host_message *m,
		   const uint8_t *body, size_t len);

/* --- the epoll set --- */

/* Adds a descriptor to the set. Returns 0 or -errno. */
int host_watch(struct host *h, struct host_port *p);
/* Takes it out of the set, since a forked child may keep the file, and closes it. */
void host_unwatch(struct host *h, struct host_port *p);
/* Looks without waiting, and calls ready() for each descriptor reported. Returns true if there was one. */
bool host_look(struct host *h);
/* The kind of descriptors that are watched for nothing. */
extern const struct host_port_kind host_port_kept;

/* Returns a local address, or NULL if it is not one of this process. */
struct host_addr *host_addr_find(struct host *h, const uint8_t addr[16]);

#endif

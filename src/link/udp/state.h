/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of a UDP link, which the files of this room share. One udp_local per local address: its member socket in
 * the port's SO_REUSEPORT group, its mailbox (the claim of the slot, host/), and what is known of the order of the
 * group.
 *
 * Who writes what. The owner's progress lock guards all of it but what a thread changes before it sleeps on the link's
 * descriptor: `sleeping`, an atomic, and which sockets are paused (poll.h), under the lock `pausing`. Between processes of one address only the kernel's objects and messages are
 * shared: the group of sockets, its steering program, which any member may replace (steer.h), and mailboxes. The lock
 * of the address (host_lock) is held around a search for the order and the replacement of the program (order.h); a
 * member that leaves takes it as well, closes its socket, then sends LEFT.
 *
 * Order: what a steering program put wrong is forwarded to the slot that its QPN names, once. A datagram that was
 * forwarded is never forwarded again, so that two members with different orders cannot send it in a circle.
 *
 * No wake-up is lost: sockets, mailboxes and the timer are in one epoll set, level-triggered, on which a thread that
 * drives the adapter sleeps. What recv() leaves unread stays readable there, and a polling thread looks at the set
 * every RX_LOOK_* calls (rx.c); so the poll set (poll.h) decides only how soon a socket is read. A paused socket is not
 * in the epoll set: it is one that a polling thread reads in each call, and returns there before any thread sleeps.
 */
#ifndef LINK_UDP_STATE_H
#define LINK_UDP_STATE_H

#include "host/host.h"
#include "host/mailbox.h"
#include "host/outbox.h"
#include "host/service.h"
#include "host/slot.h"
#include "host/survivor.h"
#include "link/udp/udp.h"
#include "util/ip.h"
#include "util/list.h"
#include "util/lock.h"
#include "util/rng.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#define UDP_TX_CACHE 32
#define UDP_RX_SLOTS 8u
#define UDP_RX_SLOT_BYTES 65536u
#define UDP_SPARE_BYTES (2 * 65536u) /* of the stage, for a decorator */
#define UDP_BTH_BYTES 8u /* of BTH, up to the destination QPN, whose upper 8 bits are the slot */

enum udp_kind { UDP_MAIN, UDP_GROUP, UDP_TX, UDP_TIMER };

/* A socket of the link. */
struct udp_port {
	struct host_port at;
	enum udp_kind kind;
	unsigned polled;         /* in the poll set for so many empty tries more */
	unsigned uses;           /* since it was paused, or might have been: poll.h */
	unsigned full;           /* calls in a row in which it gave something at once */
	_Atomic bool paused;     /* written under udp_link.pausing */
	uint8_t addr[16];        /* bound address: local, or the group */
	struct udp_local *local; /* MAIN */
	struct ut_list polled_node; /* in udp_link.polled; MAIN and GROUP */
	struct ut_list err_node;    /* in udp_link.errors */
	struct ut_list paused_node; /* in udp_link.paused */
};

struct udp_answer {
	uint64_t nonce;
	uint8_t slot, index;
};

/* What is known of the order of the group, and the search for it. */
struct udp_order {
	uint16_t at[256];      /* index -> slot, HOST_NO_SLOT = not known */
	unsigned n;
	int lock;              /* held while searching; -1 */
	bool searching, attach, tell;
	uint64_t nonce, until; /* of the search */
	uint64_t again;        /* start a search then; UT_NEVER */
	uint64_t last, pause;  /* the previous search, least distance to it */
	unsigned asked, heard; /* probes sent, answers to different probes */
	uint16_t found[256];   /* slot -> least index that answered */
	uint8_t claimed[256], answered[256];
	struct udp_answer owed[64]; /* probes we saw and have not answered */
	unsigned n_owed;
};

struct udp_local {
	struct host_addr at;
	struct udp_link *u;
	struct udp_port main;
	struct udp_order order;
	int tos, ttl; /* defaults set on the main socket */
};

struct udp_group {
	struct ut_list node;
	uint32_t ifindex;
	struct udp_port port;
};

/* fd -1: this port cannot be had, the main socket sends instead. */
struct udp_tx {
	struct udp_port port;
	uint16_t sport;
	uint32_t scope;
	bool used;
	uint64_t stamp; /* of the last change to it */
	int tos, ttl;
};

/* The rest of a coalesced receive that the caller had no room for. */
struct udp_carry {
	struct link_rx rx;
	uint32_t left, step;
	struct udp_local *local; /* NULL: of a multicast group, for this process in any case */
};

#define UDP_SENDERS 8u

/* An answer of sender.c. */
struct udp_sender {
	uint8_t src[16], dst[16];
	uint16_t sport;
	enum link_sender is;
	uint64_t until; /* it is forgotten */
};

struct udp_link {
	struct link base;
	struct host host;
	bool active; /* a datagram was sent or received: the slot cannot change any more */
	bool gso;
	struct udp_port timer;
	uint64_t timer_at;
	struct ut_stage stage;
	unsigned rx_slot, empties, calls, streak, err_looks;
	uint64_t looked; /* when the sockets were looked at, while messages came by shared memory */
	_Atomic bool sleeping; /* a thread sleeps on the descriptor: recv() is called because that was readable */
	struct udp_carry carry;
	struct udp_port *kept; /* the socket that has it, while base.kept_len */
	struct ut_list groups, polled, errors;
	struct ut_mutex pausing; /* a leaf */
	struct ut_list paused UT_GUARDED_BY(pausing);
	bool polls UT_GUARDED_BY(pausing); /* a thread calls recv(), and none sleeps on the descriptor */
	bool resume_failed UT_GUARDED_BY(pausing); /* for want of memory: the timer tries again */
	_Atomic unsigned n_paused;
	struct udp_sender senders[UDP_SENDERS];
	struct udp_tx tx[UDP_TX_CACHE];
	struct udp_tx *tx_last;
	struct udp_stats stats;
};

static inline struct udp_link *udp_of(struct link *l)
{
	return ut_container(l, struct udp_link, base);
}

static inline struct udp_local *udp_local_of(struct host_addr *a)
{
	return ut_container(a, struct udp_local, at);
}

/* The slot is in use: it cannot change any more. */
static inline bool udp_slot_is_fixed(const struct udp_link *u)
{
	return u->active || u->base.qpn_given || u->base.in_use;
}

/* Each local address. */
#define udp_each_local(lo, u) ut_list_each(lo, &(u)->host.addrs, at.node)

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connected mode of an interface (RFC 4755): RC connections beside its UD queue pair, by the RDMA CM's public calls and verbs.
 *
 *	link-layer address with the flag RC --> REQ to the service ID 0x10... | QPN, with own QPN and receive MTU --> REP --> up
 *	own service ID                      <-- REQ                                                     accepted: receives
 *
 * A connection carries frames from the end that asked for it; the other end has one of its own for the way back, as in Linux.
 * All receive into one shared queue. A connection that fails, ends, or whose peer is silent (retries are over) is gone; the
 * next frame asks for it anew, after a failed attempt not before some seconds.
 */
#ifndef IPOIB_CONNECTED_H
#define IPOIB_CONNECTED_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "util/list.h"

#define CONNECTED_MTU 65520u   /* of IP packets, as Linux has it */
#define CONNECTED_FRAME_MAX 65536u
#define CONNECTED_BUCKETS 64u
#define CONNECTED_SENDS 64u

enum link_state { LINK_ASKED, LINK_UP, LINK_FAILED };

/* A connection to a link-layer address. */
struct link_to {
	struct ut_list node;      /* of its bucket */
	uint8_t hw[HW_LEN];
	enum link_state state;
	struct rdma_cm_id *id;    /* NULL: FAILED */
	unsigned mtu;             /* UP: of the peer, in octets of IP */
	unsigned under_way;       /* sends */
	struct ut_list waiting;   /* ASKED: frames */
	unsigned n_waiting;
	uint64_t used, again;     /* ns; FAILED: when it may be asked for again */
};

typedef void connected_take(void *ctx, const uint8_t *frame, size_t len);

struct connected {
	uint8_t gid[16];
	uint32_t qpn;                    /* of the datagrams: in the service ID */
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener;     /* NULL: none yet, or it failed */
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t *memory;
	unsigned n_free;                 /* send slots */
	uint16_t free_slots[CONNECTED_SENDS];
	struct link_to *owner[CONNECTED_SENDS]; /* of a slot that is under way */
	uint64_t looked;                 /* ns: for connections without use */
	unsigned n_accepted;
	struct ut_list accepted;         /* connections that peers have asked for */
	struct ut_list buckets[CONNECTED_BUCKETS];
};

/* Makes the objects. Returns 0 or a negative errno. */
int connected_open(struct connected *c);
void connected_close(struct connected *c);
/* Takes connections for this port and queue pair from now on. Returns 0 or a negative errno. */
int connected_listen(struct connected *c, const uint8_t gid[16], uint32_t qpn);

/* Finds the connection to an address, and asks for one if there is none. NULL: no memory. */
struct link_to *connected_to(struct connected *c, const uint8_t hw[HW_LEN], uint64_t now);
/* Returns true if a frame may be sent: there is a free slot. */
bool connected_has_room(const struct connected *c);
/* Keeps a copy until the connection is UP; of too many the oldest is lost. */
void connected_keep(struct link_to *l, const uint8_t *frame, size_t len);
/* Sends a copy over a connection that is UP. It is lost without room. */
void connected_send(struct connected *c, struct link_to *l, const uint8_t *frame, size_t len);

/* Takes what the RDMA CM tells. Called when c->events->fd is readable. */
void connected_events(struct connected *c, uint64_t now);
/* Takes completions, at most max frames. Returns how many completions there were. */
unsigned connected_poll(struct connected *c, unsigned max, connected_take *take, void *ctx);
void connected_arm(struct connected *c);
/* Ends connections without use. */
void connected_run(struct connected *c, uint64_t now);

#endif

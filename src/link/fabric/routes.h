/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which ways packets of a port would take: for what does not pass the fabric process, but shared memory between
 * processes of this host. A route is asked for once, by a connection of its own on the `data` socket, and holds while
 * the fabric's generation stands. When that has moved, all routes are asked for anew; until an answer has come the old
 * one holds, as a packet does that is on its way while a link goes down.
 *
 *	find()   a new flow: ROUTE is sent and ROUTED awaited, some 30 us
 *	run()    a new generation: ROUTE for all, without waiting; an answer that differs sets `moved`
 *
 * The owner's progress lock guards all of it.
 */
#ifndef LINK_FABRIC_ROUTES_H
#define LINK_FABRIC_ROUTES_H

#include "host/host.h"
#include "link/fabric/fabric.h"
#include "link/fabric/packets.h"
#include "util/flow.h"

#include <stdbool.h>
#include <stdint.h>

#define FABRIC_ROUTES_MAX 4096u  /* then all are forgotten, and asked for as they are used */
#define FABRIC_ROUTE_LISTS 64u   /* a power of two */
#define FABRIC_NO_ROUTE UINT32_MAX

struct fabric_route {
	uint16_t slid, dlid, pkey;
	uint8_t sl;
	bool known;         /* guid and mtu have been answered */
	bool awaited;       /* find() waits for it: the first answer moves nothing */
	uint32_t next;      /* in its list, or FABRIC_NO_ROUTE */
	uint64_t asked_at;  /* ns */
	uint64_t guid;      /* of the port at its end */
	uint32_t mtu;       /* bytes; 0: packets do not pass */
};

struct fabric_routes {
	struct host *host;
	struct host_port port;       /* the connection; -1: it has ended */
	const struct pkt_page *page;
	struct fabric_route *v;
	uint32_t n, cap;
	uint32_t lists[FABRIC_ROUTE_LISTS];
	uint32_t epoch;              /* moves when all are forgotten: upper half of a number */
	uint32_t asked, unanswered;  /* of this generation: routes that were asked for anew, answers to come */
	uint64_t generation;         /* with which they were, or are, asked for */
	bool readable;               /* the host's set has reported the connection */
	bool moved;                  /* an answer is otherwise than before; the owner clears it */
};

/* Connects. Returns 0, or a negative errno with a sentence in why. close() is due after a failure too. */
int fabric_routes_open(struct fabric_routes *r, struct host *h, const struct fabric_place *where, char why[FABRIC_WHY_MAX]);
void fabric_routes_close(struct fabric_routes *r);
/* Returns 0 with the route of a flow between unicast LIDs; -EAGAIN: the answer is late; -EHOSTUNREACH: packets do not
 * pass, or it is not known for 2 s. The pointer is valid until the next call. */
int fabric_routes_find(struct fabric_routes *r, const struct ut_flow *f, uint16_t pkey, const struct fabric_route **ret);
/* To be called when due(): reads answers, asks anew. */
void fabric_routes_run(struct fabric_routes *r);
static inline bool fabric_routes_due(const struct fabric_routes *r)
{
	return r->page && (r->readable || r->unanswered || r->asked < r->n ||
			   atomic_load_explicit(&r->page->generation, memory_order_relaxed) != r->generation);
}

#endif

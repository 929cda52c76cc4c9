/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The neighbours of an interface: which queue pair and port an IP address has, and the path to it. Pure: frames, answers
 * and time in; questions and frames out.
 *
 *	frame for an unknown address --> ASKING: ops->ask() each second, three times; a few frames wait
 *	answer                       --> ROUTING: ops->route(), which neigh_routed() answers
 *	path                         --> READY: ops->send()
 *	no answer, no path           --> ops->give_up() for what waited; the entry is gone
 *
 * A READY entry that is used is asked for again after half a minute, while its frames go on; one that stays silent is
 * given up then. When paths may have changed, every entry is routed anew; its old way serves until there is another one.
 */
#ifndef IPOIB_NEIGHBOURS_H
#define IPOIB_NEIGHBOURS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "util/list.h"

#define NEIGH_ASK_S 1        /* between questions */
#define NEIGH_ASK_TIMES 3
#define NEIGH_FRESH_S 30     /* after an answer */
#define NEIGH_UNUSED_S 300   /* an entry without use is forgotten */
#define NEIGH_WAITING 16u    /* frames for each */
#define NEIGH_MAX 16384u
#define NEIGH_BUCKETS 256u

enum neigh_state { NEIGH_ASKING, NEIGH_ROUTING, NEIGH_READY };

struct neigh {
	struct ut_list node;       /* of its bucket */
	struct ut_list order;      /* neighbours.by_use: least recently used first */
	uint64_t number;           /* of neigh_routed() */
	uint8_t ip[16], hw[HW_LEN];
	enum neigh_state state;
	bool is_asked;             /* READY: a question is out */
	bool is_rerouted;          /* READY: the path is asked for */
	unsigned asked;            /* times */
	uint64_t next;             /* ns: the next question, or the end of what the last answer said; UT_NEVER: none */
	uint64_t used;
	struct ut_list waiting;    /* frames */
	unsigned n_waiting;
	void *way;                 /* of the caller: how packets go to it, while READY */
};

struct neigh_ops {
	/* Asks for the link-layer address. */
	void (*ask)(void *ctx, const uint8_t ip[16]);
	/* Asks for the path to n->hw; neigh_routed() answers, perhaps from inside. */
	void (*route)(void *ctx, struct neigh *n);
	void (*send)(void *ctx, struct neigh *n, const uint8_t *frame, size_t len);
	/* A frame that waited in vain. */
	void (*give_up)(void *ctx, const uint8_t *frame, size_t len);
	/* n->way is no longer needed. */
	void (*drop_way)(void *ctx, void *way);
};

struct neighbours {
	const struct neigh_ops *ops;
	void *ctx;
	unsigned n;
	uint64_t numbers;
	uint64_t soonest;          /* no entry is due before */
	struct ut_list by_use;
	struct ut_list buckets[NEIGH_BUCKETS];
};

void neigh_init(struct neighbours *t, const struct neigh_ops *ops, void *ctx);
/* Forgets all; what waits is freed. */
void neigh_fini(struct neighbours *t);

/* The entry of a READY neighbour, with its use noted; NULL: neigh_send() takes the frame. */
struct neigh *neigh_ready(struct neighbours *t, const uint8_t ip[16], uint64_t now);
/* Sends a frame, or keeps a copy until the neighbour is known. */
void neigh_send(struct neighbours *t, const uint8_t ip[16], const uint8_t *frame, size_t len, uint64_t now);
/* The address has this link-layer address. makes: an entry is made for one that was not asked for. */
void neigh_learn(struct neighbours *t, const uint8_t ip[16], const uint8_t hw[HW_LEN], bool makes, uint64_t now);
/* The answer to ops->route(): a way, which belongs to the entry from now on, or NULL. */
void neigh_routed(struct neighbours *t, uint64_t number, void *way, uint64_t now);
/* The neighbour that waits for this answer, or NULL. */
struct neigh *neigh_by_number(struct neighbours *t, uint64_t number);
/* Paths may have changed. */
void neigh_reroute(struct neighbours *t);

void neigh_run(struct neighbours *t, uint64_t now);
/* When neigh_run() is due, or UT_NEVER. */
uint64_t neigh_deadline(const struct neighbours *t);

#endif

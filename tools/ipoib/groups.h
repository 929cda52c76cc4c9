/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The multicast groups of an interface: those that the host or the link itself is a member of, and those that packets are
 * sent to without membership (RFC 4391, 5 and 7). Pure: reports, frames, answers and time in; joins and frames out.
 *
 *	groups_want()     -> JOINING full       -> JOINED
 *	groups_send()     -> JOINING send-only  -> JOINED; a few frames wait
 *	the SA refuses    -> REFUSED: frames are lost; a member asks again after some seconds, a sender's entry is forgotten
 *
 * Which MGID, key and path a group has is the caller's: it is the group's way.
 */
#ifndef IPOIB_GROUPS_H
#define IPOIB_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/list.h"

#define GROUP_WAITING 8u      /* frames for each */
#define GROUP_AGAIN_S 3       /* after a refusal */
#define GROUP_UNUSED_S 120    /* without membership and use a group is left */
#define GROUPS_MAX 1024u

enum group_state { GROUP_JOINING, GROUP_JOINED, GROUP_REFUSED };

/* Who wants membership. */
enum { GROUP_HOST = 1, GROUP_LINK = 2 };

struct group {
	struct ut_list node;
	uint64_t number;          /* of the join that is under way, or was the last */
	uint8_t ip[16];
	unsigned wanted;          /* GROUP_HOST, GROUP_LINK; 0: send-only */
	enum group_state state;
	bool is_full;             /* the way is a member's */
	uint64_t next, used;      /* ns */
	struct ut_list waiting;
	unsigned n_waiting;
	void *way;                /* NULL: not yet joined */
};

struct group_ops {
	/* Asks the SA; groups_joined() answers, perhaps from inside. */
	void (*join)(void *ctx, struct group *g, bool full);
	/* A way is no longer needed; tell: its membership has ended too, else another way has it. */
	void (*leave)(void *ctx, void *way, bool tell);
	void (*send)(void *ctx, struct group *g, const uint8_t *frame, size_t len);
};

struct groups {
	const struct group_ops *ops;
	void *ctx;
	unsigned n;
	uint64_t numbers;
	struct ut_list all;
};

void groups_init(struct groups *t, const struct group_ops *ops, void *ctx);
void groups_fini(struct groups *t);

/* The host or the link itself is a member from now on, or no longer. */
void groups_want(struct groups *t, const uint8_t ip[16], unsigned by, bool wants, uint64_t now);
/* Sends a frame, or keeps a copy until the group is joined. */
void groups_send(struct groups *t, const uint8_t ip[16], const uint8_t *frame, size_t len, uint64_t now);
/* The group that waits for this answer, or NULL. */
struct group *groups_by_number(struct groups *t, uint64_t number);
/* The answer to ops->join(): a way, which belongs to the group from now on, or NULL. */
void groups_joined(struct groups *t, uint64_t number, void *way, bool full, uint64_t now);
/* A subnet manager may have forgotten them: all are joined again. Their ways serve until then. */
void groups_rejoin(struct groups *t);
/* What has been refused to members is asked for again. */
void groups_retry(struct groups *t);
/* Calls each(arg, ip) for the groups that `by` wants. */
void groups_each(struct groups *t, unsigned by, void (*each)(void *arg, const uint8_t ip[16]), void *arg);

void groups_run(struct groups *t, uint64_t now);
/* When groups_run() is due, or UT_NEVER. */
uint64_t groups_deadline(const struct groups *t);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Small programs with one mistake each, for dapple check: a case is a function, and a comment behind a line names the mistakes
 * that have to be found there, and no others:
 *
 *      CASE(free_of_receive)
 *      {
 *              ibv_post_recv(w.qp, &w.recv, &w.bad_recv);
 *              free(w.buf); (wrong: freed-in-flight)
 *      }
 *
 * A comment "options: WORDS" before a case has the options of dapple check. A case leaves its objects: the process ends behind it.
 */
#ifndef TESTS_CHECK_WORLD_H
#define TESTS_CHECK_WORLD_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdlib.h>

#define ROOM 65536 /* octets of w.buf */

struct world {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq; /* of 64 entries */
	char *buf;         /* of malloc(), and a region of all rights */
	struct ibv_mr *mr;
	struct ibv_qp *qp, *peer; /* world_pair() */
	struct ibv_sge sge;       /* 64 octets at the beginning of buf */
	struct ibv_send_wr send, *bad_send; /* a signaled Send of them */
	struct ibv_recv_wr recv, *bad_recv;
};

extern struct world w;

typedef void case_body(void);
void case_add(const char *name, case_body *body, int bare);

#define CASE_OF(name, bare)                                                          \
	static case_body name;                                                       \
	__attribute__((constructor)) static void add_##name(void) { case_add(#name, name, bare); } \
	static void name(void)
#define CASE(name) CASE_OF(name, 0)
/* Without context, domain, queue and region. */
#define BARE(name) CASE_OF(name, 1)

/* The loopback adapter. */
struct ibv_device *world_device(void);
struct ibv_context *world_open(void);
struct ibv_qp_init_attr world_attr(enum ibv_qp_type type);
/* A queue pair of w.pd and w.cq in RESET, for 8 requests and receives of 2 pieces, 32 octets inline. */
struct ibv_qp *world_qp(enum ibv_qp_type type);
/* Attributes and mask of a change of state, all that it needs; the peer is w.peer, or the queue pair itself. */
struct change {
	struct ibv_qp_attr attr;
	int mask;
};
struct change world_change(struct ibv_qp *qp, enum ibv_qp_state to);
void world_move(struct ibv_qp *qp, enum ibv_qp_state to); /* by all states on the way */
/* w.qp and w.peer, of type RC, connected; the peer has four receives of 64 octets. */
void world_pair(void);
/* A Read, Write or atomic of w.sge, to or from the second half of w.buf. */
struct ibv_send_wr world_remote(enum ibv_wr_opcode opcode);
/* Waits for the next completion of a queue; ends the process after a minute. */
struct ibv_wc world_reap(struct ibv_cq *cq);
/* The next call of this thread may wait for ever: once the thread sleeps, another one calls rescue(arg). NULL: interrupts it. */
void world_rescue(void (*rescue)(void *arg), void *arg);

#endif

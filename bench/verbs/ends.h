/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two processes on loopback with N connected queue pairs between them, made by the RDMA CM as
 * in a user's program: the base of the measurements of this folder.
 */
#ifndef BENCH_ENDS_H
#define BENCH_ENDS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ENDS_RECEIVES 4096 /* posted at each end, shared by its queue pairs */

/* Shared by both processes, outside of the measured memory. */
struct ends_shared {
	_Atomic int ready, over;
	_Atomic uint64_t count; /* messages received by a sink */
	uint16_t port;
	uint64_t addr[2];
	uint32_t rkey[2];
	double cpu[2];
};

struct ends {
	int me; /* 0: the client, which measures and prints; 1: the server */
	int n;
	bool sleeps; /* wait by completion channels and not by polling */
	pid_t other;
	struct rdma_cm_id **id;
	struct ibv_qp **qp;
	struct ibv_cq *cq, *rcq; /* of sends; of receives */
	struct ibv_comp_channel *channel, *rchannel;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	char *buf; /* SIZE to send from, then SIZE to receive into */
	uint64_t size;
	struct ends_shared *shared;
};

void ends_need(bool good, const char *operation);

/* Forks and connects; both processes return, each with its side. DEPTH: of each send queue. */
void ends_open(struct ends *e, int n, uint64_t size, int depth, bool sleeps);

/* The client waits for the server; never returns in the server. */
int ends_close(struct ends *e);

/* Waits for completions. Returns how many, at least one, at most MAX. */
int ends_wait(struct ends *e, struct ibv_cq *cq, struct ibv_wc *wc, int max);

void ends_post_recv(struct ends *e);
/* The completion has the number of the queue pair as wr_id. */
void ends_post(struct ends *e, int qp, enum ibv_wr_opcode op, uint64_t bytes, bool signalled);

#endif

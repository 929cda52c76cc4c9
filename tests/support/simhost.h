/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whole engines in one process under virtual time: each host is an adapter
 * (engine + transport) on a link of a simulated net. Only sim_run() moves the
 * clock, so a test asserts on exact times and counts, and a seed replays it.
 */
#ifndef TESTS_SUPPORT_SIMHOST_H
#define TESTS_SUPPORT_SIMHOST_H

#include "engine/cq.h"
#include "engine/dev.h"
#include "engine/event.h"
#include "engine/mkey.h"
#include "engine/qp.h"
#include "support/simnet.h"
#include "proto/ib/ibp.h"

#define SIM_HOSTS 4
#define SIM_DELAY 10000ull /* ns one way */
#define SIM_LMC 2

struct sim_world;

struct sim_host {
	struct sim_world *world;
	struct eng_dev dev;
	struct link *link;
	struct shm_channel *chan; /* of w->local, or shm_channel_none */
	struct eng_ctx *ctx;
	struct eng_pd *pd;
	uint8_t addr[16];
	uint16_t lid;
	bool ready;   /* dev and its port are there */
	bool stopped; /* takes no part: neither receives nor sends */
	unsigned posts;
	char said[256]; /* the last failure sentence */
};

struct local_net;

struct sim_world {
	struct sim_net *net;
	uint64_t now;
	int n;
	bool slots, own, lids;
	struct sim_host host[SIM_HOSTS];
	struct local_net *local; /* support/localnet.h; NULL: datagrams only */
	void (*each_round)(void *); /* for parties that are no host; may be NULL */
	void *each_round_arg;
};

struct sim_options {
	int hosts;             /* 2 */
	uint64_t seed;
	uint32_t mtu_max;      /* 4096 */
	bool ipv6, rate_control;
	bool lids; /* ports of InfiniBand with SIM_LMC; ends are connected by LID, without a GRH unless .grh */
	bool messages; /* the hosts are processes of one host */
	bool slots;    /* each has a slot in front of its numbers, and messages find it by that */
	/* Progress is made by the application's own threads, which touch memory that was reached within
	 * 2 ms without asking; not for tests that take memory away. */
	bool own;
	const struct gsi_user *gsi; /* of every host, or NULL */
	struct sim_config net; /* delay 0 = SIM_DELAY */
};

/* 0, or a negative errno with nothing left behind. */
int sim_world_try(struct sim_world *w, const struct sim_options *o);
/* The same where it cannot fail. */
void sim_world_open(struct sim_world *w, const struct sim_options *o);
void sim_world_close(struct sim_world *w);

/* One round at the present time. True when anything happened. */
bool sim_round(struct sim_world *w);
/* Runs until done(arg) or until nothing is left to happen before `limit` ns from
 * now. Returns done(arg); done may be NULL: runs until quiet. */
bool sim_run(struct sim_world *w, uint64_t limit, bool (*done)(void *), void *arg);

struct sim_qp_options {
	enum ibv_qp_type type;
	bool gsi; /* type UD: QP1 */
	uint32_t depth, sge, inline_data; /* 64, 4, 64 */
	enum ibv_mtu mtu;                 /* IBV_MTU_1024 */
	uint32_t psn_a, psn_b;
	uint8_t timeout, retry, rnr_retry, min_rnr, rd_atomic; /* 8 (1 ms), 7, 7, 1, 8 */
	bool rd_atomic_zero, retry_zero, rnr_zero, timeout_zero, min_rnr_zero; /* really 0 */
	uint8_t traffic_class;
	bool grh;   /* with lids: and by GID */
	uint8_t sl, path_bits; /* with lids */
	uint16_t pkey_index;
	struct eng_srq *srq;
	struct eng_xrcd *xrcd; /* XRC target */
};

struct sim_end {
	struct sim_host *h;
	struct eng_cq *scq, *rcq;
	struct eng_qp *qp;
	/* After sim_end_memory(). */
	uint8_t *mem;
	size_t mem_len;
	struct eng_mkey *mr;
};

/* A connected pair, in RTS; ends a and b may be on the same host. */
void sim_pair(struct sim_end *a, struct sim_host *ha, struct sim_end *b, struct sim_host *hb,
	      const struct sim_qp_options *o);
/* The address of a host for an end with these options. */
struct ibv_ah_attr sim_way(const struct sim_host *h, const struct sim_qp_options *o);
/* One end from RESET to RTS against a peer; for odd set-ups. */
void sim_end_create(struct sim_end *e, struct sim_host *h, const struct sim_qp_options *o);
void sim_end_connect(struct sim_end *e, const struct sim_end *peer, uint32_t my_psn,
		     uint32_t peer_psn, const struct sim_qp_options *o);
/* The same against any address and QPN; not with lids. */
void sim_end_aim(struct sim_end *e, const uint8_t addr[16], uint32_t qpn, uint32_t my_psn,
		 uint32_t peer_psn, const struct sim_qp_options *o);
/* Gives an end zeroed memory of its own, registered with all rights. */
void sim_end_memory(struct sim_end *e, size_t len);
/* Memory too. */
void sim_end_close(struct sim_end *e);

/* A region of the host's PD with all rights. */
struct eng_mkey *sim_reg(struct sim_host *h, void *buf, size_t len);

/* A work request in a test's words; lkey 0 = the end's own region. */
struct sim_op {
	enum ibv_wr_opcode code;
	uint64_t id;
	void *at;
	uint32_t len, lkey;
	void *remote;
	uint32_t rkey, imm;
	unsigned flags; /* besides SIGNALED */
	uint64_t add, swap;
	struct eng_ah *ah;
	uint32_t qpn, qkey, srqn;
};

/* Posts; the result of eng_post_send / eng_post_recv. */
int sim_post(struct sim_end *e, const struct sim_op *o);
int sim_post_recv(struct sim_end *e, uint64_t id, void *at, uint32_t len);
/* Sends what was posted by the fast path; batch: more follows. Returns true if all of it has left. The progress lock is
 * held. */
bool sim_post_fast(struct eng_qp *qp, bool batch);
/* Runs until the queue has a completion and takes it; the test fails after 100 s. */
struct ibv_wc sim_wc(struct sim_world *w, struct eng_cq *cq);
/* The same, and its status must be this. */
struct ibv_wc sim_wc_is(struct sim_world *w, struct eng_cq *cq, enum ibv_wc_status status);
/* Runs for so long; nothing may complete there. */
void sim_no_wc(struct sim_world *w, struct eng_cq *cq, uint64_t ns);
uint64_t sim_counter(struct sim_host *h, enum eng_counter k);
/* Takes an asynchronous event of the host; false when there is none. */
bool sim_event(struct sim_host *h, enum ibv_event_type type);

#endif

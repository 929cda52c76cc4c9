/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libdapple-check.so watches the calls of verbs and rdma_cm of an unmodified program. It stands before the libraries
 * (LD_PRELOAD) and knows them by their public calls alone, so it also checks programs on real adapters.
 *
 *      exported calls        functions of the same names here, which call the original ones (real.h)
 *      inline calls          the tables of operations of each context, patched when the context is first seen
 *      memory                free(), realloc() and munmap()
 *      DAT                   the calls of endpoints and event dispatchers (dat.c)
 *
 * One lock guards all records. No original call is made with it held.
 */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "../kinds.h"

#include "util/lock.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))
#define FRAMES 12
#define PIECES 4        /* of a request that are kept */
#define POSTED 4        /* frames of its post */
#define LATELY 16       /* receives that are remembered behind their completion */
#define HASHED 4096     /* octets of a source that are compared */

/* Where the program made a call. */
struct check_site {
	void *pc[FRAMES];
	int n;
};

enum object { CONTEXT, DOMAIN, REGION, CHANNEL, CQ, SRQ, QP, AH, CM_CHANNEL, CM_ID, DAT_EVD, DAT_EP, DAT_PZ, DAT_PSP, DAT_CNO, OBJECTS };

extern const char *const check_object_names[OBJECTS];

struct check_request {
	uint64_t wr_id;
	void *pc[POSTED]; /* of the call that posted it, and its callers */
	int n_pc;
	uint32_t hash;
	uint8_t opcode, n;
	bool signaled, hashed;
	struct ibv_sge piece[PIECES];
};

/* Requests in the order of their posts. */
struct check_queue {
	struct check_request *v;
	unsigned size, head, n;
	struct ibv_sge lately[LATELY]; /* of receives that have completed: first pieces */
	unsigned next;
};

struct check_cq {
	unsigned cqe, due;    /* completions that may come and were not polled */
	bool polled, armed, polled_since, due_at_arm, signaled;
	unsigned events, acknowledged;
	struct ibv_comp_channel *channel;
};

struct check_qp {
	struct ibv_pd *pd;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_srq *srq;
	struct ibv_qp_cap cap;
	uint32_t qpn;
	uint8_t type;
	bool sq_sig_all, thread_domain, extended;
	bool no_depth;        /* moved to RTS with max_rd_atomic 0 */
	bool ready;           /* it may receive: moved to RTR, or given to the connection manager */
	bool failed;          /* the program has read a completion with an error */
	unsigned after_error; /* posts behind it */
	bool accepted, received; /* rdma_accept() was called; a receive was posted */
	int busy;             /* threads inside a post */
	struct check_queue send, recv;
};

struct check_region {
	struct ibv_pd *pd;
	uint64_t addr, length;
	uint32_t lkey;
	unsigned access;
	unsigned in_flight;
	bool stale, plain; /* its memory was freed; it is memory of the process */
	bool polled;       /* reported */
};

struct check_record {
	struct check_record *next;
	void *ptr;
	enum object kind;
	pid_t pid;
	struct check_site made;
	unsigned async; /* events of it that were got and not acknowledged */
	pthread_t taker, async_taker; /* threads that have got its last event: other threads may wait for them */
	union {
		struct check_cq cq;
		struct check_qp qp;
		struct check_region mr;
		struct check_queue srq;
		unsigned untaken; /* CM_ID: events not acknowledged */
		enum { PLAIN, PARENT, OF_THREAD } domain;
		struct {
			unsigned length, due; /* as asked; events that may come and were not dequeued */
		} evd;
		struct {
			void *recv_evd, *request_evd;
			unsigned recv_due, request_due; /* all in the first if both dispatchers are one */
		} ep;
	};
};

extern struct ut_mutex check_lock;
extern pid_t check_pid;
extern bool check_leaks;
extern _Atomic bool check_fork_safe; /* the program has asked for support of fork() */
/* The span of all memory that was ever registered; without a lock. */
extern _Atomic uint64_t check_low, check_high;

/* --- record.c --- */

/* The original function; NULL: no library has it. */
void *check_real(const char *library, const char *name);
void check_here(struct check_site *ret);
/* The same for calls by the million: frame is __builtin_frame_address(0) of the function that the program has called. The place is
 * looked up by the addresses of the call and of its two callers (where these have frame pointers), and unwound the first time. */
void check_here_at(struct check_site *ret, void *const *frame);
#define CHECK_HERE(ret) check_here_at(ret, __builtin_frame_address(0))
/* True if the code at pc belongs to the libraries of verbs, rdma_cm or DAT. */
bool check_is_library(const void *pc);
void check_keep_site(struct check_request *w, const struct check_site *site);
void check_site_of(struct check_site *ret, const struct check_request *w);

/* Reports once for each kind and place. Any lock may be held. */
void check_report(enum check_kind kind, const struct check_site *site, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Records; check_lock held. find() returns NULL for an object that was not seen, or has been destroyed. */
struct check_record *check_add(enum object kind, void *ptr, const struct check_site *site);
struct check_record *check_find(enum object kind, const void *ptr);
void check_drop(enum object kind, const void *ptr);
void check_each(enum object kind, bool (*each)(struct check_record *r, void *arg), void *arg);
struct check_record *check_region_of(uint32_t lkey);
/* Events of the object that are got (1) and acknowledged (-1). Returns how many are left that this thread has got. */
unsigned check_async(enum object kind, const void *ptr, int by);
/* Returns true, and reports, if the object was destroyed already, or belongs to the parent. */
bool check_is_gone(enum object kind, const void *ptr, const struct check_site *site);

/* --- queue.c; check_lock held --- */

void check_queue_size(struct check_queue *q, unsigned size);
struct check_request *check_queue_put(struct check_queue *q);
struct check_request *check_queue_head(struct check_queue *q);
void check_queue_pop(struct check_queue *q);
struct check_request *check_queue_at(struct check_queue *q, unsigned i);
void check_queue_remove(struct check_queue *q, unsigned i);
uint32_t check_hash(const struct check_request *r);

/* --- device.c: reports what the adapter of --device does not have --- */

void check_device_qp(const struct ibv_qp_init_attr *a, const struct check_site *site);
void check_device_cq(uint32_t cqe, const struct check_site *site);
void check_device_srq(const struct check_site *site);
void check_device_atomic(const struct check_site *site);

/* --- transition.c: reports what is wrong in a call of ibv_modify_qp() --- */

void check_transition(struct ibv_qp *qp, const struct ibv_qp_attr *a, int mask, enum ibv_qp_state from, const struct check_site *site);

/* --- spin.c --- */

/* Watches from now on for threads that poll memory of regions. check_lock not held. */
void check_spin_begin(void);

/* --- data.c --- */

/* IBV_QPS_UNKNOWN: the queue pair cannot be asked. */
enum ibv_qp_state check_state_of(struct ibv_qp *qp);

/* Puts our operations into the tables of a context, once. */
void check_context(struct ibv_context *ctx);
void check_forget_context(struct ibv_context *ctx);
/* check_lock held: forgets the requests, and that they name regions. */
void check_queue_drop(struct check_queue *q);
/* check_lock held: the requests complete without access to memory, since the queue pair is in ERR. */
void check_queue_stop(struct check_queue *q);
/* NULL: it could not be made. */
void check_srq_made(struct ibv_srq *srq, uint32_t size);
/* check_lock held: adds the records. */
void check_qp_made(struct ibv_qp *qp, const struct ibv_qp_init_attr *a, struct ibv_pd *pd, const struct check_site *site,
		   bool extended);

#endif

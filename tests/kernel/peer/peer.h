/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One end of a connection whose every operation, status and event is checked. It sees public verbs
 * and rdma_cm only, so the same file runs on a kernel's driver and on Dapple; the table holds the
 * expected results of each end. First fault: one line, exit 1.
 */
#ifndef TESTS_KERNEL_PEER_H
#define TESTS_KERNEL_PEER_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_MEM (20u << 20)
#define PEER_WAIT_MS 60000
#define PEER_SIZES 16

struct peer_args {
	const char *scenario, *addr, *kind, *run;
	const char *expect; /* the results that this end must have, see peer_saw() */
	bool passive, lossy;
	int port, retry, rnr_retry, ack_timeout;
	unsigned count;
	size_t sizes[PEER_SIZES];
	unsigned nsizes;
};

/* The private data of each end. */
struct peer_card {
	uint64_t addr;
	uint32_t rkey, len;
};

struct peer {
	const struct peer_args *a;
	struct rdma_event_channel *ch;
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *early; /* a request that came before it was wanted */
	struct ibv_pd *pd;
	struct ibv_cq *scq, *rcq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint8_t *mem;
	size_t len;
	struct peer_card far;
	bool iwarp, use_srq;
	bool left; /* the other end's disconnect has been heard */
	unsigned access; /* of the region; 0 = all */
	char saw[256];
};

void peer_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
#define must(cond, ...) do { if (!(cond)) peer_fail(__VA_ARGS__); } while (0)
#define must0(call) do { \
	if ((call) != 0) \
		peer_fail("%s: %s", #call, strerror(errno)); \
} while (0)

/* --- conn.c --- */

/* The id is resolved and has a QP (active), or listens (passive). */
void peer_open(struct peer *p, const struct peer_args *a);
/* Until both ends are established; cards are exchanged. */
void peer_meet(struct peer *p);
void peer_resolve(struct peer *p, int port);
void peer_bind(struct peer *p); /* at this end's own address, to any port */
void peer_qp(struct peer *p);
/* The next event, which must be this; its acknowledgement is the caller's. */
struct rdma_cm_event *peer_event(struct peer *p, enum rdma_cm_event_type want);
void peer_want(struct peer *p, enum rdma_cm_event_type want);
struct rdma_conn_param peer_param(struct peer *p, struct peer_card *card);
void peer_request(struct peer *p); /* passive: takes one up to a QP of its own */
/*
 * All up to the passive end's first word, which it speaks so. siw's kernel stops if the first that
 * comes is a fault, or the end.
 */
typedef void peer_speak_fn(struct peer *p, uint32_t word);
void peer_begin(struct peer *p, peer_speak_fn *speak);
void peer_leave(struct peer *p);   /* disconnect, and the event of it */
void peer_left(struct peer *p);    /* the other end's disconnect */
bool peer_has_left(struct peer *p); /* the same without a wait */
void peer_drop(struct peer *p);    /* id and QP go; a further peer_meet() is possible */
void peer_close(struct peer *p);

/* --- work.c --- */

struct peer_op {
	enum ibv_wr_opcode code;
	size_t at, len;
	uint64_t remote;
	uint32_t rkey, imm, inv;
	unsigned flags;
	uint64_t add, swap;
};

void peer_recv(struct peer *p, size_t at, size_t len);
void peer_post(struct peer *p, const struct peer_op *op);
struct ibv_wc peer_done(struct peer *p, struct ibv_cq *cq); /* of any status */
struct ibv_wc peer_ok(struct peer *p, struct ibv_cq *cq);
void peer_do(struct peer *p, const struct peer_op *op); /* posts and wants success */
void peer_fill(struct peer *p, size_t at, size_t len, unsigned seed);
void peer_check(struct peer *p, size_t at, size_t len, unsigned seed);
/* A word from the other end, or to it: keeps the two in step. It lies at the end of the memory. */
void peer_tell(struct peer *p, uint32_t word);
/* After it the other end leaves, maybe before it acknowledged: the completion is not looked at. */
void peer_last_word(struct peer *p, uint32_t word);
/*
 * The completion of a Send that the other end may answer by leaving. siw calls it failed, though it
 * went out whole, if the peer's FIN comes before it has looked (docs/interop.md). Where the network loses packets (-l), the
 * last acknowledgement may be lost, and the other end, which has checked what came, has left and repeats it no more: then
 * its disconnect proves that the Send has arrived, and the row says that this end saw no acknowledgement.
 */
void peer_went(struct peer *p);
void peer_tell_end(struct peer *p, uint32_t word);
void peer_expect_word(struct peer *p); /* posts the receive */
uint32_t peer_hear(struct peer *p);
/* Records the results of this end, in order; peer_judge() compares all with -e. */
void peer_saw(struct peer *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void peer_saw_wc(struct peer *p, const char *what, const struct ibv_wc *wc);
void peer_judge(struct peer *p);
double peer_now(void);

/* --- scenarios --- */

struct peer_scenario {
	const char *name, *text;
	void (*passive)(struct peer *p), (*active)(struct peer *p);
};

extern const struct peer_scenario peer_data[], peer_faults[], peer_killed[], peer_ends[],
				  peer_bench[];

#endif

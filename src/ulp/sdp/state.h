/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The state of a connection, for the files of this room. */
#ifndef ULP_SDP_STATE_H
#define ULP_SDP_STATE_H

#include "ulp/sdp/advert.h"
#include "ulp/sdp/conn.h"
#include "ulp/sdp/flow.h"

#define SDP_OWED_MAX 16                 /* control messages that wait for a credit */
#define SDP_END_MS 10000                /* for the peer's part of the end */
/* Behind each message in memory: where they begin at multiples of a large power of two, they have the same lines of the cache. */
#define SDP_APART 64

/* What a work request was; the low half of its ID has the index of a receive, or how many messages are complete with it. */
enum sdp_work { SDP_WORK_RECEIVE = 1, SDP_WORK_MESSAGE, SDP_WORK_READ, SDP_WORK_WRITE, SDP_WORK_KEEPALIVE };

static inline uint64_t sdp_work_id(enum sdp_work work, uint32_t index)
{
	return (uint64_t)work << 32 | index;
}

/* Received octets that the program has not taken. */
struct sdp_item {
	const uint8_t *at;
	uint32_t len;
	bool oob;
	int32_t receive;        /* they lie in this one, or in one of: */
};

#define SDP_IN_STAGE (-1)
#define SDP_IN_WANTED (-2)

/*
 * Octets of the program that do not go by Data at once.
 *
 *   READY -> (SinkAvail is there)  RDMA Write, RdmaWrCompl -> READY
 *         -> (few, or no advertisement permitted)  COPY: Data
 *         -> SENT: SrcAvail -> RdmaRdCompl of all | SendSm: COPY | a SinkAvail that crossed: READY | CANCELLED
 */
enum sdp_advert { SDP_ADVERT_NONE, SDP_ADVERT_READY, SDP_ADVERT_SENT, SDP_ADVERT_CANCELLED, SDP_ADVERT_COPY };

struct sdp_source {
	enum sdp_advert state;
	uint8_t *stage;
	struct ibv_mr *mr;
	const uint8_t *at;      /* the octets: the stage, or memory of the program */
	const struct ibv_mr *at_mr;
	uint32_t len, done;     /* how many, and those that the peer has */
	bool writing;           /* an RDMA Write is under way */
	bool stop;              /* the program takes the rest back */
	int64_t until;
};

/* Memory of the program in which it waits for octets. */
struct sdp_want {
	uint8_t *at;            /* NULL: none */
	uint32_t len;
	const struct ibv_mr *mr;
	bool back;              /* the program wants it back */
	bool quiet;             /* the peer is not told */
};

/* The peer's advertisement. */
struct sdp_sink {
	bool open;              /* it has octets left */
	bool reading, staged;   /* a Read is under way; the stage has octets that the program has not taken */
	bool into_wanted;       /* that Read */
	bool cancelled;
	uint8_t *stage;
	struct ibv_mr *mr;
	uint32_t left, rkey, reads;
	uint64_t vaddr;
};

struct sdp_owed {
	uint8_t mid;
	uint32_t number;
};

struct sdp_conn {
	struct ulp_conn rdma;           /* its memory: receives, then messages to be sent */
	struct sdp_conf conf;
	struct sdp_flow flow;
	uint32_t send_max;              /* longest message that the peer takes */
	uint32_t inline_max;            /* longest message that the adapter takes with the work request */
	uint8_t peer_adverts;           /* its MaxAdverts */
	struct sdp_out out;
	struct sdp_in in;
	uint32_t send_next, under_way;  /* messages */
	uint32_t unsignalled;           /* the last ones of them, which a later completion covers */
	struct sdp_item *items;         /* a ring of conf.depth + 1 */
	uint32_t item_first, nr_items;
	struct sdp_owed owed[SDP_OWED_MAX];
	uint32_t nr_owed;
	struct sdp_source source;
	struct sdp_sink sink;
	struct sdp_want want;
	struct sockaddr_storage local, peer;
	int64_t spoken;                 /* when a message was last seen to have left or come: keep_alive() */
	bool has_spoken;                /* since then */
	int64_t end_until;              /* for the peer's part of the end; 0: not begun */
	bool active;                    /* this end connects */
	bool touched;                   /* by a call of the program since the last look for what is due */
	bool wants;                     /* the program has waited in memory of its own */
	bool established, disconnected;
	bool end_wanted, end_sent, end_got, end_by_us;
	struct sdp_counts counts;
};

/* Where a message of the connection's memory lies: first those of the receives, then those to be sent. */
static inline uint8_t *sdp_message(const struct sdp_conn *c, uint32_t i)
{
	return c->rdma.memory + i * ((size_t)c->conf.receive_size + SDP_APART);
}

/* Ends it because of a rule that the peer broke. */
int sdp_fail_rule(struct sdp_conn *c, enum sdp_verdict v);

/* A message of the source or the sink, or control. It needs a credit for `use` and a free message: sdp_may_post(). */
bool sdp_may_post(const struct sdp_conn *c, enum sdp_use use);
/* Where the next message lies. */
uint8_t *sdp_next_message(const struct sdp_conn *c);
int sdp_post(struct sdp_conn *c, struct sdp_msg *m);
/* A control message that leaves as soon as it may. */
int sdp_owe(struct sdp_conn *c, uint8_t mid, uint32_t number);
/* Octets for the program, behind those that wait. */
void sdp_give(struct sdp_conn *c, const uint8_t *at, uint32_t len, bool oob, int32_t receive);
/* Memory of SDP_STAGE octets, registered with these rights, unless it is there. */
int sdp_stage(struct sdp_conn *c, uint8_t **stage, struct ibv_mr **mr, int access);

#endif

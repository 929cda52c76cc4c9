/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The state of a connection, for the files of this room. */
#ifndef ULP_SDP_STATE_H
#define ULP_SDP_STATE_H

#include "ulp/sdp/advert.h"
#include "ulp/sdp/conn.h"
#include "ulp/sdp/flow.h"
#include "ulp/sdp/longer.h"
#include "ulp/sdp/stage.h"
#include "ulp/sdp/suspend.h"

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

/* Octets of the program that do not go by Data at once, in a slot of the stage or in memory of the program. */
struct sdp_piece {
	const uint8_t *at;
	const struct ibv_mr *mr;
	uint32_t len, done;     /* how many, and those that the peer has */
	int64_t since_ns;       /* advertised then, */
	uint32_t ahead;         /* when so many octets were advertised, these among them */
};

/*
 * Pieces in the order of the stream, of which the first `sent` are advertised. What becomes of the next one:
 *
 *   READY -> (SinkAvail is there)  RDMA Write, RdmaWrCompl
 *         -> (few, or no advertisement permitted)  COPY: Data
 *         -> SrcAvail -> RdmaRdCompl of all
 *                     -> SendSm: COPY, all that are advertised
 *                     -> a SinkAvail that crossed: none is advertised
 *                     -> CANCELLED: none is advertised until those that are have ended
 *
 * While the peer reads a slot of the stage, the program fills others. Memory of the program is the only piece.
 */
enum sdp_advert { SDP_ADVERT_READY, SDP_ADVERT_CANCELLED, SDP_ADVERT_COPY };

struct sdp_source {
	enum sdp_advert state;  /* with pieces; else READY */
	struct sdp_piece pieces[SDP_MAX_ADVERTS];
	uint32_t nr, sent;
	uint32_t copies;        /* COPY: the first ones, which go by Data */
	struct sdp_stage stage; /* slots of slot_len octets */
	uint32_t slot, slot_len, nr_slots; /* the next one; they stay as they are while pieces lie in them */
	bool direct;            /* the piece is memory of the program */
	uint32_t gone;          /* octets of that memory that the peer has got */
	bool writing;           /* an RDMA Write is under way */
	bool is_local;          /* the peer has read the last piece as fast as only one of this host does */
	bool stop;              /* the program takes the rest of its memory back */
	int64_t until;          /* with advertised pieces */
};

/* Memory of the program in which it waits for octets. */
struct sdp_want {
	uint8_t *at;            /* NULL: none */
	uint32_t len;
	const struct ibv_mr *mr;
	bool back;              /* the program wants it back */
	bool quiet;             /* the peer is not told */
};

/* The peer's SrcAvails that have octets left, the oldest first; Reads are of that one. */
struct sdp_sink {
	struct sdp_target adverts[SDP_MAX_ADVERTS];
	uint32_t nr;
	bool reading, staged;   /* a Read is under way; the stage has octets that the program has not taken */
	bool into_wanted;       /* that Read */
	uint32_t reads;         /* its octets */
	bool cancelled;
	/*
	 * The adapter executes a Read within a host at once, by a copy of its own, if the peer has acknowledged all messages before. So with a
	 * peer of this host the next Read waits until the RdmaRdCompl before it has left.
	 */
	bool is_local, answering;
	int64_t since_ns;       /* of the Read */
	struct sdp_stage stage;
};

/*
 * The end. DisConn ends a direction of the stream, on the connection that it comes by; behind both the end that had sent it first disconnects. A move
 * (suspend.h) disconnects, too, and the end that stays begins anew.
 *
 *   standing  CONNECTING --ESTABLISHED--> ESTABLISHED --this end disconnects--> LEAVING --DISCONNECTED--> LEFT
 *                                         ESTABLISHED --DISCONNECTED, or this end aborts--> LOST
 *   out_end   OPEN --the program sends no more--> WANTED --DisConn, behind the last octets--> SENT
 *   in_end    OPEN --DisConn--> CAME, or CAME_LAST: behind this end's
 *   moved     standing: CONNECTING; SENT -> WANTED; CAME, CAME_LAST -> CAME_BEFORE --DisConn--> CAME, CAME_LAST
 */
enum sdp_standing { SDP_CONNECTING, SDP_ESTABLISHED, SDP_LEAVING, SDP_LEFT, SDP_LOST };
enum sdp_out_end { SDP_OUT_OPEN, SDP_OUT_END_WANTED, SDP_OUT_END_SENT };
enum sdp_in_end { SDP_IN_OPEN, SDP_IN_END_CAME_BEFORE, SDP_IN_END_CAME, SDP_IN_END_CAME_LAST };

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
	struct sdp_longer longer;
	struct sdp_suspend suspend;
	struct sockaddr_storage local, peer;
	int64_t spoken;                 /* when a message was last seen to have left or come: keep_alive() */
	bool has_spoken;                /* since then */
	int64_t end_until;              /* for the peer's part of the end; 0: not begun */
	bool active;                    /* this end connects */
	bool touched;                   /* by a call of the program since the last look for what is due */
	bool wants;                     /* the program has waited in memory of its own */
	bool hurry;                     /* answers that may leave later leave now */
	enum sdp_standing standing;
	enum sdp_out_end out_end;
	enum sdp_in_end in_end;
	bool goes;                      /* this end disconnects behind its DisConn, without the peer's */
	struct sdp_counts counts;
};

static inline bool sdp_is_iwarp(const struct sdp_conn *c)
{
	return c->rdma.id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* Where a message of the connection's memory lies: first those of the receives, then those to be sent. */
static inline uint8_t *sdp_message(const struct sdp_conn *c, uint32_t i)
{
	return c->rdma.memory + i * ((size_t)c->conf.receive_size + SDP_APART);
}

/* DISCONNECTED has come, or this end has aborted the connection. */
static inline bool sdp_is_disconnected(const struct sdp_conn *c)
{
	return c->standing >= SDP_LEFT;
}

/* This end has disconnected, first or not. */
static inline bool sdp_has_left(const struct sdp_conn *c)
{
	return c->standing == SDP_LEAVING || c->standing == SDP_LEFT;
}

/* DisConn has come by this connection. */
static inline bool sdp_end_is_here(const struct sdp_conn *c)
{
	return c->in_end >= SDP_IN_END_CAME;
}

/* Both directions have ended, on this connection. */
static inline bool sdp_both_ended(const struct sdp_conn *c)
{
	return c->out_end == SDP_OUT_END_SENT && sdp_end_is_here(c);
}

/* The same, from now on. */
void sdp_disconnected(struct sdp_conn *c);
/* The stream goes on by another connection, whose peer knows nothing of what was sent by this one. */
void sdp_end_again(struct sdp_conn *c);
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
/* As sdp_stage_open(), unless it is there. */
int sdp_stage(struct sdp_conn *c, struct sdp_stage *s, size_t len, int access, bool share);

#endif

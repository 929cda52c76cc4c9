/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Inside the IB connection manager: endpoints, where they are found, and what
 * its files offer each other.
 *
 * An endpoint belongs to its user until destroy, and may outlive it ("gone")
 * as long as the peer may still ask about it: a DREQ that wants its answer, an
 * answer that may have to be given again, the time a communication ID must not be
 * used again.
 *
 * Operations carry no time. An endpoint that they start is put on a list and gets its
 * deadline or raises its event in the next ibcm_run() or ibcm_receive(), so no
 * event ever comes out of an operation. An up-call may destroy any endpoint,
 * its own included: nothing is touched after one, unless it was looked up again.
 */
#ifndef CM_IBCM_EP_H
#define CM_IBCM_EP_H

#include "cm/ibcm/ibcm.h"
#include "util/heap.h"
#include "util/idtab.h"
#include "util/list.h"
#include "util/rng.h"
#include "wire/cm_fields.h"
#include "wire/ib_fields.h"

enum ibcm_state {
	IBCM_IDLE,      /* bound, or made for the active side: nothing was sent */
	IBCM_LISTEN,    /* awaits REQ, SIDR_REQ */
	IBCM_REQ_SENT,  /* awaits REP, REJ, MRA */
	IBCM_REP_RCVD,  /* awaits the user: establish or reject */
	IBCM_REQ_RCVD,  /* awaits the user: accept or reject */
	IBCM_REP_SENT,  /* awaits RTU, REJ, MRA, or data on the QP */
	IBCM_ESTAB,     /* awaits DREQ, or the user */
	IBCM_LAP_SENT,  /* the same, and awaits APR */
	IBCM_DREQ_SENT, /* awaits DREP */
	IBCM_DREQ_RCVD, /* the user has heard of it; awaits its disconnect or destroy, which sends DREP */
	IBCM_TIMEWAIT,  /* awaits that old packets have died out; answers DREQ */
	IBCM_SIDR_SENT, /* awaits SIDR_REP */
	IBCM_SIDR_RCVD, /* awaits the user: accept or reject */
	IBCM_ANSWERED,  /* REJ or SIDR_REP was sent; gives it again to duplicates */
	IBCM_OVER,      /* found by no message; awaits destroy */
	IBCM_STATES
};

/* Timeout codes are IBTA's: 4.096 us * 2^code. */
#define IBCM_TIMEOUT 20u     /* CM response timeout we ask for and grant, as rdma_cm does: 4.3 s */
#define IBCM_RETRIES 15u
#define IBCM_FIRST_NS 250000000ull /* first repetition; doubles up to the full timeout */
/* Repetitions of a request before the doubling, to an address of this host; any other has the full timeout
 * that the request announces. */
#define IBCM_DRAWS 8u
/* No listener, at an address of this host or one to which there is a connection: asked again after 1, 2, 4 .. 64 ms, 127 ms in all (ibcm_retry). */
#define IBCM_REFUSED_NS 1000000ull
#define IBCM_REFUSED_TRIES 7u
#define IBCM_LIFE 18u        /* packet life time assumed on RoCE, as rdma_cm does: 1.1 s */
#define IBCM_MRA_SERVICE 24u /* what we ask of a peer when our user is slow: 69 s */
#define IBCM_HOPS 64u
#define IBCM_UD_QKEY 0x01234567u
#define IBCM_IP_HEADER WIRE_IP_CM_LEN

/* Strangers' share of our memory. */
#define IBCM_BACKLOG_MAX 1024u
#define IBCM_HALF_OPEN_MAX 8192u
#define IBCM_HALF_OPEN_PEER 2048u
#define IBCM_GONE_MAX 8192u /* endpoints without a user that only answer again */

#define IBCM_BUCKETS 1024u

#define IBCM_LAPS 4u /* of the peer whose repetitions are known as such */

enum ibcm_table { IBCM_BY_BIND, IBCM_BY_COMM, IBCM_BY_QPN, IBCM_TABLES };

struct ibcm {
	struct ibcm_timing timing; /* first */
	struct cm_port *port;
	struct eng_dev *dev;
	struct ibcm_config cfg;
	struct ut_rng rng;
	uint64_t salt;
	uint64_t now;
	bool has_now;              /* inside receive or run */
	struct ut_list eps;        /* all, by ibcm_ep.all */
	struct ut_list fresh;      /* to be timed or told, by ibcm_ep.fresh */
	struct ut_list asking;     /* with a message that wants an answer, by ibcm_ep.asking */
	struct ut_heap heap;
	struct ut_idtab ids;       /* by local communication ID or request ID */
	struct ut_list *bucket[IBCM_TABLES];
	uint32_t n_half, n_gone;
	uint16_t half_by_peer[IBCM_BUCKETS]; /* by hash of the address: may count too much */
};

/* Where an endpoint is found in a table of buckets; linked while in it. */
struct ibcm_key {
	struct ut_list node;
	uint8_t addr[16];
	uint64_t hi; /* service; CA GUID */
	uint32_t lo; /* -; communication ID or QPN */
};

struct ibcm_ep {
	struct cm_ep ep;
	struct ibcm *cm;
	struct ut_list all, fresh, asking;
	struct ibcm_key key[IBCM_TABLES];
	struct ut_timer timer;
	uint64_t delay;      /* fresh: of the timer, or UT_NEVER */
	uint8_t state;       /* enum ibcm_state */
	bool gone;           /* the user has destroyed it */
	bool claimed;        /* the name (address, service) is ours */
	bool half;           /* counted as half open */
	bool tell;           /* fresh: an event of type `told` is due */
	uint8_t told;
	bool active;
	bool mra_sent;
	bool drep_sent;      /* TIMEWAIT: the peer asked for the end, and may ask again */
	bool same_host;      /* the peer's address is this host's */
	bool knocking;       /* REQ or SIDR_REQ was refused, and is repeated when the timer fires */
	uint8_t refused_tries;

	uint32_t backlog, unanswered;  /* a listener's */
	struct ibcm_ep *listener;      /* the one whose backlog counts this endpoint */
	struct ut_list children, sibling;

	uint64_t dest_service, tid, remote_guid;
	uint32_t local_id, remote_id;
	uint32_t local_qpn, remote_qpn, rq_psn, sq_psn, qkey, flow_label;
	uint64_t mra_until;            /* a MRA asked for it */
	uint64_t watched, refused;     /* ESTAB: last look at it, first refusal of its peer */
	uint64_t unreached, unreached_since; /* ... last and first report in a row that its peer's host cannot be reached */
	int tied;                      /* carrier's number, or -1 */
	uint8_t silent;                /* ... looks that found nothing, in a row */
	uint8_t qp_type;
	uint8_t init_depth, resp_res, retry, rnr_retry;
	uint8_t mtu;                   /* enum ibv_mtu */
	uint8_t ack_timeout;           /* of our QP */
	uint8_t full, max_tries, tries; /* timeout code and count of repetitions */
	uint8_t tclass;
	uint8_t failover;              /* passive: of the REP, what became of the REQ's alternate path */
	uint8_t alt_timeout;           /* of our QP on the alternate path */
	uint8_t apr;                   /* answer to the peer's newest LAP */
	struct cm_path asked;          /* LAP_SENT: the path */
	uint64_t lap_tid;              /* LAP_SENT */
	uint64_t laps[IBCM_LAPS];      /* TIDs of the peer's, newest first */
	uint8_t n_laps;
	struct cm_ece ece;             /* the peer's */
	bool has_mad;
	uint8_t mad[WIRE_MAD_BYTES];   /* repeated until answered, or the answer to duplicates */
};

static inline struct ibcm_ep *ibcm_of(struct cm_ep *ep)
{
	return ut_container(ep, struct ibcm_ep, ep);
}

/* A request to another host, of which we know nothing: it gets the time that the request announces. */
static inline bool ibcm_asks_stranger(const struct ibcm_ep *e)
{
	return (e->state == IBCM_REQ_SENT || e->state == IBCM_SIDR_SENT) && !e->same_host;
}

static inline bool ibcm_is_connected(const struct ibcm_ep *e)
{
	return e->state == IBCM_ESTAB || e->state == IBCM_LAP_SENT;
}

static inline const uint8_t *ibcm_msg(const struct gsi_rx *rx)
{
	return rx->mad + WIRE_MAD_LEN;
}

/* 4.096 us * 2^code, in ns. */
static inline uint64_t ibcm_ns(unsigned code)
{
	return 4096ull << (code < 31 ? code : 31);
}

int ibcm_tables_init(struct ibcm *cm);
/* NULL without memory. The endpoint is idle, on no table, without an ID. */
struct ibcm_ep *ibcm_ep_new(struct ibcm *cm);
void ibcm_ep_free(struct ibcm_ep *e);
/* A random communication ID with our upper bits. 0 or -ENOMEM. */
int ibcm_ep_number(struct ibcm_ep *e);
void ibcm_key_add(struct ibcm_ep *e, enum ibcm_table t, const uint8_t addr[16], uint64_t hi,
		  uint32_t lo);
/* Look-ups meet it before others of the same key. */
void ibcm_key_first(struct ibcm_ep *e, enum ibcm_table t);
/* The first endpoint there, or NULL; skips `not`. */
struct ibcm_ep *ibcm_key_find(struct ibcm *cm, enum ibcm_table t, const uint8_t addr[16],
			      uint64_t hi, uint32_t lo, const struct ibcm_ep *not);
/* After IDs and keys: no message finds it any more. */
void ibcm_ep_forget(struct ibcm_ep *e);
void ibcm_ep_over(struct ibcm_ep *e);
/* The timer fires in `delay` ns from now, or never. */
void ibcm_arm(struct ibcm_ep *e, uint64_t delay);
/* Repeats e->mad from now on, at most max times. */
void ibcm_ask(struct ibcm_ep *e, enum ibcm_state state, unsigned code, unsigned max);
/* State without timer and repetition. */
void ibcm_enter(struct ibcm_ep *e, enum ibcm_state state);
/* TIMEWAIT, or the time in which duplicates are answered. */
void ibcm_timewait(struct ibcm_ep *e);
void ibcm_answered(struct ibcm_ep *e);
bool ibcm_half_open(struct ibcm_ep *e);  /* false: too many */
void ibcm_half_done(struct ibcm_ep *e);
void ibcm_without_owner(struct ibcm_ep *e);     /* leaves its listener's backlog */
/* The last thing done with e, unless it is looked up again. */
void ibcm_raise(struct ibcm_ep *e, enum cm_event_type type, int status);
void ibcm_raise_data(struct ibcm_ep *e, enum cm_event_type type, int status, const void *data,
		     uint16_t len);
int ibcm_raise_event(struct ibcm_ep *e, struct cm_event *ev);
/* The same from the next run on. */
void ibcm_raise_later(struct ibcm_ep *e, enum cm_event_type type);
/* Deadlines and events of what operations started. Returns how many. */
int ibcm_settle(struct ibcm *cm);
/* Around what knows the time: in between, timers are armed at once. */
void ibcm_begin(struct ibcm *cm, uint64_t now);
void ibcm_end(struct ibcm *cm);

typedef void ibcm_handler(struct ibcm_ep *e, const struct gsi_rx *rx);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Insides of the transport machine: the state of a port and of its QPs.
 *
 * A QP is on port->active while it has something that may be sent now, and on
 * port->acks while a positive acknowledgement is owed that may wait for a
 * ride. Everything is guarded by the adapter's progress lock.
 */
#ifndef PROTO_IB_PORT_H
#define PROTO_IB_PORT_H

#include "engine/mkey.h"
#include "engine/qp.h"
#include "link/link.h"
#include "proto/ib/conn.h"
#include "proto/ib/ibp.h"
#include "proto/ib/frame_shm.h"
#include "proto/ib/xrc/forward.h"
#include "util/heap.h"
#include "util/rng.h"
#include "wire/ib_packet.h"

#include <string.h>

#define IBP_TRAIN_PACKETS 64u
#define IBP_TRAIN_BYTES 65000u
#define IBP_SPANS 8
#define IBP_IOV 1000            /* below IOV_MAX with room for one header */
#define IBP_READ_CHUNK 16u      /* packets asked for by one READ request */
#define IBP_ID_WINDOW 4096u     /* a running identification may skip so many */
#define IBP_ID_STRIKES 8
#define IBP_ACK_BYTES 20u   /* an acknowledgement on the wire */
#define IBP_CNP_INTERVAL 50000u /* ns between notifications of one flow */

/* Packets that leave in one send: equal sizes, one way, the last may be shorter. */
struct ibp_train {
	struct ut_stage stage; /* packets, then IBP_SCRATCH for small results */
	struct ibp_path path;
	struct wire_icrc_memo memo[2]; /* of the path: of acknowledgements, and of others */
	uint32_t len, seg, n;
	uint16_t sport; /* of what is ready */
	bool closed, user, response;
	bool ready;   /* all of it is in the stage and sealed, nothing is only named */
	bool waiting; /* filled in and checked, but the socket was full */
	int n_iov;
	struct iovec iov[IBP_IOV + 24];
	/* Pages of application memory in it, what touches in one piece; n_spans > IBP_SPANS: too
	 * many. */
	int n_spans;
	struct iovec spans[IBP_SPANS];
	/* Of each packet: whose it is (NULL: of a QP that is gone), its number, its first piece. */
	struct ibp_qp *of[IBP_TRAIN_PACKETS];
	uint32_t psn[IBP_TRAIN_PACKETS];
	int iov_at[IBP_TRAIN_PACKETS];
	uint8_t head[IBP_TRAIN_PACKETS][WIRE_IB_HDRS_MAX];
};

#define IBP_PLACE_IOV 512
#define IBP_PLACE_FROM 64

/* Payload of one QP that waits to be placed: contiguous in the receive stage
 * but for the headers in between. */
struct ibp_placing {
	struct ibp_qp *q; /* NULL: nothing waits */
	bool request;     /* we are the responder */
	size_t start, end;
	int n, n_from;
	struct iovec iov[IBP_PLACE_IOV];  /* what is dropped goes into the sink */
	struct iovec from[IBP_PLACE_FROM]; /* without what is dropped */
	uint8_t sink[128];
	unsigned trains_awaited; /* so many trains that are not long, until none are expected any more */
};

struct ibp_gsi_entry;

/* QP1: what waits to be sent is queue[head..tail), indices run freely. */
struct ibp_gsi {
	struct ibp_gsi_entry *queue; /* NULL until the first MAD */
	uint32_t head, tail;
	uint32_t psn;
};

struct ibp_port {
	struct eng_dev *dev;
	struct link *link;
	struct shm_channel *chan;
	struct ibp_config cfg;
	struct ut_rng rng;
	struct ut_heap timers;
	struct ut_list active, acks;
	/* Up to here those on `active` may wait for more (NULL: look at all), for so many posts now. */
	struct ut_list *judged;
	uint32_t coalescing;
	struct ut_list unarmed; /* QPs whose timer waits for a look at the clock (express.c) */
	struct ibp_train train;
	struct ibp_placing placing;
	struct ibp_shm shm;
	struct ibp_forwards forwards;
	struct ibp_gsi gsi;
	uint64_t now;       /* of the current call */
	uint32_t sent;      /* packets of the current ibp_transmit() */
	bool blocked;       /* the socket or a ring is full until the next call */
	enum eng_acks manner; /* of acknowledging, now */
};

enum ibp_message { IBP_NONE, IBP_SEND, IBP_WRITE };

/* The send queue's cursor. */
struct ibp_send {
	uint32_t cur, pkt; /* next packet to send: ring index, number inside */
	bool begun;        /* the oldest request only waits for the choice of frame_shm.h */
};

/* The message being received. */
struct ibp_recv {
	enum ibp_message message;
	bool have_rwqe;
	bool skipping;  /* UC: message given up, waiting for the next first packet */
	uint64_t offset;      /* bytes of it that are placed */
	uint64_t va;          /* of a WRITE */
	uint32_t rkey, length;
	struct eng_pd *pd;    /* the QP's or the SRQ's */
	struct eng_cq *cq;
	struct eng_srq *srq;  /* XRC; may be gone, see ibp_recv_cq() */
	uint32_t srqn;
	struct eng_rwqe *rwqe; /* room for max_sge entries */
};

/* What a small message within a host looks at lies together: of a thousand queue pairs few lines are in
 * the nearest cache. */
struct ibp_qp {
	struct eng_qp *qp;
	struct ibp_port *port;
	struct ut_list active;
	struct ibp_send send;
	uint8_t cls;         /* enum wire_class of what it sends */
	/* xrc/forward.h: of an XRC target, and of what stands for one here; else NULL. */
	struct ibp_forward *forward;
	struct ibp_proxy *proxy;
	struct ibp_recv recv;
	struct eng_av ud_av; /* of conn.path, for UD */
	struct ibp_conn conn; /* last, since its end is what few use */
};

static inline struct ibp_qp *ibp_qp(struct eng_qp *qp)
{
	return eng_qp_proto(qp);
}

/* The cursor of the send queue has moved. */
static inline void ibp_req_moved(struct ibp_qp *q)
{
	struct ibp_req *r = &q->conn.req;

	ibp_req_put(r, IBP_REQ_IN_MESSAGE, q->send.pkt);
	ibp_req_put(r, IBP_REQ_BEHIND, r->psn_send != r->psn_next);
}

static inline void ibp_recv_message(struct ibp_qp *q, enum ibp_message m)
{
	q->recv.message = m;
	ibp_resp_put(&q->conn.resp, IBP_RESP_IN_MESSAGE, m != IBP_NONE);
}

/* A responder in RTR hears its first message by the full rules, which raise an event for it. */
static inline bool ibp_resp_hears(const struct eng_qp *qp)
{
	enum ibv_qp_state s = eng_qp_state(qp);

	return s == IBV_QPS_RTS || (s == IBV_QPS_RTR && qp->comm_est_raised);
}

static inline void ibp_slow_state(struct ibp_qp *q, const struct eng_qp *qp)
{
	ibp_req_put(&q->conn.req, IBP_REQ_STATE, eng_qp_state(qp) != IBV_QPS_RTS);
	ibp_resp_put(&q->conn.resp, IBP_RESP_STATE, !ibp_resp_hears(qp));
}

static inline void ibp_count(struct ibp_port *port, enum eng_counter c)
{
	struct eng_dev *dev = port->dev;

	eng_dev_held(dev);
	dev->counters[c]++;
}

/* port.c */
void ibp_activate(struct ibp_qp *q);
/* The invariant CRC is right; q: the connected QP it is for, or NULL. Counts. */
bool ibp_icrc_matches(struct ibp_port *port, struct ibp_qp *q, const struct link_rx *rx);

/* end.c */
/* Stops timers and takes the QP off all lists. */
void ibp_qp_stop(struct ibp_qp *q);
/* The QP fails: sentence, state, event; the receive in work ends with an
 * error, the rest is flushed. */
void ibp_qp_error(struct ibp_qp *q, enum eng_verdict v, enum ibv_qp_state next, bool raise,
		  struct eng_why *why);
/* The same for a fault of the sending side: a receive in work is flushed. */
void ibp_send_error(struct ibp_qp *q, enum eng_verdict v, enum ibv_qp_state next,
		    struct eng_why *why);
/* Ends a taken receive with an error, if there is one. */
void ibp_recv_end(struct ibp_qp *q, enum eng_verdict v);

/* train.c: begin .. (payload into the iov) .. end. */
/*
 * Room for a packet of `size` bytes (headers to ICRC) of this QP. Returns the
 * place for the payload's pieces and in *max their number, or NULL when the
 * socket is full: the caller keeps its state and comes back.
 */
struct iovec *ibp_train_begin(struct ibp_port *port, struct eng_qp *qp,
			      const struct ibp_path *path, bool response, uint32_t size, int *max);
/* Adds the packet; n pieces of payload, `user` when they are application memory. 0, or -EFAULT: they
 * were read at once, and could not be. */
int ibp_train_end(struct ibp_port *port, const struct wire_ib_packet *p, int n, bool user);
/* For a requester, where such a packet may be put together at once, behind others that were; or NULL. */
uint8_t *ibp_train_room(struct ibp_port *port, struct ibp_qp *q, uint32_t size);
/* It has been, up to its pad. */
void ibp_train_add(struct ibp_port *port, uint8_t *at, size_t len, unsigned pad);
#define IBP_ASK_PAGES 512u /* up to so many bytes ut_stage_gather_user() knows better */
extern const uint8_t ibp_train_pad[8]; /* zeros: pad and room for the ICRC, the last piece of a packet */
/* train_send.c */
void ibp_train_flush(struct ibp_port *port);
/* The source port of the train, and the ICRC of its packet i, whose bytes are in the stage. */
uint16_t ibp_train_port(const struct ibp_port *port);
void ibp_train_seal(const struct ibp_port *port, struct ibp_train *t, uint16_t sport, uint32_t i);
/* A packet of this QP has been added and has not left. */
bool ibp_train_has(const struct ibp_port *port, const struct ibp_qp *q);
/* The QP goes: what was added of it leaves now or, if the socket is full, without it. */
void ibp_train_leave(struct ibp_port *port, const struct ibp_qp *q);
/* 64 bytes in the transmit stage for results to scatter; returns their offset. */
size_t ibp_scratch(struct ibp_port *port, uint8_t **ret);
/* Size of a packet on the wire. */
uint32_t ibp_packet_size(const struct wire_ib_shape *shape, uint32_t payload);

/* req_send.c: true when it sent or executed something. */
void ibp_req_run(struct ibp_qp *q, uint32_t budget);
/* A packet of the train could not be read from memory. */
void ibp_req_fault(struct ibp_qp *q, uint32_t psn);
/* A request of one packet has left: start(), want_ack() and advance() of req_send.c in one. */
static inline void ibp_req_number(struct ibp_qp *q, struct eng_swqe *w)
{
	struct ibp_req *r = &q->conn.req;

	q->send.begun = false;
	w->first_psn = w->last_psn = r->psn_next;
	w->ssn = ++r->ssn;
	w->started = 1;
	r->since_ack = 0;
	if (w->opcode != IBV_WR_RDMA_WRITE)
		r->peer_psn = r->psn_next;
	r->psn_send = r->psn_next = psn_add(r->psn_next, 1);
	q->send.cur++;
}
/* req_done.c */
void ibp_req_reset(struct ibp_qp *q);
void ibp_req_complete(struct ibp_qp *q);
bool ibp_req_outstanding(const struct ibp_qp *q);
/* Puts the cursor on the oldest PSN without an answer. */
void ibp_req_seek(struct ibp_qp *q);
/* The same after a loss: what was in flight counts for nothing. */
void ibp_req_go_back(struct ibp_qp *q);
void ibp_req_progress(struct ibp_qp *q);
void ibp_req_arm(struct ibp_qp *q, uint64_t delay);
void ibp_req_timer(struct ibp_qp *q);
void ibp_req_slow_down(struct ibp_qp *q);
void ibp_req_grow(struct ibp_qp *q, uint32_t packets);
void ibp_req_fail_head(struct ibp_qp *q, enum eng_verdict v);
/* The request that covers a PSN, or NULL; *index is its place, or that of the
 * first request not started. */
struct eng_swqe *ibp_req_find(struct ibp_qp *q, uint32_t psn, uint32_t *index);
/* req_recv.c */
void ibp_req_receive(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx);
/* An acknowledgement that came with a request (near.h). */
void ibp_req_acked(struct ibp_qp *q, uint32_t psn, uint32_t msn);

/* resp_recv.c */
void ibp_resp_reset(struct ibp_qp *q);
/* A NAK is owed and then the QP fails. */
void ibp_resp_fatal(struct ibp_qp *q, enum eng_verdict v, uint32_t psn);
void ibp_resp_receive(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx);
/* resp_exec.c: ENG_OK, a verdict, or IBP_RNR. */
#define IBP_RNR (-1)
#define IBP_AGAIN (-2) /* near.h: the packet is to come again, plain */
#define IBP_HOLD (-3)  /* forward.h, these three */
#define IBP_AWAY (-4)
#define IBP_HERE (-5)
int ibp_resp_execute(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx);
int ibp_resp_take(struct ibp_qp *q);
/* Where the taken receive completes, or NULL: an XRC queue may have been
 * destroyed, with its completion queue, while a message of it was coming in. */
struct eng_cq *ibp_recv_cq(const struct ibp_qp *q);
/* The taken receive completes with q->recv.offset bytes; flags: enum ibv_wc_flags. */
void ibp_recv_done(struct ibp_qp *q, uint8_t opcode, unsigned flags, uint32_t imm, bool solicited);
/* Places payload into the current receive at `skip` bytes into it. */
int ibp_place_recv(struct ibp_qp *q, struct ut_stage *st, size_t off, uint32_t len, uint64_t skip,
		   bool last);
/* Pieces of application memory from a stage; the last 64 bytes of a message
 * become visible last. 0 or -EFAULT. iov has room for one more piece. */
int ibp_scatter(struct ut_stage *st, size_t off, struct iovec *iov, int n, uint32_t len, bool last);
/* place.c: the same from the receive stage, put off while more of the message
 * follows; a fault is then reported later. request: we are the responder. */
int ibp_place(struct ibp_qp *q, bool request, size_t off, struct iovec *iov, int n, uint32_t len,
	      bool last);
void ibp_place_settle(struct ibp_port *port);
/* Forgets what waits. */
void ibp_place_drop(struct ibp_port *port);
/* resp_rd.c */
int ibp_resp_read(struct ibp_qp *q, const struct wire_ib_packet *p);
int ibp_resp_atomic(struct ibp_qp *q, const struct wire_ib_packet *p);
void ibp_resp_duplicate(struct ibp_qp *q, const struct wire_ib_packet *p);
/* resp_send.c: answers that are due; acks too unless they may wait. */
void ibp_resp_run(struct ibp_qp *q, uint32_t budget);
void ibp_resp_ack(struct ibp_qp *q);
/* An acknowledgement is due; it waits for send_acks() or a ride. */
void ibp_resp_owe(struct ibp_qp *q);
/* The next request, of one packet, has been executed; ask: its sender wants to hear of it. */
static inline void ibp_resp_executed(struct ibp_qp *q, bool ask)
{
	q->conn.resp.epsn = psn_add(q->conn.resp.epsn, 1);
	q->conn.resp.msn = psn_add(q->conn.resp.msn, 1);
	if (ask)
		ibp_resp_owe(q);
}
/* What it needs besides being due; and it has left by another way. */
bool ibp_resp_may_ack(const struct ibp_qp *q);
void ibp_resp_acked(struct ibp_qp *q);
void ibp_resp_fault(struct ibp_qp *q, uint32_t psn);
bool ibp_resp_has_work(const struct ibp_qp *q);

/* near.c */
int ibp_shm_init(struct ibp_port *port);
void ibp_shm_fini(struct ibp_port *port);
/* Before the first PSN is given out: the requester's kind. False: not known yet. */
bool ibp_shm_choose(struct ibp_qp *q);
/* Whether a packet of this QP is one of this kind now, and the two steps of making it: as
 * ibp_train_begin and ibp_train_end. */
bool ibp_shm_is(const struct ibp_qp *q, bool response);
struct iovec *ibp_shm_begin(struct ibp_qp *q, bool response, uint32_t size, int *max);
int ibp_shm_end(struct ibp_port *port, const struct wire_ib_packet *p, int n, bool user);
/* A message as a packet; false: it is none. The payload stays where it is. */
bool ibp_shm_parse(struct ibp_port *port, const struct shm_message *m, struct wire_ib_packet *p);
/* Its payload into application memory, as ibp_place(); or IBP_AGAIN. iov has room for one more. */
int ibp_shm_place(struct ibp_port *port, struct iovec *iov, int n, uint32_t len, bool last);
/* The same into a plain buffer: 0 or IBP_AGAIN. */
int ibp_shm_copy(struct ibp_port *port, uint8_t *to, uint32_t len);
/* The packets of a requester up to the newest are asked for plain. */
void ibp_shm_plain(struct ibp_qp *q);
/* What was sent last still lies in the ring: sending it again would help nobody. *ret_busy: but the
 * peer has taken something since the last look. */
bool ibp_shm_unread(struct ibp_qp *q, bool *ret_busy);

/* An acknowledgement is due that can go along in the note of a Send, which names no memory of the
 * peer and so has room: *ret_va with IBP_HEADER_ACKS. */
static inline bool ibp_shm_acks(struct ibp_qp *q, uint64_t *ret_va)
{
	if (q->cls != WIRE_CLASS_RC || !q->conn.resp.ack_due || !q->conn.resp.local || !ibp_resp_may_ack(q))
		return false;
	*ret_va = psn_add(q->conn.resp.epsn, IBP_PSN_MASK) | (uint64_t)q->conn.resp.msn << 32;
	ibp_resp_acked(q);
	return true;
}

/* visit.c */
/* A packet of this host has used the key with success: those who come next may come themselves. */
void ibp_export(struct ibp_qp *q, const struct eng_mkey *mk, uint32_t key);
/* The oldest request is a Read or Write that we could make ourselves, and it is complete. */
bool ibp_direct(struct ibp_qp *q, struct eng_swqe *w);
/* A visit is a way to make such a request. */
bool ibp_may_be_direct(uint8_t opcode);
/* It will be one as soon as what is under way is done, and that is worth the wait. */
bool ibp_direct_next(struct ibp_qp *q, const struct eng_swqe *w);

/* trains_awaited.c: those that wait for more are looked at anew. */
void ibp_coalesce_end(struct ibp_port *port);


/* uc.c, ud.c */
void ibp_uc_fault(struct ibp_qp *q);
void ibp_uc_receive(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx);
void ibp_ud_receive(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx);
void ibp_ud_run(struct ibp_qp *q, uint32_t budget);

/* gsi.c */
void ibp_gsi_receive(struct ibp_port *port, const struct wire_ib_packet *p,
		     const struct link_rx *rx);
void ibp_gsi_run(struct ibp_port *port);
/* QP1 is this process's at all addresses, or at none: 0, -EBUSY (somebody has it), -errno. */
int ibp_gsi_claim(struct ibp_port *port);
void ibp_gsi_unclaim(struct ibp_port *port);
void ibp_gsi_fini(struct ibp_port *port);

static inline bool ibp_gsi_waits(const struct ibp_port *port)
{
	return port->gsi.head != port->gsi.tail;
}

/* ecn.c */
void ibp_ecn_marked(struct ibp_qp *q, const struct link_rx *rx);
void ibp_cnp_receive(struct ibp_qp *q);

/* IBTA table 45: RNR timer code -> ns. */
uint64_t ibp_rnr_ns(uint8_t code);
/* IBTA 9.7.6.1.3: 4.096 us * 2^code; 0 = never. */
static inline uint64_t ibp_timeout_ns(uint8_t code)
{
	return code ? 4096ull << code : 0;
}

#endif

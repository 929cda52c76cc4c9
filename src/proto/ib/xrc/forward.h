/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * XRC domains shared by processes: requests to a target QP of one process (the target) that name a
 * receive queue of another one (the home process), which the slot bits in the SRQ's number name.
 *
 *      requester            target                              home process
 *        SEND    ------>  checks order, length    -- OPEN --->  finds the domain by its inode
 *                         copies the payload      -- REQUEST ->  takes a receive, places, completes
 *                <------  ACK                     <-- DONE ---
 *
 * All packets of a Send or Write that names such a queue go to the home process, since keys are looked up in the
 * SRQ's protection domain; a READ or an atomic would need data back and is answered as one that names no
 * queue. They travel as messages (host/shm/channel.h) with the payload behind the header, so no process
 * writes into another's memory. A process that messages do not reach has no queue here either.
 *
 * The home process has a proxy: a QP object with the target's number that no packet and no program can reach.
 * Requests are executed on it by the same code as on any responder; the domain is found by device and
 * inode for every message, so closing it needs no agreement. The result of a request is answered, and
 * only then the target acknowledges, sends an RNR NAK, or a NAK and fails.
 *
 * Several requests may be out at once, to one home process: a run. Its PSNs follow one another. A request that the
 * home process refuses (no receive, an error) ends the run for it: further requests of this run are dropped,
 * since they will come again. The target goes back to the refused PSN and begins a new run with its next
 * request, as it does whenever nothing is out. Answers name their run.
 *
 * While requests are out, a request for another home process is held: dropped without an answer, like all behind
 * it, and asked for once, by a sequence NAK, when the answers have come. A repeated request that is out is
 * not forwarded again. So a requester's timer multiplies no work, and a slow home process delays only the
 * requesters that send to it.
 *
 * Rings lose no message, but processes die. Both ends ask each other from time to time while they wait: a
 * target whose home process is gone or does not know the run fails with RX_HOME, and a home process whose target has no
 * message in work any more flushes the receive that it took.
 */
#ifndef PROTO_IB_XRC_FORWARD_H
#define PROTO_IB_XRC_FORWARD_H

#include "engine/verdict.h"
#include "link/link.h"
#include "util/list.h"

#include <stdbool.h>
#include <stdint.h>

struct ibp_port;
struct shm_message;
struct ibp_qp;
struct shm_message;
struct wire_ib_packet;

enum ibp_forward_kind {
	IBP_FORWARD_OPEN = 1, /* in front of each message: its QP's domain */
	IBP_FORWARD_REQUEST,
	IBP_FORWARD_PROBE,    /* an answer is awaited */
	IBP_FORWARD_CLOSE,    /* the message in work is given up */
	IBP_FORWARD_DONE,     /* all before psn */
	IBP_FORWARD_RNR,      /* psn found no receive */
	IBP_FORWARD_ERROR,    /* psn ended so */
	IBP_FORWARD_ASK,      /* asks: is the message in work still going on? */
};

#define IBP_FORWARD_MARK 0xff /* in place of ibp_header.unit, which has no such value */

/* In place of a struct ibp_header. */
struct ibp_forward_header {
	uint8_t kind, opcode, mark;
	uint8_t unit; /* log2 of the bytes of a packet that is not the last */
	uint32_t psn, qpn, run; /* qpn: the target's, always */
	union {
		struct {
			uint64_t va;
			uint32_t rkey, length, imm, srqn;
		} req;
		struct {
			uint64_t fs, ino;
		} open;
		struct {
			uint32_t verdict;
			uint32_t ends; /* messages executed in this run */
			uint32_t inside; /* a message is in work */
		} say;
	};
};

/* With IBP_FORWARD_REQUEST, in kind. */
#define IBP_FORWARD_SOLICITED 0x80
#define IBP_FORWARD_FIRST 0x40 /* of its run; the home process takes no run from its middle */
#define IBP_FORWARD_KIND 0x3f

/* Of a target QP. */
struct ibp_forward {
	uint32_t run;
	uint32_t out;   /* requests before epsn without an answer; 0: no run is open */
	uint32_t ends;  /* messages that end in this run */
	uint32_t msn;   /* when it began */
	uint32_t srqn;  /* its home process has the requests that are out, and the message in work if abroad */
	bool abroad;
	bool asked;     /* for an acknowledgement of what is out */
	bool held;      /* a request was dropped, to be asked for */
	uint32_t seen;  /* PSN of the oldest out at the last tick */
	uint64_t probe_end;
};

#define IBP_PROXIES_MAX 1024u
#define IBP_PROXY_KEYS 64u

/* Of a home process, for one target. */
struct ibp_proxy {
	struct ibp_qp *q;
	struct ut_list node; /* keys or spare */
	struct ut_list due;
	struct ut_flow back;
	uint64_t fs, ino;
	uint32_t run, msn; /* msn: when it began */
	bool ended;        /* the rest of this run is dropped */
	struct ibp_forward_header said; /* the last answer */
	uint32_t srqn;     /* of the message in work */
	uint32_t seen;     /* PSN at the last tick */
	uint64_t wait, ask_end;
	uint64_t touched;
};

/* Of a port. */
struct ibp_forwards {
	struct ut_list keys[IBP_PROXY_KEYS]; /* proxies by the target's QPN */
	struct ut_list spare, due;             /* without a target; with an answer to give */
	unsigned n;
};

static inline bool ibp_forward_waits(const struct ibp_forwards *r)
{
	return r->due.next != &r->due;
}

/* All of these are called with dev->lock held. */

/* Makes q->forward of a target. Returns 0 or -ENOMEM. */
int ibp_forward_new(struct ibp_qp *q);
/*
 * Forwards the next request in order, of which the checks so far gave v. Returns IBP_HERE (it is not for
 * another process), IBP_AWAY (it has left), IBP_DEFERRED, or a verdict.
 */
int ibp_forward_request(struct ibp_qp *q, const struct wire_ib_packet *p, int v);
/* A request was dropped: the target asks for it again when it can be taken. */
void ibp_forward_hold(struct ibp_qp *q);
/* Returns true if a repeated request is out, so that its answer will come. */
bool ibp_forward_covers(struct ibp_qp *q, const struct wire_ib_packet *p);
/* The queue pair stops: requests that are out and the message in work at the home process are given up. */
void ibp_forward_stop(struct ibp_qp *q);
void ibp_forward_timer(struct ibp_qp *q);
/* Takes an answer of the home process, or IBP_FORWARD_ASK. */
void ibp_forward_told(struct ibp_port *port, const struct shm_message *rx,
		    const struct ibp_forward_header *n);
/* Sends a header alone to the process that has the number qpn; ret_end: its end in the ring, or NULL.
 * Returns 0 or as shm_channel_ops.reserve. */
int ibp_forward_say(struct ibp_port *port, const struct ut_flow *f, uint32_t qpn,
		  const struct ibp_forward_header *n, uint64_t *ret_end);

#endif

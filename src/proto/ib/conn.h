/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection: what two ends of a reliable service keep of each other apart from the messages - sequence
 * numbers, window, retries, timers, the READs and atomics in flight (IBTA 9.7). An RC queue pair has one
 * of its own; an EE context of the RD service is one that many queue pairs share. The state of the message in work and
 * of the send queue belongs to the queue pair: struct ibp_send, struct ibp_recv.
 *
 * UC uses the PSNs, UD the PSN and the path that it sent to last.
 */
#ifndef PROTO_IB_CONN_H
#define PROTO_IB_CONN_H

#include "engine/verdict.h"
#include "host/shm/channel.h"
#include "proto/ib/ident.h"
#include "proto/ib/path.h"
#include "proto/ib/route.h"
#include "proto/ib/slow.h"
#include "proto/ib/sport.h"
#include "util/heap.h"
#include "util/list.h"

#include <stdbool.h>
#include <stdint.h>

struct eng_pd;
struct ibp_framing;

#define IBP_PSN_MASK 0xffffffu
#define IBP_RD_ATOMIC 16        /* max_qp_rd_atom and max_qp_init_rd_atom */
#define IBP_WINDOW_MIN 4u
#define IBP_ASK_NOW UINT32_MAX  /* since_ack: the next packet gets the A bit */

/* PSNs are compared as signed 24-bit differences (IBTA 9.7.2). */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t psn_add(uint32_t a, uint32_t n)
{
	return (a + n) & IBP_PSN_MASK;
}

/* The connection as a requester. */
struct ibp_req {
	uint32_t slow;      /* enum ibp_req_slow */
	uint32_t psn_next;  /* first PSN never used */
	uint32_t psn_una;   /* oldest PSN not acknowledged */
	uint32_t psn_send;  /* PSN of the next packet to send */
	uint32_t peer_psn;  /* the last PSN of a request that the responder must execute by its full
                             * rules */
	uint32_t mtu;       /* bytes of each packet of a message but the last */
	const struct ibp_framing *framing;
	bool to_self;       /* the peer process is this one, and messages take its ring */
	uint8_t retry_left, rnr_left;
	uint32_t ssn, lsn;  /* message numbers: of the newest request, and up to which the peer has
                             * given credits */
	uint64_t ring_end;  /* position in the ring behind the newest packet */
	uint32_t since_ack; /* packets since the last one with the A bit */
	uint32_t rd_head, rd_count;
	uint32_t window, threshold, grown; /* packets; additive growth */
	uint64_t deadline;  /* of the timer, which may fire early */
	/* Rarely used. */
	struct ut_timer timer;
	uint64_t ring_read; /* position up to which the peer had consumed the ring when the timer
                             * fired last */
	uint64_t cnp_at;
	uint32_t rd_last[IBP_RD_ATOMIC]; /* last PSNs of reads and atomics in flight */
};

/* A READ or atomic that may have to be answered again (IBTA 9.7.5.1.5). */
struct ibp_rdres {
	uint32_t first_psn, last_psn;
	uint32_t tx_start, tx_psn, tx_end; /* of this answer: its first PSN, the next to send, its
                                            * end */
	uint64_t va, orig;
	struct eng_pd *pd; /* XRC: of the SRQ named by the request */
	uint32_t rkey, msn;
	uint32_t length;
	uint32_t tx_bytes; /* this answer ends before this offset */
	bool used, atomic, pending, replay;
};

/* The connection as a responder. */
struct ibp_resp {
	uint32_t slow;      /* enum ibp_resp_slow */
	uint32_t epsn, msn;
	uint32_t mtu;       /* bytes of each packet of a message but the last */
	const struct ibp_framing *framing; /* constant unless IBP_RESP_UNCHOSEN */
	bool ack_due;
	bool rnr_due, seq_due;
	bool res_used;      /* any of res, since RESET */
	bool nak_put;       /* the NAK is in the train, which waits for room in the socket */
	enum eng_verdict nak; /* the NAK that is owed, with nak_psn */
	uint32_t nak_psn;
	/* Rarely used. */
	uint64_t cnp_at;
	uint32_t res_next; /* ring of max_dest_rd_atomic entries */
	struct ibp_rdres res[IBP_RD_ATOMIC];
};

static inline bool ibp_req_is(const struct ibp_req *r, enum ibp_req_slow bit)
{
	return r->slow & bit;
}

static inline void ibp_req_put(struct ibp_req *r, enum ibp_req_slow bit, bool on)
{
	ibp_slow_put(&r->slow, bit, on);
}

static inline bool ibp_resp_is(const struct ibp_resp *r, enum ibp_resp_slow bit)
{
	return r->slow & bit;
}

static inline void ibp_resp_put(struct ibp_resp *r, enum ibp_resp_slow bit, bool on)
{
	ibp_slow_put(&r->slow, bit, on);
}

/* The part of a region of the peer that direct access last found in an area (host/shm/grant.h). */
struct ibp_grant {
	struct shm_grant access;
	uint32_t rkey;
	unsigned rights;       /* enum ibv_access_flags of the key and of the peer's queue pair */
	uint64_t from, length; /* in the peer's names of its bytes */
	uint8_t *at;           /* the first byte, as attached here */
};

struct ibp_conn {
	struct ut_list acks;
	uint32_t mtu;       /* of the path, in bytes */
	uint16_t pkey;
	uint8_t route;      /* enum ibp_route: of messages */
	uint8_t migration;  /* enum ibv_mig_state (migrate.h) */
	struct shm_lane lane; /* to the peer process */
	struct ibp_grant grant;
	struct ibp_req req;
	struct ibp_path path;
	struct ibp_sport sport;
	struct ibp_ident ident; /* of packets from the peer */
	uint64_t heard;     /* when the last intact packet of the peer came */
	struct ut_list unarmed;
	struct wire_icrc_flow rx_icrc; /* of packets from the peer */
	struct wire_icrc_memo rx_memo[2]; /* of acknowledgements, and others */
	struct ibp_resp resp;
};

#endif

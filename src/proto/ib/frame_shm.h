/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The transport between processes of one host: what travels is still a packet - opcode, PSN, the fields
 * of its headers - but it has no wire form, no ICRC and no path MTU. Its payload is up to 256 KiB,
 * copied into the link's ring or named there for the peer to fetch (host/shm/channel.h). So the machine
 * of this room, with all its checks, states, counters and sentences, is the local path as well:
 * a message of any usual size is one packet "only", a longer one is first, middle, last.
 *
 * Requests and answers are two directions, each of one kind from RESET to RESET. A requester
 * chooses before it gives out its first PSN, since that decides how many a message has; a
 * responder goes by the first request it gets, and answers the same way.
 *
 * Whatever is odd about fetching - pages that are gone at either end, a seal that was broken
 * meanwhile, a peer that cannot be read - ends the same way: the packet is asked for again, plain
 * (requests by a sequence NAK, answers by asking again), and comes with its payload copied by
 * its owner, who then finds the fault as on the wire.
 */
#ifndef PROTO_IB_FRAME_SHM_H
#define PROTO_IB_FRAME_SHM_H

#include "host/shm/channel.h"
#include "link/link.h"
#include "proto/ib/framing.h"
#include "util/stage.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A message as the packet that the machine knows; its payload lies in no stage. */
static inline struct link_rx ibp_shm_packet(const struct shm_message *m)
{
	struct link_rx rx = { .data = m->data, .len = m->len };

	memcpy(rx.src, m->src, sizeof(rx.src));
	memcpy(rx.dst, m->dst, sizeof(rx.dst));
	return rx;
}

/* In front of the payload, in the form of ibp_header_put(). */
struct ibp_header {
	uint8_t opcode, flags; /* enum wire opcodes; IBP_NOTE_* */
	uint8_t unit;          /* log2 of what a packet holds that is not the last */
	uint8_t syndrome;      /* of an answer */
	uint32_t psn, dest_qpn, src_qpn;
	uint32_t imm;          /* or the key to invalidate */
	uint32_t rkey;
	uint64_t va;           /* IBP_HEADER_ACKS: the last PSN that was executed, and the MSN << 32 */
	uint32_t length;       /* answers: MSN */
	uint32_t srqn;         /* XRC requests */
};

enum {
	IBP_HEADER_SE = 1,
	IBP_HEADER_ASK = 2,   /* the A bit */
	IBP_HEADER_FETCH = 4,  /* a struct ibp_pieces follows, not the payload */
	IBP_HEADER_PLAIN = 8, /* do not name memory in what I ask for again */
	IBP_HEADER_ACKS = 16, /* a Send that brings an acknowledgement along */
};

#define IBP_HEADER_WORDS 5
#define IBP_HEADER_UNIT_AT 2 /* byte of it */

/* One store; the compiler would put them together in memory of its own, and read that by another width. */
static inline void ibp_header_word(uint8_t *at, int i, uint64_t v)
{
	typedef uint64_t __attribute__((may_alias)) word;

	__atomic_store_n((word *)(void *)at + i, htole64(v), __ATOMIC_RELAXED);
}

/*
 * Words of 64 bits there and back, little-endian. As wide as they are written they are read, here and
 * when the link copies them: a processor does not hand a load what several stores have written
 * before these have left it, and they queue behind others that wait for a line that the peer has. That
 * was a third of a sender's time. at: aligned to 8 bytes.
 */
static inline void ibp_header_put(uint8_t *at, const struct ibp_header n)
{
	ibp_header_word(at, 0, n.opcode | (uint32_t)n.flags << 8 | (uint32_t)n.unit << 16 |
				     (uint32_t)n.syndrome << 24 | (uint64_t)n.psn << 32);
	ibp_header_word(at, 1, n.dest_qpn | (uint64_t)n.src_qpn << 32);
	ibp_header_word(at, 2, n.imm | (uint64_t)n.rkey << 32);
	ibp_header_word(at, 3, n.va);
	ibp_header_word(at, 4, n.length | (uint64_t)n.srqn << 32);
}

/* Each word is read once: the peer may write on. */
static inline struct ibp_header ibp_header_get(const uint8_t *at)
{
	uint64_t w[IBP_HEADER_WORDS];

	for (int i = 0; i < IBP_HEADER_WORDS; i++) {
		uint64_t v;

		memcpy(&v, at + i * 8, 8);
		w[i] = le64toh(v);
	}
	return (struct ibp_header){
		.opcode = (uint8_t)w[0], .flags = (uint8_t)(w[0] >> 8),
		.unit = (uint8_t)(w[0] >> 16), .syndrome = (uint8_t)(w[0] >> 24),
		.psn = (uint32_t)(w[0] >> 32),
		.dest_qpn = (uint32_t)w[1], .src_qpn = (uint32_t)(w[1] >> 32),
		.imm = (uint32_t)w[2], .rkey = (uint32_t)(w[2] >> 32),
		.va = w[3],
		.length = (uint32_t)w[4], .srqn = (uint32_t)(w[4] >> 32),
	};
}

/* Where the payload lies in the writer's memory, as long as both seals have their values: that of
 * the region, and of the QP whose request it is (an answer has the region's twice). */
struct ibp_pieces {
	struct {
		uint32_t index, value;
	} generation[2];
	struct {
		uint64_t addr, length;
	} v[];
};

#define IBP_SHM_PIECES 136 /* more than a gather list and a page list can give */
#define IBP_SHM_COPY 4096u /* up to here the payload is copied */
#define IBP_SHM_WINDOW 4096u /* packets; the ring itself holds back */
#define IBP_SHM_HEAVY 16u    /* of large ones: so much work may wait for the peer, and its answer */
#define IBP_UNIT_FETCH 18u   /* log2: 256 KiB */
#define IBP_UNIT_COPY 15u   /* where everything is copied, so that the ring holds many */

/* Of a port: what is being sent and what is being received. */
struct ibp_shm {
	struct ut_stage stage; /* base NULL: this link knows no messages */
	bool response;
	bool lost;             /* it goes nowhere */
	bool fetch;             /* its payload is named */
	bool say_plain;        /* the next packet carries IBP_HEADER_PLAIN */
	bool app;              /* a thread of the application's has posted this instant */
	uint32_t unshown;      /* messages that the peer has not been told of */
	uint32_t key;          /* of the region that a request names */
	struct shm_reservation place;
	bool quiet; /* what is put together may wait until somebody looks */
	struct iovec iov[IBP_SHM_PIECES + 1]; /* the last bytes of the last piece apart */

	const struct shm_message *rx; /* being looked at */
	const uint8_t *data;      /* its payload, unless it is named */
	bool plain;               /* it has IBP_HEADER_PLAIN */
	bool acks;                /* and IBP_HEADER_ACKS: */
	uint32_t ack_psn, ack_msn;
	uint32_t unit;            /* bytes */
	int n_from;               /* pieces that name its payload, or 0 */
	struct iovec from[IBP_SHM_PIECES];
	uint32_t generation[2], value[2];
};

extern const struct ibp_framing ibp_frame_shm;

/* Returns 0, -ENOMEM, -EMFILE, ... */
int ibp_shm_init(struct ibp_port *port);
void ibp_shm_fini(struct ibp_port *port);
/* Chooses the requester's framing, before it gives out its first PSN. Returns false if it is not known yet. */
bool ibp_shm_choose(struct ibp_qp *q);
/* A message as a packet; returns false if it is none. The payload stays where it is. */
bool ibp_shm_parse(struct ibp_port *port, const struct shm_message *m, struct wire_ib_packet *p);
/* ibp_framing.place without its first arguments. */
int ibp_shm_place(struct ibp_port *port, struct iovec *iov, int n, uint32_t len, bool last);
/* The packets of a requester up to the newest are asked for plain. */
void ibp_shm_plain(struct ibp_qp *q);

#endif

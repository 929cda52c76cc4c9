/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The framing of packets between processes of one host. A packet - opcode, PSN, the fields of its headers -
 * has no wire form, no ICRC and no path MTU here. Its payload is up to 64 KiB, copied into the ring of the
 * shm channel and out of it: both ends copy at the same time. So requester and responder,
 * with all their checks, states, counters and sentences, serve the local path as well: a message of any
 * usual size is one packet "only", a longer one is first, middle, last.
 */
#ifndef PROTO_IB_FRAME_SHM_H
#define PROTO_IB_FRAME_SHM_H

#include "host/shm/channel.h"
#include "link/link.h"
#include "proto/ib/framing.h"
#include "util/stage.h"
#include "wire/ib_opcode.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Set where a message comes as a datagram; its payload lies in no stage. */
static inline struct link_rx ibp_shm_packet(const struct shm_message *m)
{
	struct link_rx rx = { .data = m->data, .len = m->len };

	memcpy(rx.src, m->src, sizeof(rx.src));
	memcpy(rx.dst, m->dst, sizeof(rx.dst));
	return rx;
}

/* In front of the payload, in the form of ibp_header_put(). */
struct ibp_header {
	uint8_t opcode, flags; /* enum wire opcodes; IBP_HEADER_* */
	uint8_t unit;          /* log2 of the bytes of each packet of a message but the last */
	uint8_t syndrome;      /* of an answer */
	uint32_t psn, dest_qpn, src_qpn; /* 24 bits */
	uint32_t imm;          /* or the key to invalidate */
	uint32_t rkey;         /* UD: the Q_Key */
	uint64_t va;           /* IBP_HEADER_ACKS: the last PSN that was executed, and the MSN << 32; UD: ibp_header_way() */
	uint32_t length;       /* answers: MSN */
	uint32_t srqn;         /* XRC requests */
};

enum {
	IBP_HEADER_SE = 1,
	IBP_HEADER_ASK = 2,   /* the A bit */
	IBP_HEADER_ACKS = 4,  /* a Send that carries an acknowledgement */
	IBP_HEADER_ARMED = 8, /* MigReq is 0 (migrate.h) */
};

#define IBP_HEADER_WORDS 5
#define IBP_HEADER_UNIT_AT 2 /* byte of it */

/* Writes one word by one store; the compiler would build the header in memory of its own, and copy that by
 * another width. */
static inline void ibp_header_word(void *at, int i, uint64_t v)
{
	typedef uint64_t __attribute__((may_alias)) word;

	__atomic_store_n((word *)at + i, htole64(v), __ATOMIC_RELAXED);
}

/* The first word of a message that is no answer. */
static inline uint64_t ibp_header_first(uint8_t opcode, uint8_t flags, uint8_t unit, uint64_t psn)
{
	return psn << 32 | (uint32_t)unit << 16 | (uint32_t)flags << 8 | opcode;
}

/*
 * Writes and reads the header as little-endian words of 64 bits. at: aligned to 8 bytes. Loads are
 * as wide as the stores were, here and where the channel copies the words: a processor does not
 * forward several narrow stores to one wide load before they have left its store buffer, and there
 * they queue behind stores to cache lines that the peer process holds. That was a third of a
 * sender's time.
 */
static inline void ibp_header_put(void *at, const struct ibp_header n)
{
	ibp_header_word(at, 0, ibp_header_first(n.opcode, n.flags, n.unit, n.psn) | (uint32_t)n.syndrome << 24);
	ibp_header_word(at, 1, n.dest_qpn | (uint64_t)n.src_qpn << 32);
	ibp_header_word(at, 2, n.imm | (uint64_t)n.rkey << 32);
	ibp_header_word(at, 3, n.va);
	ibp_header_word(at, 4, n.length | (uint64_t)n.srqn << 32);
}

/* The P_Key of a request that shows it (route.h) stands in the upper bytes of both QPNs. */
static inline void ibp_header_put_pkey(void *at, uint16_t pkey)
{
	typedef uint64_t __attribute__((may_alias)) word;
	uint64_t v = le64toh(((word *)at)[1]) & 0x00ffffff00ffffffull;

	ibp_header_word(at, 1, v | (uint64_t)(pkey & 0xffu) << 24 | (uint64_t)(pkey >> 8) << 56);
}

/* Returns it, or 0: the message does not show it. */
static inline uint16_t ibp_header_pkey(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at + 8, 8);
	v = le64toh(v);
	return (uint16_t)((v >> 24 & 0xffu) | (v >> 56) << 8);
}

/* The fields of a UD packet that a message has in `va`: traffic class and hop limit, which its receiver finds in the GRH, and P_Key. */
static inline uint64_t ibp_header_way(uint8_t tos, uint8_t ttl, uint16_t pkey)
{
	return tos | (uint64_t)ttl << 8 | (uint64_t)pkey << 16;
}

/* Reads each word once: the peer process may still write. */
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
		.dest_qpn = (uint32_t)w[1] & 0xffffffu, .src_qpn = (uint32_t)(w[1] >> 32) & 0xffffffu,
		.imm = (uint32_t)w[2], .rkey = (uint32_t)(w[2] >> 32),
		.va = w[3],
		.length = (uint32_t)w[4], .srqn = (uint32_t)(w[4] >> 32),
	};
}

/* Bytes behind the header of an atomic: swap and compare, or one number, which leaves the message in the ring's inline
 * slot: the number to add, or the answer's old value. */
static inline uint32_t ibp_shm_atomic_bytes(uint8_t opcode)
{
	return opcode == WIRE_RC_COMPARE_SWAP || opcode == WIRE_XRC_COMPARE_SWAP ? 16 : 8;
}

#define IBP_SHM_PIECES 136 /* more than a gather list and a page list can have */
#define IBP_UNIT 16u /* log2 of the bytes of each packet of a message but the last: the ring holds 16 */
#define IBP_SHM_PACKET (1u << IBP_UNIT)
#define IBP_SHM_WINDOW 4096u /* packets in flight; the ring itself limits them */
#define IBP_SHM_HEAVY 16u    /* of large messages: bounds the work that may wait for the peer, and
                              * so the delay of its answer */

/* The state of a port: the message being sent and the message being received. */
struct ibp_shm {
	struct ut_stage stage; /* base NULL: the channel has no messages */
	/* The packet being made: */
	bool response;
	bool lost;             /* the peer process is dead or stopped: the packet counts as lost */
	uint32_t unpublished;  /* messages committed with `more` */
	struct shm_reservation place;
	bool quiet;            /* messages need not wake a sleeping reader */
	bool stored;           /* the last direct access was made by loads and stores */
	struct iovec iov[IBP_SHM_PIECES + 1]; /* the last bytes of the last piece apart */

	/* The message being received. acks is false while a datagram is. */
	const struct shm_message *rx;
	const uint8_t *data;      /* the payload */
	bool acks;                /* IBP_HEADER_ACKS: */
	uint32_t ack_psn, ack_msn;
	uint32_t unit;            /* bytes */
};

extern const struct ibp_framing ibp_frame_shm;

/* Returns 0, -ENOMEM, -EMFILE, ... */
int ibp_shm_init(struct ibp_port *port);
void ibp_shm_fini(struct ibp_port *port);
/* Chooses the requester's framing, before its first PSN is used. Returns false if the channel does
 * not know yet whether there is a local path: port->blocked, to be called again in the next round. */
bool ibp_shm_choose(struct ibp_qp *q);
/* Reads a message as a packet, with *rx as ibp_shm_packet() has it; the payload stays where it is. Returns false if the
 * message is malformed. */
bool ibp_shm_parse(struct ibp_port *port, const struct shm_message *m, struct wire_ib_packet *p, struct link_rx *rx);
/* ibp_framing.place without its first arguments. */
int ibp_shm_place(struct ibp_port *port, struct iovec *iov, int n, uint32_t len, bool last);

#endif

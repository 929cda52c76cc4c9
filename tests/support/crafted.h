/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer without an engine: the test writes its packets field by field and
 * reads the answers. It sits on a link of its own in the world of a real host.
 */
#ifndef TESTS_SUPPORT_CRAFTED_H
#define TESTS_SUPPORT_CRAFTED_H

#include "support/simhost.h"
#include "wire/ib_packet.h"
#include "wire/icrc.h"

#define CRAFTED_MAX 4096
#define CRAFTED_QPN 0x123456u
#define CRAFTED_PSN 0x000100u /* first of the peer's requests */
#define HOST_PSN 0x800000u    /* first of the host's */

struct crafted_rx {
	struct wire_ib_packet p;
	uint64_t at;
	uint8_t tos, ttl;
	uint16_t sport;
	uint32_t len;
	uint8_t bytes[4200];
};

struct crafted {
	struct sim_world w;
	struct sim_end e; /* the real end, on host 0, with 1 MiB of memory */
	struct link *link;
	uint8_t addr[16];
	struct wire_icrc_flow flow;
	uint32_t epsn;    /* of the next request */
	int n, seen;      /* received; looked at by crafted_next() */
	struct crafted_rx *v;
	/* How the next packet is spoiled; cleared after each. */
	uint32_t flip_icrc;
	int cut;          /* so many bytes fewer */
	uint8_t tos;
	uint16_t id;      /* IPv4 identification */
	int pad;          /* 1 + pad field, 0 = what the length asks for */
	uint16_t sport;   /* UDP source port, 0 = the usual one; stays */
	const uint8_t *from; /* another source address */
	int opcode;       /* 1 + a raw opcode, written over the one of the shape */
	bool delayed;     /* leave the sending to crafted_run() */
};

/* type 0 = RC. The end is in RTS towards the peer. o may be NULL. */
struct crafted *crafted_open(const struct sim_qp_options *o);
/* The same with a user of the host's MADs. */
struct crafted *crafted_open_gsi(const struct gsi_user *gsi);
void crafted_close(struct crafted *c);

/*
 * Sends one packet and lets it arrive and be answered (no timer runs: the
 * clock moves by two link delays). DestQP 0 and P_Key 0 mean the right ones.
 */
void crafted_tx(struct crafted *c, struct wire_ib_packet p, const void *data, uint32_t len);
#define CRAFT(c, data, len, ...) \
	crafted_tx(c, (struct wire_ib_packet){ __VA_ARGS__ }, data, len)
void crafted_run(struct crafted *c, uint64_t ns);
/* The next packet that came, or NULL. */
const struct crafted_rx *crafted_next(struct crafted *c);
/* The same, and it must be of this kind. */
const struct crafted_rx *crafted_want(struct crafted *c, uint8_t opcode, uint32_t psn);
/* An ACKNOWLEDGE with this syndrome. */
void crafted_want_aeth(struct crafted *c, uint8_t syndrome, uint32_t psn, uint32_t msn);
void crafted_want_nothing(struct crafted *c);
/* Counter of the host. */
uint64_t crafted_counter(const struct crafted *c, enum eng_counter k);
enum ibv_qp_state crafted_state(const struct crafted *c);

#endif

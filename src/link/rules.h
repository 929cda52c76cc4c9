/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules of faults, as text:
 *
 *      RULE; RULE ...        or one a line; # begins a comment
 *      RULE = ACT TERM ...   the first rule that has this kind of act and whose terms all hold acts
 *
 * ACT, on packets of the wire:
 *      lose, duplicate, reorder, delay=TIME, corrupt, corrupt=BYTE:MASK (octet from the BTH on, bits),
 *      port-down=TIME (so long from this packet on: the port says so, and nothing passes)
 * on requests that arrive, on the wire and within the host:
 *      rnr, nak=sequence|request|access|operation (RoCE), terminate (iWARP), die (SIGKILL),
 *      overrun (of the completion queue of receives), slow=TIME (RoCE: no receive is there so long after a message)
 * on queue pairs (RoCE):
 *      window=N (packets in flight)
 * on connections:
 *      reject, reject=REASON (RoCE: consumer, stale, resources, no-qp, unsupported), silence (requests that arrive get no
 *      answer), timewait=TIME (RoCE: so long after a disconnect)
 * on streams of iWARP:
 *      short=BYTES (that one system call takes at most)
 * on calls:
 *      fail=CALL:ERRNO (alloc_pd, reg_mr, create_cq, create_srq, create_qp, modify_qp)
 *
 * TERM:
 *      out, in               sent or received by this process
 *      op=send|write|read|atomic|ack|nak|cm|other
 *      qp=NUMBER, peer=ADDRESS, adapter=TEXT
 *      nth=N                 the N-th of those for which the other terms hold; first=N: up to it; every=N
 *      p=0.01, seed=N        by chance; a seed makes the same choices again
 *      after=TIME, until=TIME  since the rules were given
 *
 * TIME is a number with us, ms or s. Pure: time comes in.
 */
#ifndef LINK_RULES_H
#define LINK_RULES_H

#include "util/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_RULES_MAX 24
#define LINK_RULE_TEXT 160

enum link_act {
	LINK_ACT_LOSE, LINK_ACT_DUPLICATE, LINK_ACT_REORDER, LINK_ACT_DELAY, LINK_ACT_CORRUPT,
	LINK_ACT_RNR, LINK_ACT_NAK, LINK_ACT_TERMINATE, LINK_ACT_DIE,
	LINK_ACT_SHORT,
	LINK_ACT_FAIL,
	LINK_ACT_PORT_DOWN, LINK_ACT_OVERRUN, LINK_ACT_SLOW, LINK_ACT_WINDOW,
	LINK_ACT_REJECT, LINK_ACT_SILENCE, LINK_ACT_TIMEWAIT,
	LINK_ACTS
};

/* The acts on packets of a datagram link, on arriving requests, on queue pairs, on streams, on calls, on connections. */
#define LINK_ACTS_PACKET (1u << LINK_ACT_LOSE | 1u << LINK_ACT_DUPLICATE | 1u << LINK_ACT_REORDER | 1u << LINK_ACT_DELAY | \
			  1u << LINK_ACT_CORRUPT | 1u << LINK_ACT_PORT_DOWN)
#define LINK_ACTS_REQUEST (1u << LINK_ACT_RNR | 1u << LINK_ACT_NAK | 1u << LINK_ACT_TERMINATE | 1u << LINK_ACT_DIE | \
			   1u << LINK_ACT_OVERRUN | 1u << LINK_ACT_SLOW)
#define LINK_ACTS_QUEUE_PAIR (1u << LINK_ACT_WINDOW)
#define LINK_ACTS_STREAM (1u << LINK_ACT_SHORT)
#define LINK_ACTS_CALL (1u << LINK_ACT_FAIL)
#define LINK_ACTS_CONNECTION (1u << LINK_ACT_REJECT | 1u << LINK_ACT_SILENCE | 1u << LINK_ACT_TIMEWAIT)

enum link_op { LINK_OP_SEND, LINK_OP_WRITE, LINK_OP_READ, LINK_OP_ATOMIC, LINK_OP_ACK, LINK_OP_NAK, LINK_OP_CM, LINK_OP_OTHER,
	       LINK_OPS };

struct link_rule {
	enum link_act act;
	uint64_t value;   /* times: ns. nak: syndrome. short: bytes. fail: errno. corrupt: octet << 8 | bits. window: packets.
			   * reject: reason of IBTA table 107 */
	char function[24]; /* fail */
	bool chosen_bits; /* corrupt */

	/* Terms. */
	int8_t out; /* 1: out, 0: in, -1: both */
	uint32_t ops; /* set of enum link_op; 0: all */
	bool has_qp, has_peer;
	uint32_t qp;
	uint8_t peer[16];
	char adapter[32];
	uint64_t nth, first, every; /* 0: no such term */
	uint32_t chance; /* of 2^32; 0: always */
	uint64_t after, until; /* ns; until 0: for ever */

	struct ut_rng rng;
	uint64_t seen, acted;
	uint64_t due;    /* slow: when the next message finds a receive */
	char text[LINK_RULE_TEXT];
};

struct link_event;

struct link_rules {
	/* Told of each act, before it; die is its to do. Default: nothing. */
	void (*acted)(const struct link_rule *r, const struct link_event *e);
	/* Told when port-down begins (false) and ends. Default: nothing. */
	void (*port)(void *arg, bool up);
	void *arg;
	unsigned n;
	uint32_t acts;  /* set of the acts that occur */
	uint64_t begun; /* 0: at the first packet */
	struct link_rule rule[LINK_RULES_MAX];
};

/* What a rule looks at. */
struct link_event {
	bool out;
	enum link_op op;
	uint32_t qpns[2];      /* those that are known, else 0 */
	const uint8_t *peer;   /* 16 bytes */
	const char *adapter, *function;
	uint64_t now;
};

/* Reads the text. Returns 0, or -EINVAL with the wrong rule and word in why. */
int link_rules_read(const char *text, struct link_rules *ret, char *why, size_t size);
/* What a packet from its BTH on is, for an event. */
enum link_op link_rules_op(const uint8_t *packet, size_t len);
/* Returns the rule with one of these acts that acts now, or NULL; counts. */
struct link_rule *link_rules_find(struct link_rules *r, uint32_t acts, const struct link_event *e);

#endif

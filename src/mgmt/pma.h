/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Performance management (IBTA 16): what packets move in the counters of a port, and the agent (PMA) that shows
 * them. Counters are true: each MAD and each data packet counts at every port that it passes. What this fabric
 * cannot have - flow control, congestion, waits for credits - is 0.
 */
#ifndef MGMT_PMA_H
#define MGMT_PMA_H

#include "mgmt/fabric.h"

/* What a packet counts as. */
struct fab_load {
	uint64_t packets, words;
	uint8_t sl, vl;		/* vl 15: subnet management */
	bool is_mcast;
};

void fab_count_xmit(struct fab_port *p, const struct fab_load *l);
void fab_count_rcv(struct fab_port *p, const struct fab_load *l);

/* The virtual lane of an SL behind this port's mapping: from input port `in` of the same switch (0 for CAs). */
unsigned fab_port_vl(const struct fab_port *out, unsigned in, unsigned sl);

/*
 * Answers a Get or Set of class 4 that has arrived at this end port (or port 0): m becomes the response. Returns
 * false if it is none: a response, or a method of others.
 */
bool fab_pma_answer(struct fab_port *p, struct mad *m);

/* Frees what a port has for performance management. */
void fab_pma_fini(struct fab_port *p);

#endif

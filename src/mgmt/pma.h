/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Performance management (IBTA 16): what packets move in the counters of a port, and the agent (PMA) that shows
 * them. Counters are true: each MAD and each data packet counts at every port that it passes. Congestion and waits for
 * credits exist where data travels hop by hop (hop.h), else their counters are 0.
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

/* FECN set at this port of a switch (A10.3.5 PortVLCongestion); packets with FECN or BECN received at an end port. */
void fab_count_congestion(struct fab_port *p, unsigned vl);
void fab_count_notified(struct fab_port *p, unsigned sl, bool fecn, bool becn);

#define FAB_TICK_NS 1000000ull	/* of PortXmitWait, and of PortSamplesControl, which tells it */
/* A sum of times has grown: without a transmission while packets wait, of the port; without credits, of one VL. */
void fab_count_wait(struct fab_port *p, uint64_t before_ns, uint64_t after_ns);
void fab_count_lane_wait(struct fab_port *p, unsigned vl, uint64_t before_ns, uint64_t after_ns);

/* VLs for data that the link has. */
unsigned fab_port_data_vls(const struct fab_port *p);
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

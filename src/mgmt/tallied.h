/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What goes by memory, counted at the ports that it would pass (PortCounters, IBTA 16.1.3.5): an adapter's process counts packets
 * by flow (struct pkt_tally), and the ports of the model take the difference. The process is not trusted: its numbers move counters,
 * whatever they are.
 */
#ifndef MGMT_TALLIED_H
#define MGMT_TALLIED_H

#include "link/fabric/packets.h"
#include "mgmt/fabric.h"

#include <stdint.h>

struct tallied {
	const struct pkt_tally *seg; /* NULL: none */
	struct tallied_flow {
		uint64_t packets, words;
	} *v;                        /* of each flow, what ports have counted */
	uint32_t n;
};

/* Ports count what the process has more than at the last time. at: the process's port. */
void tallied_count(struct tallied *t, struct fab_port *at);
void tallied_free(struct tallied *t); /* the segment stays mapped */

#endif

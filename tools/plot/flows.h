/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a capture tells of its connections: each request, response and acknowledgement with its time, its sequence number
 * counted from the first one of its flow on, and whether it was sent before; and for each acknowledged request the time
 * until its acknowledgement. A flow is one direction: for RoCEv2 the requests to a queue pair, for iWARP a direction of
 * a TCP connection.
 */
#ifndef PLOT_FLOWS_H
#define PLOT_FLOWS_H

#include "pcap.h"

enum flow_kind { FLOW_SEND, FLOW_WRITE, FLOW_READ, FLOW_ATOMIC, FLOW_ACK, FLOW_NAK, FLOW_CM, FLOW_OTHER, FLOW_KINDS };

extern const char *const flow_kind_names[FLOW_KINDS];

struct flow_event {
	double t;      /* s since the first packet */
	enum flow_kind kind;
	int flow;      /* -1: none */
	double number; /* in its flow: PSNs, or octets of TCP */
	bool repeated, ack;
};

struct flows {
	uint64_t begun; /* time of the first packet; 0: none yet */
	struct flow_event *event;
	size_t n_events;
	double *latency; /* us */
	size_t n_latencies;
	struct flow *flow;
	int n_flows;
};

void flows_add(struct flows *f, const struct pcap_packet *p);
void flows_free(struct flows *f);
/* Writes a name for a flow, such as "QP 0x00eab5 at 127.0.0.1". */
void flows_name(const struct flows *f, int flow, char *out, size_t size);

#endif

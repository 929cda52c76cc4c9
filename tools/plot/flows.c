/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "flows.h"

#include "util/ip.h"
#include "wire/ib_opcode.h"
#include "wire/iwarp_opcode.h"
#include "wire/iwarp_fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define UDP 17u
#define TCP 6u
#define ROCE_PORT 4791u
#define GSI 1u
#define PSN_MASK 0xffffffu
#define WAITING 4096u /* requests of a flow whose acknowledgement may come: a power of two */

const char *const flow_kind_names[FLOW_KINDS] = { "send", "write", "read", "atomic", "ack", "nak", "cm", "other" };

struct flow {
	bool tcp;
	uint8_t src[16], dst[16];
	uint32_t key;   /* QPN of the responder, or both ports */
	uint32_t next;  /* PSN or sequence number behind the newest */
	double number;  /* of `next`, since the first */
	bool begun;
	struct {
		uint32_t psn;
		bool used;
		double t;
	} waiting[WAITING];
};

/* An IP packet's ends and payload. */
struct packet {
	uint8_t src[16], dst[16];
	uint8_t protocol;
	uint16_t sport, dport;
	const uint8_t *data;
	uint32_t have, len;
};

static uint16_t big16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t big32(const uint8_t *at)
{
	return (uint32_t)big16(at) << 16 | big16(at + 2);
}

/* RFC 791 3.1, RFC 8200 3 without extension headers. */
static bool open_ip(const struct pcap_packet *p, struct packet *ret)
{
	uint32_t head;

	*ret = (struct packet){ .protocol = 0 };
	if (p->data[0] >> 4 == 4) {
		head = (p->data[0] & 15u) * 4;
		if (head < 20 || p->have < head)
			return false;
		ret->protocol = p->data[9];
		memset(ret->src + 10, 0xff, 2);
		memset(ret->dst + 10, 0xff, 2);
		memcpy(ret->src + 12, p->data + 12, 4);
		memcpy(ret->dst + 12, p->data + 16, 4);
	} else {
		head = 40;
		if (p->have < head)
			return false;
		ret->protocol = p->data[6];
		memcpy(ret->src, p->data + 8, 16);
		memcpy(ret->dst, p->data + 24, 16);
	}
	ret->data = p->data + head;
	ret->have = p->have - head;
	ret->len = p->len - head;
	return ret->have >= 8;
}

/* --- events --- */

static void add(struct flows *f, struct flow_event e)
{
	if (!(f->n_events & (f->n_events - 1))) {
		f->event = realloc(f->event, (f->n_events ? f->n_events * 2 : 1) * sizeof(*f->event));
		if (!f->event)
			abort();
	}
	f->event[f->n_events++] = e;
}

static void add_latency(struct flows *f, double us)
{
	if (!(f->n_latencies & (f->n_latencies - 1))) {
		f->latency = realloc(f->latency, (f->n_latencies ? f->n_latencies * 2 : 1) * sizeof(*f->latency));
		if (!f->latency)
			abort();
	}
	f->latency[f->n_latencies++] = us;
}

static int flow_of(struct flows *f, const struct packet *p, bool tcp, uint32_t key)
{
	struct flow *w;

	for (int i = 0; i < f->n_flows; i++) {
		w = &f->flow[i];
		if (w->tcp == tcp && w->key == key && !memcmp(w->src, p->src, 16) && !memcmp(w->dst, p->dst, 16))
			return i;
	}
	f->flow = realloc(f->flow, ((size_t)f->n_flows + 1) * sizeof(*f->flow));
	if (!f->flow)
		abort();
	w = &f->flow[f->n_flows];
	memset(w, 0, sizeof(*w));
	w->tcp = tcp;
	w->key = key;
	memcpy(w->src, p->src, 16);
	memcpy(w->dst, p->dst, 16);
	return f->n_flows++;
}

/* --- RoCEv2 --- */

static int32_t psn_ahead(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static enum flow_kind kind_of(uint16_t flags)
{
	return flags & WIRE_F_SEND ? FLOW_SEND : flags & WIRE_F_WRITE ? FLOW_WRITE : flags & WIRE_F_READ ? FLOW_READ :
	       flags & WIRE_F_ATOMIC ? FLOW_ATOMIC : flags & WIRE_F_ACK ? FLOW_ACK : FLOW_OTHER;
}

static void add_request(struct flows *f, const struct packet *p, double t, enum flow_kind kind, uint32_t psn)
{
	int i = flow_of(f, p, false, (uint32_t)wire_get_BTH_dest_qpn(p->data));
	struct flow *w = &f->flow[i];
	struct flow_event e = { .t = t, .kind = kind, .flow = i };
	int32_t ahead;

	if (!w->begun) {
		w->begun = true;
		w->next = psn;
	}
	ahead = psn_ahead(psn, w->next);
	e.number = w->number + ahead;
	e.repeated = ahead < 0;
	if (ahead >= 0) {
		w->number += ahead + 1;
		w->next = (psn + 1) & PSN_MASK;
	}
	if (!e.repeated) {
		w->waiting[psn % WAITING].psn = psn;
		w->waiting[psn % WAITING].t = t;
		w->waiting[psn % WAITING].used = true;
	}
	add(f, e);
}

/* The queue pair of the requester is no part of a flow's name: the flow is the one the other way round that has sent
 * this PSN lately. */
static int flow_answered(const struct flows *f, const struct packet *p, uint32_t psn)
{
	int best = -1;
	double newest = -1;

	for (int i = 0; i < f->n_flows; i++) {
		const struct flow *w = &f->flow[i];

		if (w->tcp || memcmp(w->src, p->dst, 16) != 0 || memcmp(w->dst, p->src, 16) != 0 ||
		    !w->waiting[psn % WAITING].used || w->waiting[psn % WAITING].psn != psn)
			continue;
		if (w->waiting[psn % WAITING].t > newest) {
			newest = w->waiting[psn % WAITING].t;
			best = i;
		}
	}
	return best;
}

static void add_response(struct flows *f, const struct packet *p, double t, enum flow_kind kind, uint32_t psn, bool nak)
{
	struct flow_event e = { .t = t, .kind = nak ? FLOW_NAK : kind, .flow = flow_answered(f, p, psn), .ack = true };
	struct flow *w;

	if (e.flow >= 0) {
		w = &f->flow[e.flow];
		e.number = w->number + psn_ahead(psn, w->next);
		if (!nak && w->waiting[psn % WAITING].used) {
			add_latency(f, (t - w->waiting[psn % WAITING].t) * 1e6);
			w->waiting[psn % WAITING].used = false;
		}
	}
	add(f, e);
}

static void add_roce(struct flows *f, struct packet *p, double t)
{
	const struct wire_ib_shape *shape;
	uint32_t psn;
	bool nak;

	p->data += 8;
	p->have -= 8;
	if (p->have < WIRE_BTH_LEN)
		return;
	if (wire_get_BTH_dest_qpn(p->data) == GSI) {
		add(f, (struct flow_event){ .t = t, .kind = FLOW_CM, .flow = -1 });
		return;
	}
	shape = wire_ib_shape(p->data[0]);
	psn = (uint32_t)wire_get_BTH_psn(p->data);
	nak = shape->flags & WIRE_F_ACK && p->have >= WIRE_BTH_LEN + WIRE_AETH_LEN &&
	      wire_get_AETH_syndrome(p->data + WIRE_BTH_LEN) >> 5;
	if (shape->flags & WIRE_F_RSP)
		add_response(f, p, t, kind_of(shape->flags), psn, nak);
	else
		add_request(f, p, t, kind_of(shape->flags), psn);
}

/* --- iWARP --- */

static enum flow_kind kind_of_fpdu(const uint8_t *at, uint32_t have)
{
	if (have < 4)
		return FLOW_OTHER;
	if (have >= 16 && (!memcmp(at, "MPA ID Req Frame", 16) || !memcmp(at, "MPA ID Rep Frame", 16)))
		return FLOW_CM;
	switch (wire_get_DDPTagged_opcode(at)) {
	case WIRE_IW_RDMA_WRITE: return FLOW_WRITE;
	case WIRE_IW_READ_REQUEST:
	case WIRE_IW_READ_RESPONSE: return FLOW_READ;
	case WIRE_IW_ATOMIC_REQUEST:
	case WIRE_IW_ATOMIC_RESPONSE: return FLOW_ATOMIC;
	case WIRE_IW_TERMINATE: return FLOW_NAK;
	default: return FLOW_SEND;
	}
}

/* RFC 9293 3.1. Segments without payload are TCP's own. */
static void add_tcp(struct flows *f, struct packet *p, double t)
{
	uint32_t head = p->have >= 20 ? (p->data[12] >> 4) * 4u : 0, seq, len;
	struct flow_event e = { .t = t };
	struct flow *w;

	if (head < 20 || p->len <= head || p->have < head)
		return;
	seq = big32(p->data + 4);
	len = p->len - head;
	e.flow = flow_of(f, p, true, (uint32_t)p->sport << 16 | p->dport);
	w = &f->flow[e.flow];
	if (!w->begun) {
		w->begun = true;
		w->next = seq;
	}
	e.kind = kind_of_fpdu(p->data + head, p->have - head);
	e.repeated = (int32_t)(seq - w->next) < 0;
	e.number = w->number + (int32_t)(seq - w->next);
	if (!e.repeated) {
		w->number = e.number + len;
		w->next = seq + len;
	}
	add(f, e);
}

void flows_add(struct flows *f, const struct pcap_packet *p)
{
	struct packet k;
	double t;

	if (!open_ip(p, &k) || (k.protocol != UDP && k.protocol != TCP))
		return;
	if (!f->begun)
		f->begun = p->time;
	t = ((double)p->time - (double)f->begun) / 1e9;
	k.sport = big16(k.data);
	k.dport = big16(k.data + 2);
	if (k.protocol == TCP)
		add_tcp(f, &k, t);
	else if (k.dport == ROCE_PORT)
		add_roce(f, &k, t);
}

void flows_free(struct flows *f)
{
	free(f->event);
	free(f->latency);
	free(f->flow);
	*f = (struct flows){ 0 };
}

void flows_name(const struct flows *f, int flow, char *out, size_t size)
{
	const struct flow *w = &f->flow[flow];
	char text[INET6_ADDRSTRLEN];

	if (w->tcp)
		snprintf(out, size, "port %" PRIu32 " to %" PRIu32 " at %s", w->key >> 16, w->key & 0xffff, ut_ip_text(w->dst, text));
	else
		snprintf(out, size, "to QP 0x%06" PRIx32 " at %s", w->key, ut_ip_text(w->dst, text));
}

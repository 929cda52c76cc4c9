/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "render.h"

#include "proto/ib/frame_shm.h"
#include "util/crc.h"
#include "util/ip.h"
#include "wire/ib_link.h"
#include "wire/ib_packet.h"
#include "wire/icrc.h"
#include "wire/iwarp_opcode.h"
#include "wire/mpa_fields.h"
#include "wire/mpa_fpdu.h"

#include <stdlib.h>
#include <string.h>

#define PSN_MASK 0xffffffu
#define SLOTS 8192u /* PSNs of one requester that are remembered */
#define IP4_BYTES 20u
#define IP6_BYTES 40u
#define UDP_BYTES 8u
#define TCP_BYTES 20u
#define PROTO_TCP 6
#define PROTO_UDP 17
#define TTL 64
#define TCP_FLAGS 0x18 /* ACK and PSH */
#define LIDS 1024u /* ports whose LIDs are remembered, a power of two */
#define SEGMENT 65535u /* window that is shown */

/* What became of a PSN of the local path: `n` packets from PSN `first` on. */
struct psn_slot {
	uint32_t psn, first, n;
	bool used;
};

/* The requester's side of a queue pair. */
struct requester {
	struct requester *next;
	uint8_t addr[16];
	uint32_t qpn;
	bool begun;
	uint32_t local, wire; /* the next PSN of both */
	uint32_t msn;          /* of accesses that no responder has answered */
	struct psn_slot slots[SLOTS];
};

struct direction {
	uint32_t seq;   /* octets shown */
	bool by_sender; /* its sender is observed: records of the receiver are the same octets again */
	bool framed;    /* a Request or Reply was shown */
};

struct stream {
	struct stream *next;
	uint8_t addr[2][16];
	uint16_t port[2];
	struct direction dir[2]; /* from that end */
};

#define BUCKETS 1024u

/* Of a port, by the GID in records. */
struct port_lid {
	uint8_t gid[16];
	uint16_t lid;
};

struct render {
	uint32_t mtu;
	render_emit *emit;
	void *arg;
	struct requester *requesters[BUCKETS];
	struct stream *streams[BUCKETS];
	struct port_lid lids[LIDS];
	uint8_t frame[RENDER_FRAME];
};

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* --- IP --- */

static void put16(uint8_t *at, uint32_t v)
{
	at[0] = (uint8_t)(v >> 8);
	at[1] = (uint8_t)v;
}

static uint32_t sum16(const uint8_t *p, size_t n, uint32_t sum)
{
	for (size_t i = 0; i + 1 < n; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	if (n & 1)
		sum += (uint32_t)p[n - 1] << 8;
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Writes the header of a packet with n bytes behind it. Returns its length. */
static uint32_t put_ip(uint8_t *at, const uint8_t src[16], const uint8_t dst[16], uint8_t protocol, uint8_t tos,
		       uint32_t n)
{
	if (!ut_ip_is_v4(dst)) {
		memset(at, 0, IP6_BYTES);
		at[0] = (uint8_t)(0x60 | tos >> 4);
		at[1] = (uint8_t)(tos << 4);
		put16(at + 4, n);
		at[6] = protocol;
		at[7] = TTL;
		memcpy(at + 8, src, 16);
		memcpy(at + 24, dst, 16);
		return IP6_BYTES;
	}
	memset(at, 0, IP4_BYTES);
	at[0] = 0x45;
	at[1] = tos;
	put16(at + 2, IP4_BYTES + n);
	at[6] = 0x40; /* DF */
	at[8] = TTL;
	at[9] = protocol;
	memcpy(at + 12, src + 12, 4);
	memcpy(at + 16, dst + 12, 4);
	put16(at + 10, fold(sum16(at, IP4_BYTES, 0)));
	return IP4_BYTES;
}

/* The checksum of UDP and TCP over a whole segment of n bytes. */
static uint16_t segment_sum(const uint8_t src[16], const uint8_t dst[16], uint8_t protocol, const uint8_t *at, uint32_t n)
{
	uint32_t skip = ut_ip_is_v4(dst) ? 12 : 0, sum;

	sum = sum16(src + skip, 16 - skip, 0);
	sum = sum16(dst + skip, 16 - skip, sum);
	sum = fold(sum16(at, n, sum + protocol + n));
	return sum ? (uint16_t)sum : 0xffff;
}

/* Emits the frame whose IP header and segment of which `have` of n bytes are there lie in r->frame. */
static void show(struct render *r, uint32_t ip, uint32_t have, uint32_t n, bool out, const char *note)
{
	struct render_frame f = { r->frame, ip + have, ip + n, false, out, note };

	r->emit(r->arg, &f);
}

static uint32_t ip_bytes(const uint8_t dst[16])
{
	return ut_ip_is_v4(dst) ? IP4_BYTES : IP6_BYTES;
}

/* The payload of a UDP datagram lies behind the place of its headers: `have` of n bytes. */
static void emit_udp(struct render *r, const struct obs_record *h, uint32_t have, uint32_t n, bool out, const char *note)
{
	uint32_t ip = put_ip(r->frame, h->flow.src, h->flow.dst, PROTO_UDP, h->flow.tos, UDP_BYTES + n);
	uint8_t *at = r->frame + ip;

	put16(at, h->flow.sport);
	put16(at + 2, h->flow.dport);
	put16(at + 4, UDP_BYTES + n);
	put16(at + 6, 0); /* the checksum: none, as RoCEv2 is sent by IPv4 */
	if (!ut_ip_is_v4(h->flow.dst) && have == n)
		put16(at + 6, segment_sum(h->flow.src, h->flow.dst, PROTO_UDP, at, UDP_BYTES + n));
	show(r, ip, UDP_BYTES + have, UDP_BYTES + n, out, note);
}

/* --- links of InfiniBand --- */

#define NO_PAYLOAD "not recorded payload is shown as zeros (--payload)"

static uint32_t put_link(uint8_t *at, const struct obs_record *h, uint32_t n)
{
	struct wire_link_packet p = {
		.lrh = { .sl = h->flow.sl, .slid = h->flow.slid, .dlid = h->flow.dlid, .lnh = h->flow.grh ? WIRE_LNH_GLOBAL : WIRE_LNH_LOCAL },
		.grh = { .tclass = h->flow.tos, .flow_label = h->flow.flow_label, .hop_lmt = h->flow.hop_limit }, .ib_len = n,
	};

	memcpy(p.grh.sgid, h->flow.src, 16);
	memcpy(p.grh.dgid, h->flow.dst, 16);
	return (uint32_t)wire_link_build(at, WIRE_LINK_HDRS_MAX, &p);
}

/* BTH to ICRC lies behind the place of its headers: `have` of n bytes. */
static void emit_link(struct render *r, const struct obs_record *h, uint32_t have, uint32_t n, bool out, const char *note)
{
	uint32_t hdr = put_link(r->frame, h, n);
	struct render_frame f = { r->frame, hdr + have, hdr + n + WIRE_VCRC_LEN, true, out, note };

	if (!hdr)
		return;
	/* A dissector calls a packet malformed that is shorter than its LRH says. */
	if (have < n) {
		memset(r->frame + hdr + have, 0, n - have);
		f.note = note ? note : NO_PAYLOAD;
	}
	wire_vcrc_fill(r->frame, hdr + n);
	f.have = f.len;
	r->emit(r->arg, &f);
}

static uint32_t hash(const uint8_t *addr, uint32_t n);

static void learn(struct render *r, const uint8_t gid[16], uint16_t *lid)
{
	struct port_lid *p = &r->lids[hash(gid, 0) % LIDS];

	if (!*lid && !memcmp(p->gid, gid, 16))
		*lid = p->lid;
	if (*lid) {
		memcpy(p->gid, gid, 16);
		p->lid = *lid;
	}
}

/* Messages: their receiver's records lack the LIDs, which its own messages to the same port have. */
static struct obs_record with_lids(struct render *r, const struct obs_record *h)
{
	struct obs_record n = *h;

	if (!h->flow.lids || h->kind == OBS_DATAGRAM)
		return n;
	learn(r, n.flow.src, &n.flow.slid);
	learn(r, n.flow.dst, &n.flow.dlid);
	return n;
}

/* --- packets of both --- */

static void emit_ib(struct render *r, const struct obs_record *h, uint32_t have, uint32_t n, bool out, const char *note)
{
	if (h->flow.lids)
		emit_link(r, h, have, n, out, note);
	else
		emit_udp(r, h, have, n, out, note);
}

/* The place of BTH. */
static uint8_t *packet_at(struct render *r, const struct obs_record *h)
{
	if (h->flow.lids)
		return r->frame + (h->flow.grh ? WIRE_LINK_HDRS_MAX : WIRE_LRH_LEN);
	return r->frame + ip_bytes(h->flow.dst) + UDP_BYTES;
}

static bool show_datagram(struct render *r, const struct obs_record *h, const uint8_t *bytes)
{
	uint32_t room = RENDER_FRAME - WIRE_LINK_HDRS_MAX - WIRE_VCRC_LEN, have = least(h->have, room);

	if (h->len > 65000)
		return false;
	memcpy(packet_at(r, h), bytes, have);
	emit_ib(r, h, have, h->len, h->out, NULL);
	return true;
}

/* --- PSNs --- */

static uint32_t hash(const uint8_t *addr, uint32_t n)
{
	uint32_t v = n * 2654435761u;

	for (int i = 0; i < 16; i++)
		v = (v ^ addr[i]) * 16777619u;
	return (v ^ v >> 15) % BUCKETS;
}

static struct requester *requester_of(struct render *r, const uint8_t addr[16], uint32_t qpn)
{
	struct requester **at = &r->requesters[hash(addr, qpn)], *q;

	for (q = *at; q; q = q->next)
		if (q->qpn == qpn && !memcmp(q->addr, addr, 16))
			return q;
	q = calloc(1, sizeof(*q));
	if (!q)
		abort();
	memcpy(q->addr, addr, 16);
	q->qpn = qpn;
	q->next = *at;
	*at = q;
	return q;
}

static void remember(struct requester *q, uint32_t psn, uint32_t first, uint32_t n)
{
	q->slots[psn % SLOTS] = (struct psn_slot){ .psn = psn, .first = first & PSN_MASK, .n = n, .used = true };
}

static const struct psn_slot *slot_of(const struct requester *q, uint32_t psn)
{
	const struct psn_slot *s = &q->slots[psn % SLOTS];

	return s->used && s->psn == psn ? s : NULL;
}

/* A request that takes `local` PSNs from psn on, `unit` packets each, is shown with n PSNs. Returns the first. */
static uint32_t wire_psn(struct requester *q, uint32_t psn, uint32_t local, uint32_t unit, uint32_t n)
{
	const struct psn_slot *s = slot_of(q, psn);
	uint32_t first, gap;

	if (s && s->n)
		return s->first;
	gap = (psn - q->local) & PSN_MASK;
	if (!q->begun)
		q->wire = psn;
	else if (gap < PSN_MASK / 2)
		q->wire += gap; /* the capture lacks the requests between */
	q->begun = true;
	first = q->wire & PSN_MASK;
	for (uint32_t i = 0; i < local && i < SLOTS; i++)
		remember(q, (psn + i) & PSN_MASK, first + i * unit, i + 1 < local ? unit : n - i * unit);
	q->local = (psn + local) & PSN_MASK;
	q->wire += n;
	return first;
}

/* --- packets of RoCE --- */

static uint32_t pieces(uint32_t bytes, uint32_t unit)
{
	return bytes ? (bytes + unit - 1) / unit : 1;
}

/* A message of the local path: the payload, as far as it is known. */
struct message {
	struct ibp_header h;
	uint16_t pkey; /* 0: not shown */
	const struct wire_ib_shape *shape;
	const uint8_t *payload;
	uint32_t len, have;
	uint64_t operands[2];
};

/* The opcode of packet i of n, for messages that carry payload in parts. */
static uint8_t opcode_of(const struct message *m, uint32_t i, uint32_t n)
{
	/* First, middle, last, only; with immediate, with invalidate: IBTA table 38. */
	static const uint8_t send[4] = { 0x00, 0x01, 0x02, 0x04 }, write[4] = { 0x06, 0x07, 0x08, 0x0a },
			     read[4] = { 0x0d, 0x0e, 0x0f, 0x10 };
	uint16_t f = m->shape->flags;
	bool start = (f & WIRE_F_START) && i == 0, end = (f & WIRE_F_END) && i + 1 == n;
	int at = start ? (end ? 3 : 0) : end ? 2 : 1;
	uint8_t cls = m->shape->cls, low;

	if (f & WIRE_F_ATOMIC || f & WIRE_F_ACK || !(f & WIRE_F_PAYLOAD))
		return m->h.opcode;
	low = f & WIRE_F_SEND ? send[at] : f & WIRE_F_WRITE ? write[at] : read[at];
	if (end && (f & WIRE_F_IMM))
		low++;
	if (end && (f & WIRE_F_INV))
		low = start ? 0x17 : 0x16;
	return cls | low;
}

/* Of a packet of n bytes up to its pad. */
static void put_icrc(struct render *r, const struct obs_record *h, uint8_t *at, uint32_t n)
{
	struct wire_icrc_flow flow;

	if (h->flow.lids) {
		put_link(r->frame, h, n + WIRE_ICRC_LEN);
		wire_icrc_link_fill(r->frame, (size_t)(at - r->frame) + n);
		return;
	}
	if (ut_ip_is_v4(h->flow.dst))
		wire_icrc_flow_v4(&flow, h->flow.src + 12, h->flow.dst + 12);
	else
		wire_icrc_flow_v6(&flow, h->flow.src, h->flow.dst);
	wire_icrc_fill(&flow, h->flow.sport, h->flow.dport, 0, true, at, n);
}

/* Writes a packet into the frame and emits it. from: offset of its payload in the message's. */
static void emit_packet(struct render *r, const struct obs_record *h, struct wire_ib_packet *p, const struct message *m,
			uint32_t from, uint32_t len, bool out, const char *note)
{
	uint8_t *at = packet_at(r, h);
	uint32_t have = m->have > from ? least(m->have - from, len) : 0, n;
	size_t hdr;

	p->shape = wire_ib_shape(p->opcode);
	p->pad = (uint8_t)(-len & 3);
	p->pkey = m->pkey ? m->pkey : 0xffff;
	p->migreq = true;
	hdr = wire_ib_build(at, p);
	n = (uint32_t)hdr + len + p->pad + WIRE_ICRC_LEN;
	if (have)
		memcpy(at + hdr, m->payload + from, have);
	if (have == len) {
		memset(at + hdr + len, 0, p->pad);
		put_icrc(r, h, at, (uint32_t)hdr + len + p->pad);
		have = n;
	} else {
		have += (uint32_t)hdr;
	}
	emit_ib(r, h, have, n, out, note);
}

/* Fields that each packet of a message has. */
static struct wire_ib_packet packet_of(const struct message *m)
{
	bool response = m->shape->flags & WIRE_F_RSP;
	struct wire_ib_packet p = {
		.dest_qpn = m->h.dest_qpn & PSN_MASK, .va = m->h.va, .rkey = m->h.rkey, .imm = m->h.imm,
		.syndrome = m->h.syndrome, .srqn = m->h.srqn & PSN_MASK, .se = m->h.flags & IBP_HEADER_SE,
	};

	if (response)
		p.msn = m->h.length & PSN_MASK;
	else
		p.dma_len = m->h.length;
	if (m->shape->cls == WIRE_CLASS_UD) {
		p.qkey = m->h.rkey;
		p.src_qpn = m->h.src_qpn & PSN_MASK;
	}
	if (response && (m->shape->flags & WIRE_F_ATOMIC)) {
		p.orig = m->operands[0];
	} else {
		p.swap_add = m->operands[0];
		p.compare = m->operands[1];
	}
	return p;
}

/* Source port of a local message, the same for all of a queue pair: the wire spreads connections likewise. */
static struct obs_record with_port(const struct obs_record *h, uint32_t a, uint32_t b)
{
	struct obs_record n = *h;

	n.flow.sport = (uint16_t)(0xc000 | ((a ^ b * 31) & 0x3fff));
	return n;
}

/* A datagram is one packet, whatever the MTU of connections. */
static uint32_t mtu_of(const struct render *r, const struct message *m)
{
	return m->shape->cls == WIRE_CLASS_UD ? RENDER_DATAGRAM : r->mtu;
}

static void emit_message(struct render *r, const struct obs_record *h, const struct message *m, uint32_t psn,
			 bool out, const char *note)
{
	uint32_t mtu = mtu_of(r, m), n = pieces(m->len, mtu);
	struct obs_record with = with_port(h, m->h.src_qpn, m->h.dest_qpn);

	for (uint32_t i = 0; i < n; i++) {
		struct wire_ib_packet p = packet_of(m);

		p.opcode = opcode_of(m, i, n);
		p.psn = (psn + i) & PSN_MASK;
		p.ack_req = i + 1 == n && (m->h.flags & IBP_HEADER_ASK);
		p.se &= i + 1 == n;
		emit_packet(r, &with, &p, m, i * mtu, least(m->len - i * mtu, mtu), out, note);
	}
}

/* Reads header, operands and payload of a message or access. Returns false if it is no packet. */
static bool read_message(const struct obs_record *h, const uint8_t *bytes, struct message *ret)
{
	uint32_t at = OBS_HEADER, n;

	if (h->have < OBS_HEADER || h->len < OBS_HEADER)
		return false;
	*ret = (struct message){ .h = ibp_header_get(bytes), .pkey = ibp_header_pkey(bytes) };
	ret->shape = wire_ib_shape(ret->h.opcode);
	if (!ret->shape->hdr_len || (ret->shape->cls != WIRE_CLASS_RC && ret->shape->cls != WIRE_CLASS_UC &&
				     ret->shape->cls != WIRE_CLASS_UD && ret->shape->cls != WIRE_CLASS_XRC) ||
	    ret->h.unit > IBP_UNIT || (ret->shape->cls == WIRE_CLASS_UD && h->len - at > RENDER_DATAGRAM))
		return false;
	ret->h.psn &= PSN_MASK;
	if (ret->shape->flags & WIRE_F_ATOMIC) {
		n = h->kind == OBS_ACCESS ? sizeof(ret->operands) : ibp_shm_atomic_bytes(ret->h.opcode);
		if (h->have < at + n)
			return false;
		memcpy(ret->operands, bytes + at, n);
		at += n;
	}
	ret->payload = bytes + at;
	ret->have = h->have - at;
	ret->len = h->len - at;
	return h->len >= at;
}

/* An acknowledgement from the record's source to its destination. */
static void emit_ack(struct render *r, const struct obs_record *h, const struct message *m, uint32_t psn, uint32_t msn,
		     bool out, const char *note)
{
	struct message ack = { .shape = wire_ib_shape(WIRE_RC_ACKNOWLEDGE) };

	ack.h = (struct ibp_header){ .opcode = WIRE_RC_ACKNOWLEDGE, .syndrome = WIRE_SYN_ACK | 31,
				     .src_qpn = m->h.src_qpn, .dest_qpn = m->h.dest_qpn, .length = msn };
	emit_message(r, h, &ack, psn, out, note);
}

/* The PSN of a response, by the request that it answers. */
static uint32_t response_psn(struct render *r, const struct obs_record *h, const struct message *m, uint32_t psn,
			     bool last)
{
	const struct psn_slot *s = slot_of(requester_of(r, h->flow.dst, m->h.dest_qpn & PSN_MASK), psn);

	return s ? (s->first + (last ? s->n - 1 : 0)) & PSN_MASK : psn;
}

static bool show_message(struct render *r, const struct obs_record *h, const uint8_t *bytes)
{
	struct message m;
	struct requester *q;
	uint32_t unit, local = 1, n;

	if (!read_message(h, bytes, &m))
		return false;
	if (m.h.flags & IBP_HEADER_ACKS) {
		emit_ack(r, h, &m, response_psn(r, h, &m, (uint32_t)m.h.va & PSN_MASK, true), (uint32_t)(m.h.va >> 32) &
			 PSN_MASK, h->out, "in the header of the next message");
		m.h.va = 0;
	}
	if (m.shape->flags & WIRE_F_RSP) {
		emit_message(r, h, &m, response_psn(r, h, &m, m.h.psn, !(m.shape->flags & (WIRE_F_READ | WIRE_F_ATOMIC))),
			     h->out, NULL);
		return true;
	}
	unit = 1u << m.h.unit;
	n = pieces(m.len, mtu_of(r, &m));
	if (m.shape->flags & WIRE_F_READ) {
		local = pieces(m.h.length, unit);
		n = pieces(m.h.length, r->mtu);
	}
	q = requester_of(r, h->flow.src, m.h.src_qpn & PSN_MASK);
	emit_message(r, h, &m, wire_psn(q, m.h.psn, local, unit / r->mtu ? unit / r->mtu : 1, n), h->out, NULL);
	return true;
}

/* --- accesses --- */

static struct obs_record turned(const struct obs_record *h)
{
	struct obs_record n = *h;

	memcpy(n.flow.src, h->flow.dst, 16);
	memcpy(n.flow.dst, h->flow.src, 16);
	n.flow.slid = h->flow.dlid;
	n.flow.dlid = h->flow.slid;
	return n;
}

#define NO_PACKET "not sent: the requester has executed it alone"

static void show_answer(struct render *r, const struct obs_record *h, const struct message *m, uint32_t psn, uint32_t n,
			uint32_t msn)
{
	struct obs_record back = turned(h);
	struct message a = *m;

	a.h = (struct ibp_header){ .opcode = WIRE_RC_RDMA_READ_RESPONSE_ONLY, .syndrome = WIRE_SYN_ACK | 31,
				   .src_qpn = m->h.dest_qpn, .dest_qpn = m->h.src_qpn, .length = msn };
	if (m->shape->flags & WIRE_F_WRITE) {
		emit_ack(r, &back, &a, psn + n - 1, msn, !h->out, NO_PACKET);
		return;
	}
	if (m->shape->flags & WIRE_F_ATOMIC) {
		a.h.opcode = WIRE_RC_ATOMIC_ACKNOWLEDGE;
		if (m->have >= 8)
			memcpy(&a.operands[0], m->payload, 8);
		a.len = a.have = 0;
	}
	a.shape = wire_ib_shape(a.h.opcode);
	emit_message(r, &back, &a, psn, !h->out, NO_PACKET);
}

static bool show_access(struct render *r, const struct obs_record *h, const uint8_t *bytes)
{
	struct message m, request;
	struct requester *q;
	uint32_t n, psn;

	if (!read_message(h, bytes, &m))
		return false;
	n = m.shape->flags & WIRE_F_ATOMIC ? 1 : pieces(m.h.length, r->mtu);
	q = requester_of(r, h->flow.src, m.h.src_qpn & PSN_MASK);
	if (!q->begun)
		q->wire = q->local = m.h.psn;
	q->begun = true;
	psn = q->wire & PSN_MASK;
	q->wire += n;
	request = m;
	if (m.shape->flags & WIRE_F_ATOMIC && m.h.opcode == WIRE_RC_COMPARE_SWAP) {
		/* The operands are those of the work request: compare, swap. */
		request.operands[0] = m.operands[1];
		request.operands[1] = m.operands[0];
	}
	if (!(m.shape->flags & WIRE_F_WRITE))
		request.len = request.have = 0;
	emit_message(r, h, &request, psn, h->out, NO_PACKET);
	if (m.shape->cls == WIRE_CLASS_RC)
		show_answer(r, h, &m, psn, n, ++q->msn);
	return true;
}

/* --- streams --- */

static struct stream *stream_of(struct render *r, const struct obs_record *h, int *ret_from)
{
	struct stream **at, *s;
	bool swap = h->flow.sport > h->flow.dport || (h->flow.sport == h->flow.dport && memcmp(h->flow.src, h->flow.dst, 16) > 0);
	const uint8_t *a = swap ? h->flow.dst : h->flow.src, *b = swap ? h->flow.src : h->flow.dst;
	uint16_t pa = swap ? h->flow.dport : h->flow.sport, pb = swap ? h->flow.sport : h->flow.dport;

	*ret_from = swap;
	at = &r->streams[hash(a, (uint32_t)pa << 16 | pb)];
	for (s = *at; s; s = s->next)
		if (s->port[0] == pa && s->port[1] == pb && !memcmp(s->addr[0], a, 16) && !memcmp(s->addr[1], b, 16))
			return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		abort();
	memcpy(s->addr[0], a, 16);
	memcpy(s->addr[1], b, 16);
	s->port[0] = pa;
	s->port[1] = pb;
	s->next = *at;
	*at = s;
	return s;
}

/* Octets of a segment lie behind the place of its headers: `have` of n. */
static void emit_tcp(struct render *r, const struct obs_record *h, struct stream *s, int from, uint32_t have, uint32_t n,
		     const char *note)
{
	uint32_t ip = put_ip(r->frame, h->flow.src, h->flow.dst, PROTO_TCP, h->flow.tos, TCP_BYTES + n);
	uint8_t *at = r->frame + ip;

	memset(at, 0, TCP_BYTES);
	put16(at, h->flow.sport);
	put16(at + 2, h->flow.dport);
	wire_put32(at + 4, 1 + s->dir[from].seq);
	wire_put32(at + 8, 1 + s->dir[!from].seq);
	at[12] = TCP_BYTES / 4 << 4;
	at[13] = TCP_FLAGS;
	put16(at + 14, SEGMENT);
	if (have == n)
		put16(at + 16, segment_sum(h->flow.src, h->flow.dst, PROTO_TCP, at, TCP_BYTES + n));
	s->dir[from].seq += n;
	show(r, ip, TCP_BYTES + have, TCP_BYTES + n, h->out, note);
}

static uint8_t *tcp_payload(struct render *r, const struct obs_record *h)
{
	return r->frame + ip_bytes(h->flow.dst) + TCP_BYTES;
}

/* Returns true if these octets were shown from the other end's record. */
static bool is_repeated(struct stream *s, int from, const struct obs_record *h)
{
	s->dir[from].by_sender |= h->out;
	return !h->out && s->dir[from].by_sender;
}

static bool show_frame(struct render *r, const struct obs_record *h, const uint8_t *bytes)
{
	uint8_t *at = tcp_payload(r, h);
	struct stream *s;
	int from;

	if (h->have != h->len || h->len < WIRE_MPA_LEN || h->len > WIRE_MPA_FRAME_MAX)
		return false;
	s = stream_of(r, h, &from);
	if (is_repeated(s, from, h))
		return false;
	/* A port number is used again. */
	if (s->dir[from].framed)
		s->dir[0] = s->dir[1] = (struct direction){ .by_sender = false };
	s->dir[from].framed = true;
	s->dir[from].by_sender = h->out;
	memcpy(at, bytes, h->len);
	wire_set_MPA_markers(at, 0);
	wire_set_MPA_crc(at, 1);
	emit_tcp(r, h, s, from, h->len, h->len, wire_get_MPA_markers(bytes) ? "markers are not shown" : NULL);
	return true;
}

static void invent_frame(struct render *r, const struct obs_record *h, struct stream *s, int from, const uint8_t *key)
{
	uint8_t *at = tcp_payload(r, h);

	memset(at, 0, WIRE_MPA_LEN);
	wire_set_MPA_key(at, key);
	wire_set_MPA_crc(at, 1);
	wire_set_MPA_rev(at, 1);
	s->dir[from].framed = true;
	emit_tcp(r, h, s, from, WIRE_MPA_LEN, WIRE_MPA_LEN,
		 "not sent: the connection is older than the capture, and this tells a dissector its protocol");
}

static bool show_fpdu(struct render *r, const struct obs_record *h, const uint8_t *bytes)
{
	struct obs_record back = turned(h);
	uint8_t *at = tcp_payload(r, h);
	uint32_t body, have = h->have;
	struct stream *s;
	int from;

	if (h->len < WIRE_DDPTagged_LEN || h->len > WIRE_MULPDU_MAX + 2 || h->have < 2)
		return false;
	s = stream_of(r, h, &from);
	if (is_repeated(s, from, h))
		return false;
	if (!s->dir[0].framed && !s->dir[1].framed) {
		back.flow.sport = h->flow.dport;
		back.flow.dport = h->flow.sport;
		back.out = !h->out;
		invent_frame(r, h, s, from, wire_mpa_request_key);
		invent_frame(r, &back, s, !from, wire_mpa_reply_key);
	}
	memcpy(at, bytes, have);
	body = wire_fpdu_body(h->len - 2);
	if (have == h->len) {
		memset(at + have, 0, body - have);
		wire_put_icrc(at + body, ut_crc32c(0, at, body));
		have = body + WIRE_MPA_CRC_LEN;
	}
	emit_tcp(r, h, s, from, have, body + WIRE_MPA_CRC_LEN, NULL);
	return true;
}

/* --- all --- */

struct render *render_new(uint32_t mtu, render_emit *emit, void *arg)
{
	struct render *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->mtu = mtu;
	r->emit = emit;
	r->arg = arg;
	return r;
}

void render_free(struct render *r)
{
	for (uint32_t i = 0; r && i < BUCKETS; i++) {
		struct requester *q;
		struct stream *s;

		while ((q = r->requesters[i])) {
			r->requesters[i] = q->next;
			free(q);
		}
		while ((s = r->streams[i])) {
			r->streams[i] = s->next;
			free(s);
		}
	}
	free(r);
}

bool render_record(struct render *r, const struct obs_record *record, const uint8_t *bytes)
{
	const struct obs_record with = with_lids(r, record), *h = &with;

	switch ((enum obs_kind)h->kind) {
	case OBS_DATAGRAM: return show_datagram(r, h, bytes);
	case OBS_MESSAGE: return show_message(r, h, bytes);
	case OBS_ACCESS: return show_access(r, h, bytes);
	case OBS_FPDU: return show_fpdu(r, h, bytes);
	case OBS_FRAME: return show_frame(r, h, bytes);
	case OBS_KINDS: break;
	}
	return false;
}

const char *render_way(enum obs_way way)
{
	static const char *const words[OBS_WAYS] = {
		[OBS_WIRE] = "", [OBS_RING] = "by shared memory (ring)",
		[OBS_DIRECT] = "by shared memory (direct)", [OBS_STORES] = "by shared memory (stores)",
		[OBS_PIPE] = "by shared memory (pipe)",
	};

	return way < OBS_WAYS ? words[way] : "";
}

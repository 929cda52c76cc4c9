/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A record's time is taken before a send and after a reception, so that a packet is never received before it was sent.
 * A packet that the link refuses for now (-EAGAIN) has not been sent, and comes again.
 *
 * A message without payload costs eight stores: its header goes word by word from the channel into the ring. The flow of
 * the last message is remembered, and that of others looked up.
 */
#include "observe/tap.h"

#include "host/shm/inlet.h"
#include "link/stream.h"
#include "proto/ib/frame_shm.h"
#include "util/alloc.h"
#include "util/list.h"
#include "util/reach.h"
#include "wire/ib_opcode.h"
#include "wire/iwarp_opcode.h"

#include <errno.h>
#include <stdlib.h>

#define OPERANDS 16u /* bytes of an atomic's operands */
#define BARE (uint32_t)(sizeof(struct obs_stored) + OBS_HEADER) /* a message without payload */

static struct obs_tap *tap_of(struct link_tap *t)
{
	return ut_container(t, struct obs_tap, tap);
}

static uint32_t least(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/* --- datagrams --- */

/* Returns how many bytes of a packet are kept: headers and so much of the payload as is asked for; all of a
 * management datagram. */
static uint32_t keep_of(const struct obs_tap *t, const uint8_t *data, uint32_t len)
{
	const struct wire_ib_shape *shape;

	if (len < WIRE_BTH_LEN || wire_get_BTH_dest_qpn(data) == 1)
		return len;
	shape = wire_ib_shape(data[0]);
	return least(len, (uint64_t)(shape->hdr_len ? shape->hdr_len : WIRE_BTH_LEN) + t->cfg.payload +
			  (t->cfg.payload >= len ? 4u : 0));
}

static void put_datagram(struct obs_tap *t, struct obs_record *h, const uint8_t *data, uint32_t len)
{
	struct iovec piece;

	h->kind = OBS_DATAGRAM;
	h->len = len;
	h->have = keep_of(t, data, len);
	piece = (struct iovec){ (void *)(uintptr_t)data, h->have };
	obs_ring_put(&t->ring, h, &piece, 1);
}

static struct obs_tap *tap_of_link(const struct link *l)
{
	return (struct obs_tap *)((uintptr_t)l->ops - offsetof(struct obs_tap, link_over));
}

static void put_flow(struct obs_flow *h, const struct ut_flow *f)
{
	memcpy(h->src, f->src, 16);
	memcpy(h->dst, f->dst, 16);
	h->tos = f->tos;
	if (!f->lids)
		return;
	h->lids = 1;
	h->slid = f->slid;
	h->dlid = f->dlid;
	h->sl = f->sl;
	h->grh = f->grh;
	h->hop_limit = f->ttl;
	h->flow_label = f->scope;
}

static void put_rx(struct obs_flow *h, const struct link_rx *rx)
{
	h->tos = rx->tos;
	h->sport = rx->sport;
	memcpy(h->src, rx->src, 16);
	memcpy(h->dst, rx->dst, 16);
	h->lids = rx->lids;
	h->slid = rx->slid;
	h->dlid = rx->dlid;
	h->sl = rx->sl;
	h->grh = rx->grh;
	h->hop_limit = rx->lids ? rx->ttl : 0;
	h->flow_label = rx->flow_label;
}

static int tap_send(struct link *l, const struct ut_flow *f, uint32_t qpn, const uint8_t *data, size_t len, size_t seg)
{
	struct obs_tap *t = tap_of_link(l);
	struct obs_record h = { .out = 1, .time = obs_ring_now(&t->ring), .flow.dport = l->port };
	int r = t->link_ops->send(l, f, qpn, data, len, seg);

	if (r == -EAGAIN || !t->cfg.out || !seg)
		return r;
	h.flow.sport = t->link_ops->source_port(l, f);
	put_flow(&h.flow, f);
	for (size_t off = 0; off < len; off += seg)
		put_datagram(t, &h, data + off, least(len - off, seg));
	return r;
}

static int tap_recv(struct link *l, struct link_rx *v, int max)
{
	struct obs_tap *t = tap_of_link(l);
	int n = t->link_ops->recv(l, v, max);
	struct obs_record h = { .flow.dport = l->port };

	if (n <= 0 || !t->cfg.in)
		return n;
	h.time = obs_ring_now(&t->ring);
	for (int i = 0; i < n; i++) {
		put_rx(&h.flow, &v[i]);
		put_datagram(t, &h, v[i].data, v[i].len);
	}
	return n;
}

static void tap_close(struct link *l)
{
	struct obs_tap *t = tap_of_link(l);

	l->ops = t->link_ops;
	t->link = NULL;
	l->ops->close(l);
}

void obs_tap_link(struct obs_tap *t, struct link *l)
{
	t->link = l;
	t->link_ops = l->ops;
	t->link_over = *l->ops;
	t->link_over.send = tap_send;
	t->link_over.send_after = link_default_send_after; /* both pass tap_send() */
	t->link_over.recv = tap_recv;
	t->link_over.close = tap_close;
	l->ops = &t->link_over;
}

/* --- messages --- */

static struct obs_tap *tap_of_channel(const struct shm_channel *c)
{
	return (struct obs_tap *)((uintptr_t)c->ops - offsetof(struct obs_tap, chan_over));
}

/* Returns true for a packet between queue pairs; the others are the transport's own (xrc/forward.h). */
static bool is_packet(const void *header)
{
	uint8_t unit = (uint8_t)(le64toh(obs_word_get(header, 0)) >> 8 * IBP_HEADER_UNIT_AT);

	return unit == IBP_UNIT;
}

/* Copies from pieces in memory that may be gone. Returns the bytes that are there, in order. */
static uint32_t read_pieces(uint8_t *to, uint32_t most, const struct iovec *from, int n)
{
	uint32_t got = 0;

	for (int i = 0; i < n && got < most; i++) {
		struct iovec src = { from[i].iov_base, least(from[i].iov_len, most - got) };
		struct iovec dst = { to + got, src.iov_len };

		if (ut_reach_put(&src, 1, &dst, 1) < 0)
			break;
		got += (uint32_t)src.iov_len;
	}
	return got;
}

static struct obs_flow flow_at(const struct obs_tap *t, uint32_t index)
{
	return index == OBS_FLOW_APART ? t->apart : t->ring.flows[index];
}

static void put_payload(struct obs_tap *t, uint64_t time, bool out, uint32_t flow, const void *header, const void *data,
			uint32_t bytes, uint32_t keep)
{
	struct obs_record h = { .kind = OBS_MESSAGE, .way = OBS_RING, .out = out, .time = time, .flow = flow_at(t, flow),
				.len = OBS_HEADER + bytes, .have = OBS_HEADER + keep };
	struct iovec v[2] = { { (void *)(uintptr_t)header, OBS_HEADER }, { (void *)(uintptr_t)data, keep } };

	obs_ring_put(&t->ring, &h, v, 2);
}

/* Word by word, since another process reads it or may write. */
static inline void copy_header(void *to, const void *from)
{
	_Static_assert(OBS_HEADER == 5 * 8, "it has five words");
	obs_word_put(to, 0, obs_word_get(from, 0));
	obs_word_put(to, 1, obs_word_get(from, 1));
	obs_word_put(to, 2, obs_word_get(from, 2));
	obs_word_put(to, 3, obs_word_get(from, 3));
	obs_word_put(to, 4, obs_word_get(from, 4));
}

/* header: a copy of this process. */
static inline void put_message(struct obs_tap *t, uint64_t time, bool out, uint32_t flow, const uint64_t header[OBS_HEADER / 8],
			       const void *data, uint32_t bytes)
{
	uint64_t first = le64toh(obs_word_get(header, 0));
	uint32_t keep = bytes && wire_ib_shape((uint8_t)first)->flags & WIRE_F_ATOMIC ? bytes : least(bytes, t->cfg.payload);
	uint8_t *at;

	if (keep || flow == OBS_FLOW_APART) {
		put_payload(t, time, out, flow, header, data, bytes, keep);
		return;
	}
	at = obs_ring_room(&t->ring, BARE);
	obs_ring_stamp(&t->ring, at, time, OBS_MESSAGE, OBS_RING, out, flow, OBS_HEADER + bytes, OBS_HEADER);
	copy_header(at + sizeof(struct obs_stored), header);
	obs_ring_done(&t->ring, BARE);
}

/* Between LIDs the addresses of the channel are the fabric's name, and the GUIDs of ports: as GIDs of the usual prefix. */
static void put_gids(const struct obs_tap *t, struct obs_flow *h)
{
	static const uint8_t prefix[8] = { 0xfe, 0x80 };

	h->sport = h->dport = t->port;
	if (t->port)
		return;
	h->lids = h->grh = 1;
	memcpy(h->src, prefix, sizeof(prefix));
	memcpy(h->dst, prefix, sizeof(prefix));
}

static __attribute__((noinline)) uint32_t find_flow(struct obs_tap *t, const struct obs_flow *f)
{
	uint32_t index = obs_ring_flow(&t->ring, f);

	if (index == OBS_FLOW_APART)
		t->apart = *f;
	return index;
}

static inline uint32_t flow_sent(struct obs_tap *t, const struct ut_flow *f)
{
	struct obs_flow n = { .sport = 0 };

	if (t->sent_flow != OBS_FLOW_APART && !memcmp(&t->sent, f, sizeof(*f)))
		return t->sent_flow;
	put_flow(&n, f);
	put_gids(t, &n);
	t->sent = *f;
	t->sent_flow = find_flow(t, &n);
	return t->sent_flow;
}

static inline uint32_t flow_received(struct obs_tap *t, const uint8_t src[16], const uint8_t dst[16])
{
	struct obs_flow n = { .sport = 0 };

	if (t->received_flow != OBS_FLOW_APART && !memcmp(t->received, src, 16) && !memcmp(t->received + 16, dst, 16))
		return t->received_flow;
	memcpy(n.src, src, 16);
	memcpy(n.dst, dst, 16);
	put_gids(t, &n);
	memcpy(t->received, src, 16);
	memcpy(t->received + 16, dst, 16);
	t->received_flow = find_flow(t, &n);
	return t->received_flow;
}

static inline void put_sent(struct obs_tap *t, uint64_t time, const struct ut_flow *f, const uint64_t *header, const void *data,
			    uint32_t bytes)
{
	if (t->cfg.out && is_packet(header))
		put_message(t, time, true, flow_sent(t, f), header, data, bytes);
}

static int tap_reserve(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, uint32_t bytes,
		       struct shm_reservation *ret)
{
	struct obs_tap *t = tap_of_channel(c);

	t->flow = *f;
	return t->chan_ops->reserve(c, f, qpn, bytes, ret);
}

/* Before it leaves: the room may be another message's afterwards. */
static void tap_commit(struct shm_channel *c, struct shm_reservation *at, uint32_t bytes)
{
	struct obs_tap *t = tap_of_channel(c);

	t->sent_at = obs_ring_now(&t->ring);
	put_sent(t, t->sent_at, &t->flow, (const uint64_t *)(const void *)at->header, at->data, bytes);
	t->chan_ops->commit(c, at, bytes);
}

static bool tap_lane(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, struct shm_lane *ret)
{
	struct obs_tap *t = tap_of_channel(c);

	if (!t->chan_ops->lane(c, f, qpn, ret))
		return false;
	if (t->cfg.out)
		ret->epoch |= SHM_LANE_WATCHED;
	return true;
}

/* Messages that leave together have one time: to read it takes as long as a third of the record. The first of them may have been committed in
 * another way, or before the capture began. */
static void tap_watch(struct shm_channel *c, const struct ut_flow *f, const uint8_t *header, const uint8_t *data, uint32_t bytes,
		      bool follows)
{
	struct obs_tap *t = tap_of_channel(c);

	if (!follows || !t->sent_at)
		t->sent_at = obs_ring_now(&t->ring);
	put_sent(t, t->sent_at, f, (const uint64_t *)(const void *)header, data, bytes);
}

/* bytes: behind the header. */
static inline void put_received(struct obs_tap *t, uint64_t time, const uint8_t src[16], const uint8_t dst[16], const uint8_t *at,
				uint32_t bytes)
{
	uint64_t header[OBS_HEADER / 8];

	/* The peer process may still write. */
	copy_header(header, at);
	if (is_packet(header))
		put_message(t, time, false, flow_received(t, src, dst), header, at + OBS_HEADER, bytes);
}

static int tap_poll(struct shm_channel *c, struct shm_message *v, int max)
{
	struct obs_tap *t = tap_of_channel(c);
	int n = t->chan_ops->poll(c, v, max);
	uint64_t time;

	if (n <= 0 || !t->cfg.in)
		return n;
	time = obs_ring_now(&t->ring);
	for (int i = 0; i < n; i++)
		if (v[i].len >= OBS_HEADER)
			put_received(t, time, v[i].src, v[i].dst, v[i].data, v[i].len - OBS_HEADER);
	return n;
}

static bool tap_inlets(struct shm_channel *c, struct shm_inlets *ret)
{
	struct obs_tap *t = tap_of_channel(c);

	t->heard = NULL;
	if (!t->chan_ops->inlets(c, ret))
		return false;
	if (t->cfg.in)
		ret->epoch |= SHM_LANE_WATCHED;
	return true;
}

static void tap_hear(struct shm_channel *c, const struct shm_inlet *in, const uint8_t *header, uint32_t bytes)
{
	struct obs_tap *t = tap_of_channel(c);

	/* Those that one look at the tail has found have one time, too. */
	if (in->ring != t->heard || in->ring->seen != t->heard_seen) {
		t->heard = in->ring;
		t->heard_seen = in->ring->seen;
		t->heard_at = obs_ring_now(&t->ring);
	}
	put_received(t, t->heard_at, in->src, in->dst, header, bytes);
}

void obs_tap_channel(struct obs_tap *t, struct shm_channel *c)
{
	if (shm_channel_is_none(c))
		return;
	t->chan = c;
	t->chan_ops = c->ops;
	t->chan_over = *c->ops;
	t->chan_over.lane = tap_lane;
	t->chan_over.watch = tap_watch;
	t->chan_over.reserve = tap_reserve;
	t->chan_over.commit = tap_commit;
	t->chan_over.poll = tap_poll;
	t->chan_over.inlets = tap_inlets;
	t->chan_over.hear = tap_hear;
	c->ops = &t->chan_over;
	shm_channel_end_lanes(c);
}

void obs_tap_leave(struct obs_tap *t)
{
	if (t->link)
		t->link->ops = t->link_ops;
	if (t->chan) {
		t->chan->ops = t->chan_ops;
		shm_channel_end_lanes(t->chan);
	}
	t->link = NULL;
	t->chan = NULL;
}

/* --- direct accesses --- */

static void access_done(struct link_tap *tap, const struct link_tap_access *x)
{
	struct obs_tap *t = tap_of(tap);
	struct obs_record h = { .kind = OBS_ACCESS, .out = 1, .time = obs_ring_now(&t->ring),
				.way = x->stores ? OBS_STORES : OBS_DIRECT };
	uint64_t operands[2] = { x->compare_add, x->swap };
	uint32_t n = x->atomic ? OPERANDS : 0, most = least(x->length, x->atomic ? 8 : least(t->cfg.payload, OBS_COPY));
	struct iovec v[3] = { { (void *)(uintptr_t)x->header, OBS_HEADER }, { operands, n }, { t->copy, 0 } };

	if (!t->cfg.out)
		return;
	v[2].iov_len = read_pieces(t->copy, most, x->data, x->n_data);
	put_flow(&h.flow, x->flow);
	put_gids(t, &h.flow);
	h.len = OBS_HEADER + n + x->length;
	h.have = OBS_HEADER + n + (uint32_t)v[2].iov_len;
	obs_ring_put(&t->ring, &h, v, 3);
}

/* --- streams --- */

static struct obs_record of_stream(const struct obs_tap *t, const struct link_stream *s, bool out)
{
	const struct link_end *from = out ? &s->local : &s->remote, *to = out ? &s->remote : &s->local;
	struct obs_record h = { .out = out, .way = s->shm ? OBS_PIPE : OBS_WIRE, .time = obs_ring_now(&t->ring),
				.flow.sport = from->port, .flow.dport = to->port };

	memcpy(h.flow.src, from->addr, 16);
	memcpy(h.flow.dst, to->addr, 16);
	return h;
}

static void fpdu(struct link_tap *tap, const struct link_stream *s, bool out, uint32_t qpn, const uint8_t *data,
		 uint32_t have, uint32_t len)
{
	struct obs_tap *t = tap_of(tap);
	struct obs_record h = of_stream(t, s, out);
	struct iovec piece = { (void *)(uintptr_t)data, 0 };
	bool payload = have > 3 && wire_iwarp_shape(wire_get_DDPTagged_opcode(data))->flags & WIRE_IWF_PAYLOAD;
	uint32_t head = have && wire_get_DDPTagged_tagged(data) ? WIRE_DDPTagged_LEN : WIRE_DDPUntagged_LEN;

	if (out ? !t->cfg.out : !t->cfg.in)
		return;
	h.kind = OBS_FPDU;
	h.flow.qpn = qpn;
	h.len = len;
	h.have = payload ? least(have, (uint64_t)head + t->cfg.payload) : have;
	piece.iov_len = h.have;
	obs_ring_put(&t->ring, &h, &piece, 1);
}

static void frame(struct link_tap *tap, const struct link_stream *s, bool out, const uint8_t *data, uint32_t len)
{
	struct obs_tap *t = tap_of(tap);
	struct obs_record h = of_stream(t, s, out);
	struct iovec piece = { (void *)(uintptr_t)data, len };

	if (out ? !t->cfg.out : !t->cfg.in)
		return;
	h.kind = OBS_FRAME;
	h.len = h.have = len;
	obs_ring_put(&t->ring, &h, &piece, 1);
}

/* --- life --- */

int obs_tap_make(struct obs_tap **ret, const struct obs_config *cfg, const char *adapter)
{
	struct obs_tap *t = ut_zalloc(sizeof(*t));
	int fd;

	if (!t)
		return -ENOMEM;
	t->cfg = *cfg;
	t->sent_flow = t->received_flow = OBS_FLOW_APART;
	t->copy = ut_malloc(OBS_COPY);
	if (!t->copy) {
		free(t);
		return -ENOMEM;
	}
	t->tap = (struct link_tap){ .fpdu = fpdu, .frame = frame, .access = access_done };
	fd = obs_ring_make(&t->ring, cfg->ring_bytes, adapter);
	if (fd < 0) {
		free(t->copy);
		free(t);
		return fd;
	}
	*ret = t;
	return fd;
}

void obs_tap_free(struct obs_tap *t)
{
	obs_ring_free(&t->ring);
	free(t->copy);
	free(t);
}

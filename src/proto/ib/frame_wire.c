/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/frame_wire.h"

#include "proto/ib/requester.h"
#include "proto/ib/responder.h"
#include "proto/ib/show.h"
#include "wire/ib_fields.h"

#include <errno.h>
#include <string.h>

#define ASK_PAGES 512u /* gather lists with fewer bytes left are left to ut_stage_gather_user() */

static const uint8_t zeros[8]; /* pad and room for the ICRC, as the last piece of a packet */

#define IBP_PAGE 4096u /* the smallest packet */

uint32_t ibp_packet_size(const struct wire_ib_shape *shape, uint32_t payload)
{
	return shape->hdr_len + ((payload + 3) & ~3u) + 4;
}

size_t ibp_scratch(struct ibp_port *port, uint8_t **ret)
{
	size_t off = port->train.stage.size - 64;

	*ret = port->train.stage.base + off;
	return off;
}

static bool holds(const struct ibp_port *port, const struct ibp_qp *q)
{
	const struct ibp_train *t = &port->train;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->of[i] == q)
			return true;
	return false;
}

static bool reliable(const struct ibp_qp *q)
{
	return q->cls == WIRE_CLASS_RC || q->cls == WIRE_CLASS_XRC;
}

/*
 * The kernel gives a whole train to the process that its first packet is for: the upper bits of a
 * QPN name that process. Unreliable services share no train, since their requests complete when the
 * train has left.
 */
static bool same_way(const struct ibp_port *port, const struct ibp_qp *q, const struct ibp_qp *with)
{
	const struct ibp_train *t = &port->train;
	uint32_t differ = q->qp->attr.dest_qp_num ^ with->qp->attr.dest_qp_num;

	if (q == with)
		return true;
	eng_dev_held(port->dev);
	return reliable(q) && reliable(with) && !(differ & ~port->dev->qpn_mask) &&
	       !memcmp(&q->conn.path.flow, &t->path.flow, sizeof(t->path.flow));
}

static uint32_t most_packets(const struct ibp_port *port)
{
	return port->link->train_packets < IBP_TRAIN_PACKETS ? port->link->train_packets : IBP_TRAIN_PACKETS;
}

static uint32_t most_bytes(const struct ibp_port *port)
{
	return port->link->train_bytes < IBP_TRAIN_BYTES ? (uint32_t)port->link->train_bytes : IBP_TRAIN_BYTES;
}

uint32_t ibp_train_packets(const struct ibp_port *port, uint32_t size)
{
	uint32_t n = most_bytes(port) / size;

	return n < most_packets(port) ? n : most_packets(port);
}

static bool joins(const struct ibp_port *port, const struct ibp_qp *q, bool response,
		  uint32_t size)
{
	const struct ibp_train *t = &port->train;

	/* An acknowledgement may follow requests; but a train whose memory cannot be read must
	 * concern requests alone, or answers alone. */
	if (response != t->response && (!response || size > 64))
		return false;
	return !t->closed && size <= t->seg && t->n < most_packets(port) && t->len + size <= most_bytes(port) &&
	       t->n_iov < IBP_IOV - 80 && same_way(port, q, t->of[t->n - 1]);
}

bool ibp_train_has_room(const struct ibp_port *port, const struct ibp_qp *q, bool response)
{
	const struct ibp_train *t = &port->train;

	return t->n && t->of[t->n - 1] == q && !t->waiting && joins(port, q, response, t->seg);
}

bool ibp_train_ends_turn(const struct ibp_qp *q, bool response, uint32_t sent, uint32_t budget)
{
	return sent >= budget && (sent >= 2 * budget || !ibp_train_has_room(q->port, q, response));
}

/* What is ahead of the train stays. */
static void empty(struct ibp_train *t)
{
	t->len = t->seg = t->n = 0;
	t->closed = t->user = t->waiting = t->ready = false;
	t->n_iov = t->n_spans = 0;
}

/* Sets an acknowledgement that is alone in the train aside, so that it leaves with a request of the same queue pair. Returns
 * false if there is none. */
static bool put_ahead(struct ibp_port *port, const struct ibp_qp *q, bool response)
{
	struct ibp_train *t = &port->train;

	if (response || !t->response || !t->ready || t->n != 1 || t->len != IBP_ACK_BYTES || t->of[0] != q ||
	    t->has_ahead || memcmp(&q->conn.path.flow, &t->path.flow, sizeof(t->path.flow)))
		return false;
	memcpy(t->ahead, t->stage.base, IBP_ACK_BYTES);
	t->has_ahead = true;
	empty(t);
	return true;
}

/* Returns true if a packet of this queue pair cannot be added before what is there has left. */
static bool must_leave(const struct ibp_port *port, const struct ibp_qp *q, bool response, uint32_t size)
{
	const struct ibp_train *t = &port->train;

	return t->waiting || (t->n ? !joins(port, q, response, size) : t->has_ahead);
}

static void take_path(struct ibp_train *t, const struct ibp_path *path)
{
	if (!memcmp(&t->path.flow, &path->flow, sizeof(path->flow)))
		return;
	t->path = *path;
	memset(t->memo, 0, sizeof(t->memo));
}

static struct iovec *begin(struct ibp_qp *q, bool response, uint32_t size, int *max)
{
	enum ibv_qp_state before = eng_qp_state(q->qp);
	struct ibp_port *port = q->port;
	struct ibp_train *t = &port->train;

	if (must_leave(port, q, response, size) && (t->waiting || !put_ahead(port, q, response)))
		ibp_train_flush(port);
	/* The flush may have found a fault of this very queue pair. */
	if (t->waiting || eng_qp_state(q->qp) != before)
		return NULL;
	if (!t->n) {
		take_path(t, &q->conn.path);
		t->response = response;
		t->seg = size;
	}
	t->of[t->n] = q;
	t->iov_at[t->n] = t->n_iov;
	*max = IBP_IOV - t->n_iov;
	return &t->iov[t->n_iov + 1]; /* the header comes before the pieces */
}

/* Adds whole pages; adjoining ones are one span, so that many small buffers are few spans. */
static void add_span(struct ibp_train *t, const struct iovec *v)
{
	struct iovec *last = t->n_spans ? &t->spans[t->n_spans - 1] : NULL;
	uintptr_t from = (uintptr_t)v->iov_base & ~(uintptr_t)(IBP_PAGE - 1);
	uintptr_t end = ((uintptr_t)v->iov_base + v->iov_len + IBP_PAGE - 1) &
			~(uintptr_t)(IBP_PAGE - 1);
	uintptr_t at = last ? (uintptr_t)last->iov_base : 0;

	if (t->n_spans > IBP_SPANS)
		return;
	if (last && from >= at && from <= at + last->iov_len) {
		if (end > at + last->iov_len)
			last->iov_len = end - at;
	} else if (t->n_spans++ < IBP_SPANS) {
		t->spans[t->n_spans - 1] = (struct iovec){ (void *)from, end - from };
	}
}

static uint16_t source_port(const struct ibp_port *port)
{
	return port->link->ops->source_port(port->link, &port->train.path.flow);
}

static void put_icrc(const struct ibp_port *port, struct ibp_train *t, uint16_t sport, uint32_t i)
{
	uint32_t off = i * t->seg, size = t->len - off < t->seg ? t->len - off : t->seg;
	uint8_t *at = t->stage.base + off;

	wire_put_icrc(at + size - 4, wire_icrc_again(&t->path.icrc, &t->memo[size != IBP_ACK_BYTES], sport,
						     port->link->port, (uint16_t)i, at, size - 4));
}

/* The packet is in the stage up to its pad: adds pad and ICRC, and counts it to the train. */
void ibp_train_add(struct ibp_port *port, uint8_t *at, size_t len, unsigned pad)
{
	struct ibp_train *t = &port->train;

	memset(at + len, 0, pad);
	t->len += (uint32_t)(len + pad + 4);
	put_icrc(port, t, t->sport, t->n);
	t->closed = t->len < ++t->n * t->seg;
	port->sent++;
}

/* An empty train for packets that are put together at once, as begin() and begin_train() would make it. */
static bool open_ready(struct ibp_port *port, const struct ibp_qp *q, uint32_t size)
{
	struct ibp_train *t = &port->train;

	if (t->waiting || size > ASK_PAGES || (t->has_ahead && memcmp(&t->path.flow, &q->conn.path.flow, sizeof(t->path.flow))))
		return false;
	t->stage.pages_checked_at = port->link->rx_stage->pages_checked_at;
	if (!t->stage.pages_checked_at)
		return false;
	take_path(t, &q->conn.path);
	t->sport = source_port(port);
	t->response = false;
	t->ready = true;
	t->seg = size;
	return true;
}

bool ibp_train_put_ahead(struct ibp_qp *q, uint8_t syndrome, uint32_t psn)
{
	struct ibp_port *port = q->port;
	struct ibp_train *t = &port->train;
	struct wire_ib_packet p = {
		.opcode = WIRE_RC_ACKNOWLEDGE, .psn = psn, .pkey = q->conn.pkey, .migreq = true,
		.dest_qpn = q->qp->attr.dest_qp_num, .syndrome = syndrome, .msn = q->conn.resp.msn,
	};
	size_t n;

	if (t->n || t->waiting || t->has_ahead)
		return false;
	take_path(t, &q->conn.path);
	n = wire_ib_build(t->ahead, &p);
	wire_put_icrc(t->ahead + n, wire_icrc_again(&t->path.icrc, &t->memo[0], source_port(port), port->link->port, 0,
						    t->ahead, n));
	t->has_ahead = true;
	ibp_show_sent(q, 0, IBP_BY_WIRE);
	return true;
}

uint8_t *ibp_train_room(struct ibp_port *port, struct ibp_qp *q, uint32_t size)
{
	struct ibp_train *t = &port->train;

	if (!t->n ? !open_ready(port, q, size) : !t->ready || t->waiting || t->response || !joins(port, q, false, size))
		return NULL;
	t->of[t->n] = q;
	return t->stage.base + (size_t)t->n * t->seg;
}

static int copy_now(struct ibp_port *port, const struct wire_ib_packet *p, int n, bool user)
{
	struct ibp_train *t = &port->train;
	size_t off = (size_t)t->n * t->seg, hdr = wire_ib_build(t->stage.base + off, p);
	const struct iovec *v = &t->iov[1];

	if (n && !user) {
		memcpy(t->stage.base + off + hdr, v->iov_base, v->iov_len);
	} else if (n && ut_stage_gather_user(&t->stage, off + hdr, v, n) != (ssize_t)p->payload_len) {
		ibp_count(port, ENG_C_tx_faults);
		return -EFAULT;
	}
	ibp_train_add(port, t->stage.base + off, hdr + p->payload_len, p->pad);
	return 0;
}

static void put_named(struct ibp_port *port, const struct wire_ib_packet *p, int n, bool user)
{
	struct ibp_train *t = &port->train;
	struct iovec *head = &t->iov[t->n_iov], *tail = head + 1 + n;
	size_t hdr = wire_ib_build(t->head[t->n], p);
	uint32_t size = (uint32_t)hdr + p->payload_len + p->pad + 4;

	*head = (struct iovec){ t->head[t->n], hdr };
	*tail = (struct iovec){ (void *)zeros, p->pad + 4u };
	t->psn[t->n] = p->psn;
	for (int i = 1; user && i <= n; i++)
		add_span(t, &head[i]);
	t->n_iov += n + 2;
	t->n++;
	t->len += size;
	t->user |= user;
	t->closed = size < t->seg;
	port->sent++;
}

void ibp_train_add_alike(struct ibp_qp *q, uint32_t psn, bool ack_req, const struct iovec *payload)
{
	struct ibp_port *port = q->port;
	struct ibp_train *t = &port->train;
	struct iovec *v = &t->iov[t->n_iov];
	size_t hdr = t->iov[t->iov_at[t->n - 1]].iov_len;

	memcpy(t->head[t->n], t->head[t->n - 1], hdr);
	wire_set_BTH_psn(t->head[t->n], psn);
	wire_set_BTH_ack_req(t->head[t->n], ack_req);
	v[0] = (struct iovec){ t->head[t->n], hdr };
	v[1] = *payload;
	v[2] = (struct iovec){ (void *)zeros, 4 };
	add_span(t, payload);
	t->of[t->n] = q;
	t->psn[t->n] = psn;
	t->iov_at[t->n++] = t->n_iov;
	t->n_iov += 3;
	t->len += t->seg;
	port->sent++;
	ibp_show_sent(q, (uint32_t)payload->iov_len, IBP_BY_WIRE);
}

/*
 * Small messages are read at once, which in a thread of the application needs the kernel only for
 * pages that were not touched lately; then no fault is possible later. For long ones, whatever
 * their packets, one question for the whole train is better.
 */
static void begin_train(struct ibp_port *port, const struct wire_ib_packet *p, bool user)
{
	struct ibp_train *t = &port->train;

	t->stage.pages_checked_at = port->link->rx_stage->pages_checked_at;
	t->ready = !user || (t->stage.pages_checked_at && p->payload_len <= ASK_PAGES &&
			     wire_ib_shape(p->opcode)->flags & WIRE_F_ONLY);
	if (t->ready)
		t->sport = source_port(port);
}

static int end(struct ibp_qp *q, const struct wire_ib_packet *p, int n, bool user)
{
	struct ibp_port *port = q->port;
	struct ibp_train *t = &port->train;

	ibp_show_sent(q, p->payload_len, IBP_BY_WIRE);
	if (!t->n)
		begin_train(port, p, user);
	if (t->ready)
		return copy_now(port, p, n, user);
	put_named(port, p, n, user);
	return 0;
}

/* --- leaving --- */

#define IBP_COPY_SUMMED 512u /* bytes from which on copy and checksum in one pass pay */

static void put_icrcs(const struct ibp_port *port, struct ibp_train *t, uint32_t n)
{
	uint16_t sport = source_port(port);

	for (uint32_t i = 0; i < n; i++)
		put_icrc(port, t, sport, i);
}

/* By plain loads: header, payload in one piece (the rule for whole packets) and pad. */
static void copy_packet(const struct ibp_port *port, struct ibp_train *t, uint16_t sport,
			uint32_t i, const struct iovec *v)
{
	uint8_t *at = t->stage.base + (size_t)i * t->seg;

	memcpy(at, v[0].iov_base, v[0].iov_len);
	wire_icrc_copy(&t->path.icrc, &t->memo[1], sport, port->link->port, (uint16_t)i, at, v[0].iov_len, v[1].iov_base,
		       v[1].iov_len, v[2].iov_len - 4);
}

/* By plain loads, any number of pieces. Returns how many pieces were present. */
static int copy_pieces(const struct ibp_port *port, struct ibp_train *t, uint16_t sport,
		       uint32_t i, const struct iovec *v)
{
	uint8_t *at = t->stage.base + (size_t)i * t->seg;
	int n = 0;

	do {
		memcpy(at, v[n].iov_base, v[n].iov_len);
		at += v[n].iov_len;
	} while (v[n++].iov_base != zeros); /* the last piece of a packet */
	put_icrc(port, t, sport, i);
	return n;
}

static void fill_plainly(const struct ibp_port *port, struct ibp_train *t)
{
	uint16_t sport = source_port(port);
	const struct iovec *v = t->iov;

	for (uint32_t i = 0; i < t->n; i++) {
		if (v[1].iov_len >= IBP_COPY_SUMMED && v[2].iov_base == zeros) {
			copy_packet(port, t, sport, i, v);
			v += 3;
		} else {
			v += copy_pieces(port, t, sport, i, v);
		}
	}
}

/*
 * Returns true if this thread may load from the application's memory itself: memory of a request, or of a region that a peer
 * reads. In a thread of the application none of its pages is unmapped between the question and the copy, except by a program
 * that unmaps memory in use. The background thread leaves it to the kernel.
 */
static bool plain(struct ibp_train *t)
{
	return !t->user || (t->len > ASK_PAGES && t->n_spans <= IBP_SPANS &&
			    ut_stage_may_load(&t->stage, t->spans, t->n_spans));
}

/* Copies the pieces into the stage and puts the ICRCs. Returns the bytes that could be read. */
static size_t fill(const struct ibp_port *port, struct ibp_train *t)
{
	ssize_t r;

	if (plain(t)) {
		fill_plainly(port, t);
		return t->len;
	}
	r = ut_stage_gather_user(&t->stage, 0, t->iov, t->n_iov);
	if (r == (ssize_t)t->len)
		put_icrcs(port, t, t->n);
	return r < 0 ? 0 : (size_t)r;
}

/* Packet `bad` could not be read: it and the packets of its queue pair behind it are dropped; those
 * of other queue pairs leave. */
static void keep_behind(struct ibp_train *t, uint32_t bad)
{
	const struct ibp_qp *q = t->of[bad];
	uint32_t n = t->n, seg = t->seg;
	int end = t->n_iov, next;

	empty(t);
	t->seg = seg;
	t->user = true;
	t->n_spans = IBP_SPANS + 1;
	for (uint32_t i = bad + 1; i < n; i++) {
		struct iovec *to = &t->iov[t->n_iov];

		next = i + 1 < n ? t->iov_at[i + 1] : end;
		if (t->of[i] == q)
			continue;
		for (int k = t->iov_at[i]; k < next; k++, to++) {
			*to = t->iov[k];
			t->len += (uint32_t)to->iov_len;
		}
		to = &t->iov[t->n_iov];
		memmove(t->head[t->n], t->head[i], to->iov_len);
		to->iov_base = t->head[t->n];
		t->of[t->n] = t->of[i];
		t->psn[t->n] = t->psn[i];
		t->iov_at[t->n++] = t->n_iov;
		t->n_iov += next - t->iov_at[i];
	}
}

/*
 * A response goes the way that is open now: its request has come, so the peer does not wait for a better one, and this
 * process may leave with the message by _exit() before that is known.
 */
static int send_packets(struct ibp_port *port, bool response, const uint8_t *at, uint32_t len, uint32_t seg)
{
	struct link *l = port->link;
	bool leaving = l->leaving;
	int r;

	l->leaving |= response;
	r = l->ops->send(l, &port->train.path.flow, (uint32_t)wire_get_BTH_dest_qpn(at), at, len, seg);
	l->leaving = leaving;
	return r;
}

/* What is ahead, then the train, if any of it is to leave. */
static int send_ahead(struct ibp_port *port, uint32_t len)
{
	struct ibp_train *t = &port->train;
	struct iovec ahead = { t->ahead, IBP_ACK_BYTES };
	struct link *l = port->link;
	int r;

	eng_dev_held(port->dev);
	r = len ? l->ops->send_after(l, &ahead, &t->path.flow, (uint32_t)wire_get_BTH_dest_qpn(t->ahead), t->stage.base,
				     len, t->seg)
		: send_packets(port, true, t->ahead, IBP_ACK_BYTES, IBP_ACK_BYTES);
	if (r == -EAGAIN)
		return r;
	t->has_ahead = false;
	port->dev->counters[ENG_C_tx_pkts]++;
	port->dev->counters[ENG_C_tx_bytes] += IBP_ACK_BYTES;
	return r == LINK_FIRST_LEFT ? -EAGAIN : r;
}

/* Returns 0, or -EAGAIN if the train waits for the socket. */
static int put_out(struct ibp_port *port, uint32_t n, uint32_t len)
{
	struct eng_dev *dev = port->dev;
	struct ibp_train *t = &port->train;
	int r = 0;

	eng_dev_held(dev);
	if (t->has_ahead)
		r = send_ahead(port, len);
	else if (n)
		r = send_packets(port, t->response, t->stage.base, len, t->seg);
	if (r == -EAGAIN) {
		t->waiting = port->blocked = true;
		t->n = n;
		t->len = len;
		return r;
	}
	if (r < 0)
		ibp_count(port, ENG_C_tx_faults);
	dev->counters[ENG_C_tx_pkts] += n;
	dev->counters[ENG_C_tx_bytes] += len;
	return 0;
}

/* One packet could not be read: those before it leave, those behind it are the train. */
static void part(struct ibp_port *port, size_t good)
{
	struct ibp_train *t = &port->train;
	uint32_t bad = (uint32_t)(good / t->seg), psn = t->psn[bad];
	struct ibp_qp *faulty = t->of[bad];
	bool response = t->response;

	ibp_count(port, ENG_C_tx_faults);
	put_icrcs(port, t, bad);
	if (put_out(port, bad, bad * t->seg) == 0)
		keep_behind(t, bad);
	/* Last, since the queue pair may fail and flush trains of its own. */
	if (response)
		ibp_resp_fault(faulty, psn);
	else
		ibp_req_fault(faulty, psn);
}

void ibp_train_flush(struct ibp_port *port)
{
	struct ibp_train *t = &port->train;

	if ((t->waiting || (t->has_ahead && !t->n)) && put_out(port, t->n, t->len) == 0)
		empty(t);
	while (t->n && !t->waiting) {
		size_t got = t->ready ? t->len : fill(port, t);

		if (got < t->len)
			part(port, got);
		else if (put_out(port, t->n, t->len) == 0)
			empty(t);
	}
}

void ibp_train_leave(struct ibp_port *port, const struct ibp_qp *q)
{
	struct ibp_train *t = &port->train;
	bool others = false;

	if (!holds(port, q))
		return;
	ibp_train_flush(port);
	/* Packets that wait for the socket keep their place; those of other queue pairs keep
	 * theirs. */
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->of[i] == q)
			t->of[i] = NULL;
		others |= t->of[i] != NULL;
	}
	if (!others)
		empty(t);
}

/* --- checks of datagrams --- */

bool ibp_icrc_matches(struct ibp_port *port, struct ibp_qp *q, const struct link_rx *rx)
{
	struct wire_icrc_memo none = { 0 }, *memo = &none;
	struct wire_icrc_flow local;
	const struct wire_icrc_flow *flow = &local;
	bool connected = q && q->qp->type != IBV_QPT_UD, good;
	struct ibp_ident *peer = connected ? &q->conn.ident : ibp_ident_of(&port->idents, rx->src);
	uint16_t id = ibp_ident_counts(peer) ? (uint16_t)(peer->last + 1) : rx->seg;

	/* Without a GRH the ICRC covers the service level, which the peer chooses. */
	if (connected && (!rx->lids || rx->grh || rx->sl == q->conn.path.flow.sl)) {
		flow = &q->conn.rx_icrc;
		memo = &q->conn.rx_memo[rx->len != IBP_ACK_BYTES];
	} else {
		ibp_icrc_of(&local, rx);
	}
	good = wire_icrc_check(flow, memo, rx->sport, port->link->port, rx->data, rx->len, &id) == 0;
	if (good && !rx->lids && ut_ip_is_v4(rx->dst))
		good = ibp_ident_fits(peer, id, port->now);
	if (!good)
		ibp_count(port, ENG_C_rx_icrc_errors);
	return good;
}

static bool has_ports(const struct ibp_qp *q)
{
	return q->qp->type != IBV_QPT_UD && !q->conn.path.flow.lids;
}

static bool admits(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	if (q->qp->type != IBV_QPT_UD && !ibp_path_admits(&q->conn.path, rx)) {
		ibp_count(q->port, ENG_C_rx_bad_source);
		return false;
	}
	if (!eng_pkey_matches(q->conn.pkey, p->pkey)) {
		ibp_count(q->port, ENG_C_rx_bad_pkey);
		return false;
	}
	if (rx->sport != q->conn.sport.known && has_ports(q))
		return ibp_sport_admits(q, p, rx);
	return ibp_icrc_matches(q->port, q, rx);
}

/* --- the framing --- */

int ibp_train_init(struct ibp_port *port)
{
	return ut_stage_init(&port->train.stage, IBP_TRAIN_BYTES + 4096);
}

void ibp_train_fini(struct ibp_port *port)
{
	ut_stage_fini(&port->train.stage);
}

static bool acknowledge(struct ibp_qp *q, uint32_t psn)
{
	(void)q;
	(void)psn;
	return false;
}

static bool unread(struct ibp_qp *q, bool *ret_busy)
{
	(void)q;
	*ret_busy = false;
	return false;
}

static uint32_t unit(const struct ibp_qp *q)
{
	return q->conn.mtu;
}

const struct ibp_framing ibp_frame_wire = {
	.begin = begin, .end = end, .flush = ibp_train_flush, .holds = holds, .acknowledge = acknowledge, .unread = unread,
	.admits = admits, .unit = unit, .place = ibp_place,
};

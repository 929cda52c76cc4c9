/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a train leaves: what was only named is copied into the stage and sealed, then one send; and
 * what happens if the memory turns out to be gone, or the socket to be full.
 */
#include "proto/ib/port.h"

#include "wire/ib_fields.h"

#define IBP_COPY_SUMMED 512u /* from which on a copy and its sum in one pass pay */

static void empty(struct ibp_train *t)
{
	t->len = t->seg = t->n = 0;
	t->closed = t->user = t->waiting = t->ready = false;
	t->n_iov = t->n_spans = 0;
}

uint16_t ibp_train_port(const struct ibp_port *port)
{
	return port->link->ops->source_port(port->link, &port->train.path.flow);
}

void ibp_train_seal(const struct ibp_port *port, struct ibp_train *t, uint16_t sport, uint32_t i)
{
	uint32_t off = i * t->seg, size = t->len - off < t->seg ? t->len - off : t->seg;
	uint8_t *at = t->stage.base + off;

	wire_put_icrc(at + size - 4, wire_icrc_again(&t->path.icrc, &t->memo[size != IBP_ACK_BYTES], sport,
						     port->link->port, (uint16_t)i, at, size - 4));
}

static void seal_some(const struct ibp_port *port, struct ibp_train *t, uint32_t n)
{
	uint16_t sport = ibp_train_port(port);

	for (uint32_t i = 0; i < n; i++)
		ibp_train_seal(port, t, sport, i);
}

/* By plain loads: headers, payload in one piece (the rule for whole packets) and pad. */
static void copy_packet(const struct ibp_port *port, struct ibp_train *t, uint16_t sport,
			uint32_t i, const struct iovec *v)
{
	uint8_t *at = t->stage.base + (size_t)i * t->seg;

	memcpy(at, v[0].iov_base, v[0].iov_len);
	wire_icrc_copy(&t->path.icrc, sport, port->link->port, (uint16_t)i, true, at, v[0].iov_len,
		       v[1].iov_base, v[1].iov_len, v[2].iov_len - 4);
}

/* By plain loads, any number of pieces. Returns how many there were. */
static int copy_pieces(const struct ibp_port *port, struct ibp_train *t, uint16_t sport,
		       uint32_t i, const struct iovec *v)
{
	uint8_t *at = t->stage.base + (size_t)i * t->seg;
	int n = 0;

	do {
		memcpy(at, v[n].iov_base, v[n].iov_len);
		at += v[n].iov_len;
	} while (v[n++].iov_base != ibp_train_pad); /* the last piece of a packet */
	ibp_train_seal(port, t, sport, i);
	return n;
}

static void fill_plainly(const struct ibp_port *port, struct ibp_train *t)
{
	uint16_t sport = ibp_train_port(port);
	const struct iovec *v = t->iov;

	for (uint32_t i = 0; i < t->n; i++) {
		if (v[1].iov_len >= IBP_COPY_SUMMED && v[2].iov_base == ibp_train_pad) {
			copy_packet(port, t, sport, i, v);
			v += 3;
		} else {
			v += copy_pieces(port, t, sport, i, v);
		}
	}
}

/*
 * May we load from the application's memory ourselves? It has just given us its requests, and if
 * this is its own thread, no page of them goes between the question and the copy unless it
 * takes away what is in use. A responder's memory and the background thread leave it to the kernel.
 */
static bool plain(struct ibp_train *t)
{
	return !t->user || (t->len > IBP_ASK_PAGES && t->n_spans <= IBP_SPANS &&
			    ut_stage_may_load(&t->stage, t->spans, t->n_spans));
}

/* Copies the pieces into the stage and seals the packets; returns the bytes that arrived. */
static size_t fill(const struct ibp_port *port, struct ibp_train *t)
{
	ssize_t r;

	if (plain(t)) {
		fill_plainly(port, t);
		return t->len;
	}
	r = ut_stage_gather_user(&t->stage, 0, t->iov, t->n_iov);
	if (r == (ssize_t)t->len)
		seal_some(port, t, t->n);
	return r < 0 ? 0 : (size_t)r;
}

/*
 * Packet `bad` could not be read: it and what follows of its QP are not to leave, but what others have
 * behind it is.
 */
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

/* 0, or -EAGAIN: it waits for the socket. */
static int put_out(struct ibp_port *port, uint32_t n, uint32_t len)
{
	struct eng_dev *dev = port->dev;
	struct ibp_train *t = &port->train;
	int r = 0;

	eng_dev_held(dev);
	if (n)
		r = port->link->ops->send(port->link, &t->path.flow,
					  (uint32_t)wire_get_BTH_dest_qpn(t->stage.base),
					  t->stage.base, len, t->seg);
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

/* Some of it could not be read: what precedes that leaves, what is behind it is the train. */
static void part(struct ibp_port *port, size_t good)
{
	struct ibp_train *t = &port->train;
	uint32_t bad = (uint32_t)(good / t->seg), psn = t->psn[bad];
	struct ibp_qp *faulty = t->of[bad];
	bool response = t->response;

	ibp_count(port, ENG_C_tx_faults);
	seal_some(port, t, bad);
	if (put_out(port, bad, bad * t->seg) == 0)
		keep_behind(t, bad);
	/* Last, since the QP may fail and flush trains of its own. */
	if (response)
		ibp_resp_fault(faulty, psn);
	else
		ibp_req_fault(faulty, psn);
}

void ibp_train_flush(struct ibp_port *port)
{
	struct ibp_train *t = &port->train;

	if (t->waiting && put_out(port, t->n, t->len) == 0)
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

	if (!ibp_train_has(port, q))
		return;
	ibp_train_flush(port);
	/* What waits for the socket is sealed by its place; those of others keep theirs. */
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->of[i] == q)
			t->of[i] = NULL;
		others |= t->of[i] != NULL;
	}
	if (!others)
		empty(t);
}

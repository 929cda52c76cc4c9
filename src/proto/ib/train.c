/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trains: packets of equal size to one process that leave in a single system
 * call (UDP GSO on the real link), of one queue pair or of many.
 *
 * What is small is put together at once. Else headers are written beside the
 * train and payload is only named; the flush (train_send.c) then copies both into the stage with one gathering call, however many
 * packets and pieces there are, computes the ICRCs over what really leaves,
 * and sends. So each payload byte is copied once before the kernel's own copy,
 * and a buffer that the application changes or unmaps meanwhile cannot make
 * a packet whose ICRC is wrong.
 */
#include "proto/ib/port.h"

#include <errno.h>
#include <string.h>

const uint8_t ibp_train_pad[8];

#define IBP_PAGE 4096u /* the smallest there is */

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

bool ibp_train_has(const struct ibp_port *port, const struct ibp_qp *q)
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
 * Whoever receives a train looks at the first packet of it to find the process that it is for, and that
 * process is in the upper bits of a QPN. Unreliable services share with nobody: their requests
 * are complete when the train has left.
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

static bool joins(const struct ibp_port *port, const struct ibp_qp *q, bool response,
		  uint32_t size)
{
	const struct ibp_train *t = &port->train;
	uint32_t packets = port->link->train_packets;
	size_t bytes = port->link->train_bytes;

	if (packets > IBP_TRAIN_PACKETS)
		packets = IBP_TRAIN_PACKETS;
	if (bytes > IBP_TRAIN_BYTES)
		bytes = IBP_TRAIN_BYTES;
	/* An acknowledgement may ride behind requests; but a train whose memory
	 * cannot be read must concern requests only, or answers only. */
	if (response != t->response && (!response || size > 64))
		return false;
	return !t->closed && size <= t->seg && t->n < packets && t->len + size <= bytes &&
	       t->n_iov < IBP_IOV - 80 && same_way(port, q, t->of[t->n - 1]);
}

struct iovec *ibp_train_begin(struct ibp_port *port, struct eng_qp *qp,
			      const struct ibp_path *path, bool response, uint32_t size, int *max)
{
	struct ibp_train *t = &port->train;
	enum ibv_qp_state before = eng_qp_state(qp);
	struct ibp_qp *q = ibp_qp(qp);

	port->shm.q = NULL;
	if (ibp_shm_is(q, response))
		return ibp_shm_begin(q, response, size, max);
	if (t->waiting || (t->n && !joins(port, q, response, size)))
		ibp_train_flush(port);
	/* The flush may have found a fault of this very QP. */
	if (t->waiting || eng_qp_state(qp) != before)
		return NULL;
	if (!t->n) {
		if (memcmp(&t->path.flow, &path->flow, sizeof(path->flow))) {
			t->path = *path;
			memset(t->memo, 0, sizeof(t->memo));
		}
		t->response = response;
		t->seg = size;
	}
	t->of[t->n] = q;
	t->iov_at[t->n] = t->n_iov;
	*max = IBP_IOV - t->n_iov;
	return &t->iov[t->n_iov + 1]; /* the header comes first */
}

/* Whole pages, and those that touch are one: many small buffers are few spans. */
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

/* The packet is in the stage up to its pad: pad, ICRC, and it belongs to the train. */
void ibp_train_add(struct ibp_port *port, uint8_t *at, size_t len, unsigned pad)
{
	struct ibp_train *t = &port->train;

	memset(at + len, 0, pad);
	t->len += (uint32_t)(len + pad + 4);
	ibp_train_seal(port, t, t->sport, t->n);
	t->closed = t->len < ++t->n * t->seg;
	port->sent++;
}

uint8_t *ibp_train_room(struct ibp_port *port, struct ibp_qp *q, uint32_t size)
{
	struct ibp_train *t = &port->train;

	if (!t->n || !t->ready || t->waiting || t->response || !joins(port, q, false, size))
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
	*tail = (struct iovec){ (void *)ibp_train_pad, p->pad + 4u };
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

/*
 * Small messages are read at once, which in a thread of the application needs the kernel only for pages
 * that were not reached lately; and then nothing can fail any more. For long ones, whatever
 * their packets are, one question for the whole train is better.
 */
static void begin_train(struct ibp_port *port, const struct wire_ib_packet *p, bool user)
{
	struct ibp_train *t = &port->train;

	t->stage.pages_checked_at = t->response ? 0 : port->link->rx_stage->pages_checked_at;
	t->ready = !user || (t->stage.pages_checked_at && p->payload_len <= IBP_ASK_PAGES &&
			     wire_ib_shape(p->opcode)->flags & WIRE_F_ONLY);
	if (t->ready)
		t->sport = ibp_train_port(port);
}

int ibp_train_end(struct ibp_port *port, const struct wire_ib_packet *p, int n, bool user)
{
	struct ibp_train *t = &port->train;

	if (port->shm.q)
		return ibp_shm_end(port, p, n, user);
	if (!t->n)
		begin_train(port, p, user);
	if (t->ready)
		return copy_now(port, p, n, user);
	put_named(port, p, n, user);
	return 0;
}

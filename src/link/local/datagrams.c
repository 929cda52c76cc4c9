/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/local/datagrams.h"

#include "host/shm/channel.h"
#include "host/shm/peer.h"
#include "util/alloc.h"
#include "util/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 7  /* in one call */
#define ALIGN 64u  /* of a record in the stage */

struct local_link {
	struct link base;
	struct link *lower;
	struct shm_channel *chan;
	/* The rest of a record that was longer than the caller's room. */
	struct link_rx carry;
	uint32_t left, step;
};

static struct local_link *of(struct link *l)
{
	return ut_container(l, struct local_link, base);
}

/* Forwards the owner's settings to the link below. */
static struct link *lower_of(struct link *l)
{
	struct link *lower = of(l)->lower;

	lower->keep = l->keep;
	lower->cheap = l->cheap;
	lower->leaving = l->leaving;
	lower->qpn_given = l->qpn_given;
	return lower;
}

/* Copies the properties of the link below. */
static void learn(struct link *l)
{
	const struct link *lower = of(l)->lower;

	l->train_packets = lower->train_packets;
	l->kept_off = lower->kept_off;
	l->kept_len = lower->kept_len;
	l->rx_window = lower->rx_window;
	l->qpn_fixed = lower->qpn_fixed;
	l->qpn_mask = lower->qpn_mask;
}

/* Returns as shm_channel_send(). */
static int by_ring(struct link *l, bool leaving, const struct ut_flow *f, uint32_t qpn, const uint8_t *data,
		   size_t len, size_t seg)
{
	struct link *lower = of(l)->lower;
	int r;

	shm_channel_leaving(of(l)->chan, leaving);
	r = shm_channel_send(of(l)->chan, f, qpn, lower->ops->source_port(lower, f), data, len, seg);
	shm_channel_leaving(of(l)->chan, false); /* messages may wait */
	if (r <= 0)
		lower->in_use = true;
	return r;
}

static int local_send(struct link *l, const struct ut_flow *f, uint32_t qpn, const uint8_t *data,
		      size_t len, size_t seg)
{
	struct link *lower = lower_of(l);
	int r = by_ring(l, l->leaving, f, qpn, data, len, seg);

	if (r <= 0)
		return r;
	r = lower->ops->send(lower, f, qpn, data, len, seg);
	l->train_packets = lower->train_packets;
	return r;
}

static int local_send_after(struct link *l, const struct iovec *first, const struct ut_flow *f, uint32_t qpn,
			    const uint8_t *data, size_t len, size_t seg)
{
	const uint8_t *one = first->iov_base;
	struct link *lower = lower_of(l);
	int r = by_ring(l, true, f, qpn, one, first->iov_len, first->iov_len), then;

	if (r == -EAGAIN)
		return r;
	then = by_ring(l, l->leaving, f, qpn, data, len, seg);
	if (r > 0 && then > 0) {
		r = lower->ops->send_after(lower, first, f, qpn, data, len, seg);
		l->train_packets = lower->train_packets;
		return r;
	}
	/* The way has changed between them. */
	if (r > 0)
		lower->ops->send(lower, f, qpn, one, first->iov_len, first->iov_len);
	else if (then > 0)
		then = lower->ops->send(lower, f, qpn, data, len, seg);
	return then == -EAGAIN ? LINK_FIRST_LEFT : then;
}

/* What has come by a ring is of a process of this user, as the kernel said when the ring was opened. Its socket says no more, and
 * is closed where the process has left. */
static enum link_sender local_sender(struct link *l, const struct link_rx *rx)
{
	struct link *lower = of(l)->lower;

	if (rx->off - lower->spare_off < lower->spare_len)
		return LINK_SENDER_PEER;
	return lower->ops->sender(lower, rx);
}

static uint16_t local_source_port(struct link *l, const struct ut_flow *f)
{
	struct link *lower = of(l)->lower;

	return lower->ops->source_port(lower, f);
}

/* --- receiving --- */

static int hand_out(struct local_link *n, struct link_rx *v, int max)
{
	int got = 0;

	while (got < max && n->left) {
		struct link_rx *rx = &v[got++];

		*rx = n->carry;
		rx->len = n->left < n->step ? n->left : n->step;
		n->left -= rx->len;
		n->carry.data += rx->len;
		n->carry.off += rx->len;
		n->carry.seg++;
	}
	return got;
}

/* Receives the next record, at *at of the spare part of the stage. */
static bool take(struct local_link *n, size_t *at)
{
	size_t off = n->lower->spare_off + *at, room = n->lower->spare_len - *at;
	uint8_t *buf = n->lower->rx_stage->base + off;
	struct shm_datagrams d;

	if (!shm_channel_recv(n->chan, &d, buf, room))
		return false;
	n->carry = (struct link_rx){ .data = buf, .off = off, .sport = d.sport, .tos = d.tos,
				     .ttl = d.ttl };
	memcpy(n->carry.src, d.src, 16);
	memcpy(n->carry.dst, d.dst, 16);
	n->left = d.bytes;
	n->step = d.seg;
	*at += (d.bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	return true;
}

/* A record that was begun lies where the next ones would: it is handed out first, and alone. */
static int read_records(struct local_link *n, struct link_rx *v, int max)
{
	int got = hand_out(n, v, max);
	size_t at = 0;

	for (int i = 0; i < RECORDS && !got && take(n, &at); i++)
		got = hand_out(n, v, max);
	for (int i = 1; i < RECORDS && at && got < max && !n->left && take(n, &at); i++)
		got += hand_out(n, v + got, max - got);
	return got;
}

static int local_recv(struct link *l, struct link_rx *v, int max)
{
	struct local_link *n = of(l);
	struct link *lower = lower_of(l);
	int got = read_records(n, v, max);

	lower->local_news = l->local_news || got || shm_channel_warm(n->chan);
	lower->in_use |= got > 0;
	got += lower->ops->recv(lower, v + got, max - got);
	l->kept_off = lower->kept_off;
	l->kept_len = lower->kept_len;
	shm_channel_settle(n->chan);
	return got;
}

static int local_take(struct link *l, const struct iovec *iov, int n)
{
	struct link *lower = of(l)->lower;
	int r = lower->ops->take(lower, iov, n);

	l->kept_len = lower->kept_len;
	return r;
}

static void local_sleep(struct link *l, bool on, bool look)
{
	struct link *lower = of(l)->lower;

	lower->ops->sleep(lower, on, look);
	shm_channel_sleep(of(l)->chan, on, look);
}

/* The channel is the owner's to attend to. */
static void local_attend(struct link *l, bool on)
{
	struct link *lower = of(l)->lower;

	lower->ops->attend(lower, on);
}

static void local_forked(struct link *l)
{
	struct link *lower = of(l)->lower;

	lower->ops->forked(lower);
}

/* --- addresses --- */

static int local_add_addr(struct link *l, const uint8_t addr[16], uint32_t scope)
{
	struct link *lower = lower_of(l);
	int r = lower->ops->add_addr(lower, addr, scope);

	learn(l);
	return r;
}

static void local_del_addr(struct link *l, const uint8_t addr[16])
{
	struct link *lower = lower_of(l);

	shm_channel_forget_addr(of(l)->chan, addr);
	lower->ops->del_addr(lower, addr);
	learn(l);
}

static void local_close(struct link *l)
{
	struct local_link *n = of(l);

	shm_channel_close(n->chan);
	n->lower->ops->close(n->lower);
	free(n);
}

/* --- slots that are forwarded --- */

static int local_error(struct link *l, struct link_err *ret)
{
	return of(l)->lower->ops->error(of(l)->lower, ret);
}

static int local_join(struct link *l, const uint8_t group[16], uint32_t ifindex)
{
	return of(l)->lower->ops->join(of(l)->lower, group, ifindex);
}

static void local_leave(struct link *l, const uint8_t group[16], uint32_t ifindex)
{
	of(l)->lower->ops->leave(of(l)->lower, group, ifindex);
}

static int local_claim(struct link *l, const uint8_t addr[16], uint64_t service)
{
	return of(l)->lower->ops->claim(of(l)->lower, addr, service);
}

static void local_unclaim(struct link *l, const uint8_t addr[16], uint64_t service)
{
	of(l)->lower->ops->unclaim(of(l)->lower, addr, service);
}

static int local_pass_on(struct link *l, const struct link_rx *rx, uint64_t service)
{
	return of(l)->lower->ops->pass_on(of(l)->lower, rx, service);
}

static void local_entrust(struct link *l, int fd)
{
	of(l)->lower->ops->entrust(of(l)->lower, fd);
}

static const void *local_dead_peer(struct link *l, uint8_t ret_addr[16], size_t *ret_len)
{
	return of(l)->lower->ops->dead_peer(of(l)->lower, ret_addr, ret_len);
}

static int local_fd(struct link *l)
{
	return of(l)->lower->ops->fd(of(l)->lower);
}

static const struct link_ops ops = {
	.send = local_send,
	.send_after = local_send_after,
	.source_port = local_source_port,
	.sender = local_sender,
	.recv = local_recv,
	.take = local_take,
	.error = local_error,
	.add_addr = local_add_addr,
	.del_addr = local_del_addr,
	.join = local_join,
	.leave = local_leave,
	.claim = local_claim,
	.unclaim = local_unclaim,
	.pass_on = local_pass_on,
	.entrust = local_entrust,
	.dead_peer = local_dead_peer,
	.ends = link_default_ends,
	.count = link_default_count,
	.fd = local_fd,
	.sleep = local_sleep,
	.attend = local_attend,
	.forked = local_forked,
	.close = local_close,
};

int local_datagrams_open(struct link *lower, struct shm_channel *chan, struct link **ret)
{
	struct local_link *n = ut_zalloc(sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->base = *lower;
	n->base.ops = &ops;
	n->base.spare_len = 0; /* taken */
	n->lower = lower;
	n->chan = chan;
	*ret = &n->base;
	return 0;
}

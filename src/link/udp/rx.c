/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp/rx.h"

#include "link/udp/group.h"
#include "link/udp/mad.h"
#include "link/udp/order.h"
#include "link/udp/poll.h"
#include "link/udp/probe.h"
#include "link/udp/route.h"
#include "link/udp/udp.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/syscall.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define RX_READS (UDP_RX_SLOTS - 1) /* receives in one call */
#define RX_LOOK_EMPTY 24 /* empty calls per look at the quiet sockets; each is short */
#define RX_LOOK_CALLS 16 /* calls per look when there is always something */
#define RX_LOOK_WARM (100 * UT_US) /* between looks while it comes through shared memory */
#define RX_MAIL_POLLED 64   /* calls that read a mailbox unasked after a forwarded one */
#define RX_BYTES (2 * UDP_RX_SLOT_BYTES) /* then the caller has its turn: caches are small */
#define RX_FULL 8        /* calls with a datagram each until more are likely behind one, */
#define RX_FEW 4         /* of which so many are read in a call */
#define RX_STREAK 16     /* successes until another polled socket goes first */

static int cmsg_int(const struct cmsghdr *c)
{
	int x = 0;

	if (c->cmsg_len >= CMSG_LEN(sizeof(int)))
		memcpy(&x, CMSG_DATA(c), sizeof(x));
	else if (c->cmsg_len >= CMSG_LEN(1))
		x = *(const uint8_t *)CMSG_DATA(c);
	return x;
}

static void read_control(struct msghdr *h, struct udp_carry *c)
{
	struct cmsghdr *m;
	int x;

	for (m = CMSG_FIRSTHDR(h); m; m = CMSG_NXTHDR(h, m)) {
		x = cmsg_int(m);
		if (m->cmsg_level == IPPROTO_UDP && m->cmsg_type == UDP_GRO && x > 0)
			c->step = (uint32_t)x;
		else if (m->cmsg_level == IPPROTO_IP && m->cmsg_type == IP_TOS)
			c->rx.tos = (uint8_t)x;
		else if (m->cmsg_level == IPPROTO_IP && m->cmsg_type == IP_TTL)
			c->rx.ttl = (uint8_t)x;
		else if (m->cmsg_level == IPPROTO_IPV6 && m->cmsg_type == IPV6_TCLASS)
			c->rx.tos = (uint8_t)x;
		else if (m->cmsg_level == IPPROTO_IPV6 && m->cmsg_type == IPV6_HOPLIMIT)
			c->rx.ttl = (uint8_t)x;
	}
}

/* Makes one receive into buf. Returns 1 with *c, or 0 if the socket is empty. look: the receive stays in the queue. */
static int read_once(struct udp_link *u, struct udp_port *p, uint8_t *buf, size_t room,
		     struct udp_carry *c, bool look)
{
	_Alignas(struct cmsghdr) char control[128];
	union ut_sockaddr sa;
	struct iovec iov = { buf, room };
	struct msghdr h = { .msg_name = &sa, .msg_iov = &iov, .msg_iovlen = 1 };
	long r = -EAGAIN;

	/* A pending error is reported once; then the data behind it. */
	for (int i = 0; i < 2; i++) {
		h.msg_namelen = sizeof(sa);
		h.msg_control = control;
		h.msg_controllen = sizeof(control);
		u->stats.calls_recv++;
		r = UT_SYS(SYS_recvmsg, p->at.fd, &h, MSG_DONTWAIT | (look ? MSG_PEEK : 0));
		if (r >= 0 || r == -EAGAIN)
			break;
		udp_port_error(u, p);
	}
	if (r < 0)
		return 0;
	u->kept = look ? p : NULL;
	c->rx = (struct link_rx){ .data = buf };
	c->local = p->kind == UDP_MAIN ? p->local : NULL;
	c->left = c->step = (h.msg_flags & MSG_TRUNC) ? 0 : (uint32_t)r;
	c->rx.sport = ut_ip_from_sockaddr(&sa, c->rx.src, NULL);
	memcpy(c->rx.dst, p->addr, 16);
	read_control(&h, c);
	return 1;
}

/* The next datagram of a coalesced receive. */
static void cut(struct udp_carry *c, struct link_rx *ret)
{
	*ret = c->rx;
	ret->len = c->left < c->step ? c->left : c->step;
	c->left -= ret->len;
	c->rx.data += ret->len;
	c->rx.off += ret->len;
	c->rx.seg++;
}

/* Returns true if udp_is_ours() would, for nearly all datagrams: for a queue pair of this slot, and no probe. */
static bool plainly_ours(const struct udp_link *u, const struct link_rx *rx)
{
	uint32_t qpn;

	if (rx->len < UDP_BTH_BYTES || wire_get_BTH_opcode(rx->data) == UDP_PROBE_OPCODE)
		return false;
	qpn = (uint32_t)wire_get_BTH_dest_qpn(rx->data);
	return qpn >> HOST_SLOT_SHIFT == u->host.slot && qpn > WIRE_QPN_GSI;
}

static int hand_out(struct udp_link *u, struct link_rx *v, int n, int max)
{
	while (n < max && u->carry.left) {
		cut(&u->carry, &v[n]);
		n += plainly_ours(u, &v[n]) || udp_is_ours(u, u->carry.local, &v[n]);
	}
	return n;
}

/* Reads one socket while datagrams come in trains. *reads counts down. */
static int read_port(struct udp_link *u, struct udp_port *p, struct link_rx *v, int n, int max,
		     unsigned *reads, bool *ret_got)
{
	bool more = true, look = u->base.keep && !n;
	unsigned few = p->full >= RX_FULL ? RX_FEW : 1;
	size_t bytes = 0;

	udp_let_go(u); /* a train of which nothing was for this process */
	*ret_got = false;
	while (more && n < max && *reads) {
		size_t off = (size_t)u->rx_slot * UDP_RX_SLOT_BYTES;

		if (!read_once(u, p, u->stage.base + off, UDP_RX_SLOT_BYTES, &u->carry, look)) {
			p->full = 0;
			break;
		}
		p->full++;
		*ret_got = true;
		--*reads;
		u->rx_slot = (u->rx_slot + 1) % UDP_RX_SLOTS;
		u->carry.rx.off = off;
		u->base.kept_off = off;
		u->base.kept_len = look ? u->carry.left : 0;
		bytes += u->carry.left;
		/* Two are what a ping-pong gives: an answer and its acknowledgement. */
		more = (u->carry.left > 2 * u->carry.step || --few) && bytes < RX_BYTES && !look;
		n = hand_out(u, v, n, max);
	}
	return n;
}

/* Reads the first socket of the poll set that gives something; the others wait for their turn. */
static int poll_polled(struct udp_link *u, struct link_rx *v, int n, int max, unsigned *reads)
{
	struct udp_port *p, *t;
	bool got;

	ut_list_each_safe(p, t, &u->polled, polled_node) {
		n = read_port(u, p, v, n, max, reads, &got);
		if (!got) {
			if (--p->polled)
				continue;
			if (udp_resume(u, p))
				ut_list_del(&p->polled_node);
			else
				udp_poll_add(u, p);
			continue;
		}
		udp_poll_add(u, p);
		udp_used(u, p);
		if (++u->streak >= RX_STREAK) {
			u->streak = 0;
			ut_list_del(&p->polled_node);
			ut_list_add_tail(&u->polled, &p->polled_node);
		}
		if (n)
			break;
	}
	return n;
}

static void fill_mail(struct udp_link *u, const uint8_t dst[16], const struct host_message *m,
		      size_t off, size_t len, struct link_rx *rx)
{
	*rx = (struct link_rx){ .data = u->stage.base + off, .off = off, .len = (uint32_t)len,
				.sport = m->sport, .tos = m->tos, .ttl = m->ttl, .seg = m->seg };
	memcpy(rx->src, m->src, 16);
	memcpy(rx->dst, dst, 16);
}

static bool fill_forwarded(struct udp_link *u, struct udp_local *lo, const struct host_message *m,
			   size_t off, size_t len, struct link_rx *rx)
{
	unsigned slot;

	fill_mail(u, lo->at.addr, m, off, len, rx);
	/* Never forwarded twice: two members with different orders must not send it in a circle. */
	if (udp_route(rx, &slot) != UDP_ROUTE_ANY && slot != u->host.slot) {
		u->stats.dropped++;
		ut_debug("a forwarded datagram is not for slot %u", u->host.slot);
		return false;
	}
	u->stats.received_forwarded++;
	return true;
}

static bool fill_group(struct udp_link *u, const struct host_message *m, size_t off, size_t len,
		       struct link_rx *rx)
{
	const uint8_t *group = u->stage.base + off;

	if (len < 16 || !ut_ip_is_group(group) || !udp_group_joined(u, group))
		return false;
	fill_mail(u, group, m, off + 16, len - 16, rx);
	return true;
}

/* A message that brings a datagram. */
static bool fill_datagram(struct udp_link *u, struct udp_local *lo, const struct host_message *m,
			  size_t off, size_t len, struct link_rx *rx)
{
	return m->type == HOST_MSG_GROUP ? fill_group(u, m, off, len, rx)
					 : fill_forwarded(u, lo, m, off, len, rx);
}

static int read_mail(struct udp_link *u, struct udp_local *lo, struct link_rx *v, int n, int max,
		     unsigned *reads)
{
	struct host_message m;
	size_t len;

	while (n < max && *reads) {
		size_t off = (size_t)u->rx_slot * UDP_RX_SLOT_BYTES;

		if (!host_receive(&u->host, lo->at.mail.fd, &m, u->stage.base + off, UDP_RX_SLOT_BYTES, &len)) {
			lo->at.mail_ready = false;
			udp_order_settle(u, lo);
			break;
		}
		if (m.type != HOST_MSG_FORWARD && m.type != HOST_MSG_GROUP) {
			host_dispatch(&u->host, &lo->at, &m, u->stage.base + off, len);
		} else if (fill_datagram(u, lo, &m, off, len, &v[n])) {
			n++;
			--*reads;
			/* Others follow, and the mailbox is small. */
			lo->at.mail_polled = RX_MAIL_POLLED;
			u->rx_slot = (u->rx_slot + 1) % UDP_RX_SLOTS;
		}
	}
	return n;
}

/* Reads what other members passed to this process as the claimant of a service. */
static int read_service(struct udp_link *u, struct host_service *s, struct link_rx *v, int n,
			int max, unsigned *reads)
{
	struct host_message m;
	size_t len;

	while (n < max && *reads) {
		size_t off = (size_t)u->rx_slot * UDP_RX_SLOT_BYTES;

		if (!host_receive(&u->host, s->port.fd, &m, u->stage.base + off, UDP_RX_SLOT_BYTES,
				   &len)) {
			ut_list_del(&s->ready);
			break;
		}
		if (m.type != HOST_MSG_FORWARD)
			continue;
		fill_mail(u, s->addr, &m, off, len, &v[n]);
		v[n].passed = true;
		u->stats.received_passed++;
		n++;
		--*reads;
		u->rx_slot = (u->rx_slot + 1) % UDP_RX_SLOTS;
	}
	return n;
}

static int read_boxes(struct udp_link *u, struct link_rx *v, int n, int max, unsigned *reads)
{
	struct host_service *s, *t;
	struct udp_local *lo;

	udp_each_local(lo, u)
		if (lo->at.mail_ready || (lo->at.mail_polled && lo->at.mail_polled--))
			n = read_mail(u, lo, v, n, max, reads);
	ut_list_each_safe(s, t, &u->host.services_ready, ready)
		n = read_service(u, s, v, n, max, reads);
	return n;
}

/* By the clock where the cost of a call varies widely, as beside other polling threads. */
static bool look_is_due(struct udp_link *u, bool warm)
{
	uint64_t now;

	if (!warm)
		return ++u->calls % RX_LOOK_CALLS == 0;
	now = ut_now();
	if (now - u->looked < RX_LOOK_WARM)
		return false;
	u->looked = now;
	return true;
}

/* looked: sockets have their turn although mailboxes or the shm channel are never empty. */
static int read_sockets(struct udp_link *u, struct link_rx *v, int n, int max, unsigned *reads,
			bool looked)
{
	bool warm = u->base.local_news;

	if (((!n && !warm) || (looked && n < max)) && !u->carry.left)
		n = poll_polled(u, v, n, max, reads);
	if (!n && !warm && (ut_list_empty(&u->polled) || ++u->empties >= RX_LOOK_EMPTY ||
			    atomic_load_explicit(&u->sleeping, memory_order_relaxed))) {
		u->empties = 0;
		if (host_look(&u->host))
			n = poll_polled(u, v, n, max, reads);
	}
	/* Not over the rest of a train: its place would be the next but seven. */
	return u->carry.left ? n : read_boxes(u, v, n, max, reads);
}

int udp_recv(struct link *l, struct link_rx *v, int max)
{
	struct udp_link *u = udp_of(l);
	unsigned reads = RX_READS;
	bool looked = false;
	int n;

	udp_let_go(u);
	n = hand_out(u, v, 0, max);
	/* Datagrams of the last call are not used any more: the places that are in the cache come first. */
	if (!n && !u->carry.left)
		u->rx_slot = 0;
	if (u->host.outbox_used)
		host_outbox_flush(&u->host);
	/* The epoll set does not show paused sockets. */
	if (!l->cheap && look_is_due(u, l->local_news))
		looked = host_look(&u->host) || atomic_load_explicit(&u->n_paused, memory_order_relaxed);
	if (!l->cheap)
		n = read_sockets(u, v, n, max, &reads, looked);
	u->active = u->active || n;
	return n;
}

void udp_drain(struct udp_link *u, struct udp_local *lo, uint8_t *buf, size_t room)
{
	struct udp_carry c;
	struct link_rx rx;

	for (int i = 0; i < 4096 && read_once(u, &lo->main, buf, room, &c, false); i++)
		while (c.left) {
			cut(&c, &rx);
			if (udp_is_ours(u, lo, &rx))
				udp_hand_over(u, lo, &rx);
		}
}

/* --- trains that are read twice --- */

static long read_kept(struct udp_link *u, struct iovec *iov, int n)
{
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = (size_t)n };
	long r = -EAGAIN;

	/* A pending error is reported first; then the data behind it. */
	for (int i = 0; i < 2; i++) {
		u->stats.calls_recv++;
		r = UT_SYS(SYS_recvmsg, u->kept->at.fd, &h, MSG_DONTWAIT);
		if (r >= 0 || r == -EAGAIN || r == -EFAULT)
			break;
		udp_port_error(u, u->kept);
	}
	u->kept = NULL;
	return r;
}

int udp_take(struct link *l, const struct iovec *iov, int n)
{
	struct udp_link *u = udp_of(l);
	size_t want = l->kept_len;
	long r;

	l->kept_len = 0;
	if (!u->kept)
		return -EAGAIN;
	r = read_kept(u, (struct iovec *)iov, n);
	if (r < 0)
		return (int)r;
	return (size_t)r == want ? 0 : -EIO;
}

void udp_let_go(struct udp_link *u)
{
	u->base.kept_len = 0;
	if (u->kept)
		read_kept(u, NULL, 0);
}

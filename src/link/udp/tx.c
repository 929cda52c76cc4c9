/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp/tx.h"

#include "link/udp/group.h"
#include "link/udp/poll.h"
#include "link/udp/sock.h"
#include "link/udp/udp.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/syscall.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

#define TX_TTL 64
#define TX_KEPT UT_S /* a socket without use for so long may go to another flow */

/* How one call goes out. */
struct tx_way {
	struct udp_port *port;
	int tos, ttl; /* defaults of the socket */
};

struct udp_local *udp_local_find(struct udp_link *u, const uint8_t addr[16])
{
	struct host_addr *a = host_addr_find(&u->host, addr);

	return a ? udp_local_of(a) : NULL;
}

void udp_tx_defaults(int fd, bool v4, int tos, int ttl)
{
	if (v4) {
		setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
		setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl));
	} else {
		setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
		setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &ttl, sizeof(ttl));
	}
}

static void tx_close(struct udp_link *u, struct udp_tx *t)
{
	udp_unwatch(u, &t->port);
	t->used = false;
	if (u->tx_last == t)
		u->tx_last = NULL;
}

void udp_tx_forget(struct udp_link *u, const uint8_t addr[16])
{
	for (int i = 0; i < UDP_TX_CACHE; i++)
		if (u->tx[i].used && !memcmp(u->tx[i].port.addr, addr, 16))
			tx_close(u, &u->tx[i]);
}

static void tx_open(struct udp_link *u, struct udp_local *lo, const struct ut_flow *f,
		    struct udp_tx *t)
{
	int fd = udp_sock_tx(f->src, f->sport, lo->at.scope);

	*t = (struct udp_tx){ .sport = f->sport, .scope = lo->at.scope, .used = true,
			      .tos = f->tos, .ttl = f->ttl ? f->ttl : TX_TTL };
	udp_port_init(&t->port, UDP_TX, fd < 0 ? -1 : fd);
	memcpy(t->port.addr, f->src, 16);
	if (fd < 0)
		return;
	if (udp_watch(u, &t->port) < 0) {
		ut_close_fd(&t->port.at.fd);
		return;
	}
	udp_tx_defaults(fd, ut_ip_is_v4(f->src), t->tos, t->ttl);
}

static bool tx_matches(const struct udp_tx *t, const struct ut_flow *f)
{
	return t->used && t->sport == f->sport && !memcmp(t->port.addr, f->src, 16);
}

/* Finds the socket of a flow, or makes it in place of one that has long been without use. Returns NULL if there is no such
 * local address, or no place. */
static struct udp_tx *tx_get(struct udp_link *u, const struct ut_flow *f)
{
	struct udp_tx *t = u->tx_last, *oldest = NULL;
	struct udp_local *lo;
	uint64_t now;

	if (t && tx_matches(t, f))
		return t;
	now = ut_now();
	for (t = u->tx; t < u->tx + UDP_TX_CACHE; t++) {
		if (tx_matches(t, f))
			goto found;
		if (!oldest || (oldest->used && (!t->used || t->stamp < oldest->stamp)))
			oldest = t;
	}
	lo = udp_local_find(u, f->src);
	if (!lo || (oldest->used && now - oldest->stamp < TX_KEPT))
		return NULL;
	t = oldest;
	if (t->used)
		tx_close(u, t);
	tx_open(u, lo, f, t);
found:
	t->stamp = now;
	u->tx_last = t;
	return t;
}

static int find_way(struct udp_link *u, const struct ut_flow *f, struct tx_way *ret)
{
	struct udp_tx *t = NULL;
	struct udp_local *lo;

	if (f->sport && f->sport != u->host.port)
		t = tx_get(u, f);
	if (t && t->port.at.fd >= 0) {
		*ret = (struct tx_way){ &t->port, t->tos, t->ttl };
		return 0;
	}
	lo = udp_local_find(u, f->src);
	if (!lo)
		return -EADDRNOTAVAIL;
	*ret = (struct tx_way){ &lo->main, lo->tos, lo->ttl };
	return 0;
}

uint16_t udp_source_port(struct link *l, const struct ut_flow *f)
{
	struct udp_link *u = udp_of(l);
	struct tx_way w;

	if (find_way(u, f, &w) < 0 || w.port->kind == UDP_MAIN)
		return u->host.port;
	return f->sport;
}

static void put_control(struct msghdr *h, int level, int type, const void *x, size_t n)
{
	struct cmsghdr *c = (struct cmsghdr *)((char *)h->msg_control + h->msg_controllen);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(n);
	memcpy(CMSG_DATA(c), x, n);
	/* The kernel copies the gap behind it, too: it need not see our stack. */
	memset(CMSG_DATA(c) + n, 0, CMSG_SPACE(n) - CMSG_LEN(n));
	h->msg_controllen += CMSG_SPACE(n);
}

/* A group has no route of its own: names interface and address. */
static void put_interface(struct msghdr *h, const struct ut_flow *f)
{
	struct in6_pktinfo i6 = { .ipi6_ifindex = f->scope };
	struct in_pktinfo i4 = { .ipi_ifindex = (int)f->scope };

	if (ut_ip_is_v4(f->dst)) {
		memcpy(&i4.ipi_spec_dst, f->src + 12, 4);
		put_control(h, IPPROTO_IP, IP_PKTINFO, &i4, sizeof(i4));
	} else {
		memcpy(&i6.ipi6_addr, f->src, 16);
		put_control(h, IPPROTO_IPV6, IPV6_PKTINFO, &i6, sizeof(i6));
	}
}

static void fill_control(struct msghdr *h, const struct ut_flow *f, const struct tx_way *w,
			 size_t len, size_t seg)
{
	bool v4 = ut_ip_is_v4(f->dst), group = ut_ip_is_group(f->dst);
	int tos = f->tos, ttl = f->ttl ? f->ttl : TX_TTL;
	uint16_t step = (uint16_t)seg;

	if (seg < len)
		put_control(h, IPPROTO_UDP, UDP_SEGMENT, &step, sizeof(step));
	if (tos != w->tos)
		put_control(h, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, &tos,
			    sizeof(tos));
	/* The defaults for groups are others, and 1. */
	if (ttl != w->ttl || group)
		put_control(h, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TTL : IPV6_HOPLIMIT, &ttl,
			    sizeof(ttl));
	if (group)
		put_interface(h, f);
}

/* Errors that an earlier packet may have left on the socket. */
static bool may_be_old(long r)
{
	return r == -ECONNREFUSED || r == -EHOSTUNREACH || r == -ENETUNREACH || r == -EACCES ||
	       r == -EMSGSIZE || r == -EPROTO || r == -ENOPROTOOPT || r == -EHOSTDOWN ||
	       r == -EOPNOTSUPP || r == -ENONET;
}

/* A train as the kernel takes it. Not to be copied: it points into itself. */
struct tx_message {
	_Alignas(struct cmsghdr) char control[192];
	struct iovec iov;
};

static void fill_message(struct tx_message *m, struct msghdr *h, const struct ut_flow *f, const struct tx_way *w,
			 const uint8_t *data, size_t len, size_t seg)
{
	m->iov = (struct iovec){ (void *)data, len };
	h->msg_iov = &m->iov;
	h->msg_iovlen = 1;
	h->msg_control = m->control;
	h->msg_controllen = 0;
	h->msg_flags = 0;
	fill_control(h, f, w, len, seg);
	if (!h->msg_controllen)
		h->msg_control = NULL;
}

static int send_once(struct udp_link *u, const struct ut_flow *f, const struct tx_way *w,
		     const uint8_t *data, size_t len, size_t seg)
{
	union ut_sockaddr sa;
	struct tx_message m;
	struct msghdr h;
	long r;

	h.msg_name = &sa;
	h.msg_namelen = ut_ip_to_sockaddr(f->dst, u->host.port, f->scope, &sa);
	fill_message(&m, &h, f, w, data, len, seg);
	for (int i = 0; i < 2; i++) {
		u->stats.calls_send++;
		r = UT_SYS(SYS_sendmsg, w->port->at.fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (r >= 0 || !may_be_old(r))
			break;
		udp_port_error(u, w->port);
	}
	return r < 0 ? (int)r : 0;
}

static int send_singly(struct udp_link *u, const struct ut_flow *f, const struct tx_way *w,
		       const uint8_t *data, size_t len, size_t seg)
{
	size_t off;
	int r = 0;

	for (off = 0; off < len && r == 0; off += seg)
		r = send_once(u, f, w, data + off, len - off < seg ? len - off : seg, seg);
	/* "Try again" is true only if nothing has left. */
	return r == -EAGAIN && off > seg ? -ENOBUFS : r;
}

/* A device that cannot checksum refuses trains (EIO); so do old kernels. */
static bool refuses_trains(int r)
{
	return r == -EIO || r == -EINVAL || r == -ENOPROTOOPT || r == -EOPNOTSUPP;
}

static int send_all(struct link *l, const struct ut_flow *f, const struct tx_way *w,
		    const uint8_t *data, size_t len, size_t seg)
{
	struct udp_link *u = udp_of(l);
	int r;

	if (len > seg && !u->gso)
		return send_singly(u, f, w, data, len, seg);
	r = send_once(u, f, w, data, len, seg);
	if (len <= seg || !refuses_trains(r))
		return r;
	r = send_singly(u, f, w, data, len, seg);
	if (r == 0) {
		u->gso = false;
		l->train_packets = 1;
		ut_info("UDP_SEGMENT was refused by an interface: each packet is a system call; see dapple doctor");
	}
	return r;
}

static bool is_train(const struct link *l, const struct ut_flow *f, size_t len, size_t seg)
{
	return seg && len && len <= l->train_bytes && (len <= seg || (len - 1) / seg < 64) &&
	       ut_ip_is_v4(f->src) == ut_ip_is_v4(f->dst);
}

static void note_use(struct udp_link *u, struct udp_port *p)
{
	u->active = true;
	if (p->kind == UDP_TX)
		udp_used(u, p);
}

int udp_send(struct link *l, const struct ut_flow *f, uint32_t qpn, const uint8_t *data,
	     size_t len, size_t seg)
{
	struct udp_link *u = udp_of(l);
	struct tx_way w;
	int r;

	if (!is_train(l, f, len, seg))
		return -EINVAL;
	r = find_way(u, f, &w);
	if (r < 0)
		return r;
	note_use(u, w.port);
	r = send_all(l, f, &w, data, len, seg);
	if (r == -ENETUNREACH && ut_ip_is_group(f->dst))
		r = udp_group_post(u, f, data, len, seg);
	return r;
}

/* Both in one call. Returns how many have left, or -errno of the first. */
static int send_both(struct udp_link *u, const struct iovec *first, const struct ut_flow *f, const struct tx_way *w,
		     const uint8_t *data, size_t len, size_t seg)
{
	union ut_sockaddr sa;
	struct tx_message m[2];
	struct mmsghdr h[2];

	h[0].msg_hdr.msg_name = h[1].msg_hdr.msg_name = &sa;
	h[0].msg_hdr.msg_namelen = h[1].msg_hdr.msg_namelen = ut_ip_to_sockaddr(f->dst, u->host.port, f->scope, &sa);
	fill_message(&m[0], &h[0].msg_hdr, f, w, first->iov_base, first->iov_len, first->iov_len);
	fill_message(&m[1], &h[1].msg_hdr, f, w, data, len, seg);
	u->stats.calls_send++;
	return (int)UT_SYS(SYS_sendmmsg, w->port->at.fd, h, 2, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int udp_send_after(struct link *l, const struct iovec *first, const struct ut_flow *f, uint32_t qpn, const uint8_t *data,
		   size_t len, size_t seg)
{
	struct udp_link *u = udp_of(l);
	struct tx_way w;
	int r = -EINVAL;

	if (is_train(l, f, len, seg) && (len <= seg || u->gso) && find_way(u, f, &w) == 0)
		r = send_both(u, first, f, &w, data, len, seg);
	/* What is wrong with the first, or is an error of an earlier datagram, the usual calls find out. */
	if (r < 0 && r != -EAGAIN)
		return link_default_send_after(l, first, f, qpn, data, len, seg);
	if (r < 0)
		return r;
	note_use(u, w.port);
	r = r == 2 ? 0 : send_all(l, f, &w, data, len, seg);
	return r == -EAGAIN ? LINK_FIRST_LEFT : r;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp/sender.h"

#include "link/udp/state.h"
#include "link/udp/tx.h"
#include "util/clock.h"
#include "util/syscall.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>

#define KEPT (10 * UT_MS) /* an answer holds for so long */

struct owner {
	uint32_t uid;
	bool wild; /* bound to all addresses */
};

struct ask {
	struct nlmsghdr h;
	struct inet_diag_req_v2 r;
};

/* The socket that gets what is sent to `local` from `remote`. The kernel has the two swapped. */
static struct ask question(const uint8_t local[16], uint16_t lport, const uint8_t remote[16], uint16_t rport,
			   uint32_t scope)
{
	bool v4 = ut_ip_is_v4(local);
	size_t from = v4 ? 12 : 0, n = v4 ? 4 : 16;
	struct ask q = {
		.h = { .nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST,
		       .nlmsg_seq = 1 },
		.r = { .sdiag_family = v4 ? AF_INET : AF_INET6, .sdiag_protocol = IPPROTO_UDP,
		       .idiag_states = UINT32_MAX,
		       .id = { .idiag_sport = htons(rport), .idiag_dport = htons(lport), .idiag_if = scope,
			       .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};

	memcpy(q.r.id.idiag_src, remote + from, n);
	memcpy(q.r.id.idiag_dst, local + from, n);
	return q;
}

/* Returns 0, -ENOENT: no socket (or no such question), or another negative errno. */
static int find_owner(const struct ask *q, struct owner *ret)
{
	static const uint32_t any[4];
	int fd = ut_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	_Alignas(struct nlmsghdr) uint8_t buf[1024];
	const struct nlmsghdr *m = (const void *)buf;
	const struct inet_diag_msg *d = NLMSG_DATA(m);
	long n;

	if (fd < 0)
		return -errno;
	n = UT_SYS(SYS_sendto, fd, q, sizeof(*q), 0, NULL, 0);
	if (n >= 0)
		n = UT_SYS(SYS_recvfrom, fd, buf, sizeof(buf), MSG_DONTWAIT, NULL, NULL);
	ut_close_fd(&fd);
	if (n < 0)
		return (int)n;
	if (!NLMSG_OK(m, (size_t)n) || m->nlmsg_type != SOCK_DIAG_BY_FAMILY || m->nlmsg_len < NLMSG_LENGTH(sizeof(*d)))
		return -ENOENT;
	*ret = (struct owner){ d->idiag_uid, !memcmp(d->id.idiag_src, any, q->r.sdiag_family == AF_INET ? 4 : 16) };
	return 0;
}

/* Only an address of this host can be bound. */
static bool is_local(const uint8_t addr[16], uint32_t scope)
{
	int fd = ut_socket(ut_ip_is_v4(addr) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	union ut_sockaddr sa;
	socklen_t n = ut_ip_to_sockaddr(addr, 0, scope, &sa);
	bool r = fd >= 0 && UT_SYS(SYS_bind, fd, &sa, n) == 0;

	ut_close_fd(&fd);
	return r;
}

static enum link_sender find(struct udp_link *u, const struct udp_local *lo, const struct link_rx *rx)
{
	uint16_t port = u->host.port;
	struct owner peer, sender;
	struct ask q;

	if (!is_local(rx->src, lo->at.scope))
		return LINK_SENDER_UNKNOWN;
	/* A peer of this host has the port on its address. None has it where the kernel does not tell, nor on another
	 * host's address, which net.ipv4.ip_nonlocal_bind permits to bind. */
	q = question(rx->src, port, rx->dst, port, lo->at.scope);
	if (find_owner(&q, &peer) < 0)
		return LINK_SENDER_UNKNOWN;
	q = question(rx->src, rx->sport, rx->dst, port, lo->at.scope);
	if (find_owner(&q, &sender) == 0)
		return sender.uid == peer.uid ? LINK_SENDER_PEER : LINK_SENDER_STRANGER;
	/* The kernel's rdma_rxe holds the port for all addresses, and sends without a socket. A process whose
	 * socket is closed by now could be any user's. */
	return peer.wild && !peer.uid ? LINK_SENDER_UNKNOWN : LINK_SENDER_STRANGER;
}

enum link_sender udp_sender(struct link *l, const struct link_rx *rx)
{
	struct udp_link *u = udp_of(l);
	const struct udp_local *lo = udp_local_find(u, rx->dst);
	struct udp_sender *s = &u->senders[(rx->sport ^ rx->src[15]) % UDP_SENDERS];
	uint64_t now = ut_now();

	if (!lo)
		return LINK_SENDER_UNKNOWN;
	if (s->until > now && s->sport == rx->sport && !memcmp(s->src, rx->src, 16) && !memcmp(s->dst, rx->dst, 16))
		return s->is;
	s->is = find(u, lo, rx);
	s->until = now + KEPT;
	s->sport = rx->sport;
	memcpy(s->src, rx->src, 16);
	memcpy(s->dst, rx->dst, 16);
	return s->is;
}

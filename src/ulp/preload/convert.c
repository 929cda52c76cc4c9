/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A socket begins as TCP, so that bind() and all options are the kernel's until it is known what the
 * program wants. A request that the carrier refuses leaves it untouched.
 *
 * The end that takes the place of a connecting socket must not be writable before the connection
 * stands: the stream is filled with bytes that the carrier reads, and drops, once it does. Its reading
 * makes the edge for which EPOLLET waits.
 */
#include "ulp/preload/convert.h"
#include "ulp/preload/real.h"
#include "ulp/preload/request.h"
#include "ulp/preload/rules.h"
#include "ulp/preload/summon.h"
#include "ulp/preload/told.h"
#include "ulp/preload/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

/*
 * The mark of a socket of family 27. It has to follow dup2(), so it is kept with the socket: in an option that means
 * nothing to a socket that never sends, and that no other option changes (IP_TOS changes the priority).
 */
#define SDP_MARK 0x50445344

static int option(int fd, int level, int name)
{
	int v = 0;
	socklen_t len = sizeof(v);

	return rsp_real()->getsockopt(fd, level, name, &v, &len) ? -1 : v;
}

bool rsp_is_fresh_tcp(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	if ((rsp_is_inside && rsp_is_inside()) || option(fd, SOL_SOCKET, SO_PROTOCOL) != IPPROTO_TCP || option(fd, SOL_SOCKET, SO_TYPE) != SOCK_STREAM)
		return false;
	return !rsp_real()->getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) && info.tcpi_state == TCP_CLOSE;
}

static int sdp_socket(int family, int type)
{
	int fd = rsp_real()->socket(family, type, IPPROTO_TCP), mark = SDP_MARK;

	if (fd >= 0)
		rsp_real()->setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &mark, sizeof(mark));
	return fd;
}

int rsp_sdp_socket(int type)
{
	return sdp_socket(AF_INET, type);
}

bool rsp_is_sdp(int fd)
{
	return option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT) == SDP_MARK;
}

int (*rsp_serve_here)(const struct rsp_request *q, const int *fds, int nr);
void (*rsp_expect)(int fd);
void (*rsp_served_here)(void);
bool (*rsp_is_inside)(void);

/* Returns 1: it came, or 0. */
static int read_answer(int sock, int32_t *ret)
{
	ssize_t n;

	do {
		n = recv(sock, ret, sizeof(*ret), 0);
	} while (n < 0 && errno == EINTR);
	close(sock);
	return n == sizeof(*ret);
}

/* A carrier that ended meanwhile is replaced. */
int rsp_ask_carrier(const struct rsp_request *q, const int *fds, int nr)
{
	int sock, r = 0;
	int32_t answer;

	for (int i = 0; i < 2; i++) {
		sock = rsp_summon();
		if (sock < 0)
			return rsp_told(RSP_OF_REQUEST, sock);
		r = rsp_request_send(sock, q, fds, nr);
		if (r)
			close(sock);
		else if (read_answer(sock, &answer))
			return answer;
	}
	return rsp_told(RSP_OF_REQUEST, r ? r : -EPIPE);
}

/* Has the request served, here or by the carrier, and returns the answer. */
static int ask(const struct rsp_request *q, const int *fds, int nr)
{
	int sock = rsp_serve_here && q->way == RSP_WAY_SDP ? rsp_serve_here(q, fds, nr) : -EAGAIN;
	int32_t answer;

	if (sock == -EAGAIN)
		return rsp_ask_carrier(q, fds, nr);
	if (sock < 0)
		return sock;
	if (!read_answer(sock, &answer))
		return rsp_told(RSP_OF_REQUEST, -EPIPE);
	rsp_served_here();
	return answer;
}

static int local_of(int fd, struct rsp_addr *ret)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	if (rsp_real()->getsockname(fd, (struct sockaddr *)&ss, &len))
		return -errno;
	rsp_addr_from(ret, (struct sockaddr *)&ss);
	return ret->family ? 0 : -EAFNOSUPPORT;
}

/* Puts the socket with this priority in the place of fd, with the flags of fd, and closes it. */
static int replace(int fd, int with, int priority)
{
	int flags = fcntl(fd, F_GETFD), r = 0;

	fcntl(with, F_SETFL, O_RDWR | (fcntl(fd, F_GETFL) & O_NONBLOCK));
	rsp_real()->setsockopt(with, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority));
	if (dup3(with, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0) < 0)
		r = -errno;
	close(with);
	if (!r)
		rsp_watch_again(fd);
	return r;
}

/* Which way, and whether TCP may take its place. -EPROTONOSUPPORT: this socket stays TCP. */
static int take_rule(int fd, enum rsp_role role, const struct rsp_addr *at, struct rsp_request *q)
{
	enum rsp_rule rule = rsp_is_sdp(fd) ? RSP_RULE_SDP : rsp_rule_for(role, at);

	q->way = rule == RSP_RULE_RSOCKET ? RSP_WAY_RSOCKET : RSP_WAY_SDP;
	q->tcp = rule == RSP_RULE_RSOCKET ? role == RSP_RULE_CONNECT : rule == RSP_RULE_BOTH;
	return rule == RSP_RULE_TCP ? -EPROTONOSUPPORT : 0;
}

void rsp_sdp_family(int fd, int family)
{
	struct rsp_addr at;
	int with, reuse = option(fd, SOL_SOCKET, SO_REUSEADDR);

	if (option(fd, SOL_SOCKET, SO_DOMAIN) == family || local_of(fd, &at) || at.port)
		return;
	with = sdp_socket(family, SOCK_STREAM | SOCK_CLOEXEC);
	if (with < 0)
		return;
	rsp_real()->setsockopt(with, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
	replace(fd, with, 0);
}

/* An unbound socket listens at a port of the kernel's choice. */
static int bound(int fd, struct rsp_addr *ret)
{
	struct sockaddr_storage ss;
	socklen_t len;
	int r = local_of(fd, ret);

	if (r || ret->port)
		return r;
	len = rsp_addr_to(ret, &ss);
	return bind(fd, (struct sockaddr *)&ss, len) ? -errno : local_of(fd, ret);
}

/* Makes the program's listener and names it in the request. Returns it or a negative errno. */
static int listener(struct rsp_request *q)
{
	struct rsp_name name = { .kind = RSP_LISTENER, .local = q->local };
	int un = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	if (un < 0)
		return -errno;
	r = rsp_name_bind(un, &name);
	q->listener_len = sizeof(q->listener);
	if (!r && (rsp_real()->listen(un, q->backlog) ||
		   rsp_real()->getsockname(un, (struct sockaddr *)&q->listener, &q->listener_len)))
		r = -errno;
	if (!r)
		return un;
	close(un);
	return r;
}

int rsp_convert_listen(int fd, int backlog)
{
	struct rsp_request q = { .op = RSP_OP_LISTEN, .backlog = backlog };
	int r = bound(fd, &q.local), reuse, on = 1, un;

	if (!r)
		r = take_rule(fd, RSP_RULE_LISTEN, &q.local, &q);
	if (r)
		return r;
	q.dual = q.local.family == AF_INET6;
	q.v6only = q.dual && option(fd, IPPROTO_IPV6, IPV6_V6ONLY) > 0;
	reuse = option(fd, SOL_SOCKET, SO_REUSEADDR);
	q.reuse = reuse > 0;
	un = listener(&q);
	if (un < 0)
		return rsp_told(RSP_OF_REQUEST, un);
	/* An adapter that listens by TCP binds the port while this socket still holds it. */
	rsp_real()->setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	r = ask(&q, &fd, 1);
	if (!r)
		return replace(fd, un, option(fd, IPPROTO_TCP, TCP_NODELAY));
	rsp_real()->setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
	close(un);
	return r;
}

static int fill(int fd)
{
	static const char junk[RSP_JUNK];

	return send(fd, junk, sizeof(junk), MSG_DONTWAIT | MSG_NOSIGNAL) == RSP_JUNK ? 0 : -EAGAIN;
}

static int open_pair(int sv[2], const struct rsp_request *q)
{
	struct rsp_name name = { .kind = RSP_PROGRAM, .local = q->local, .peer = q->peer };
	int r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return -errno;
	r = rsp_name_bind(sv[0], &name);
	if (!r && q->nowait)
		r = fill(sv[0]);
	if (r) {
		close(sv[0]);
		close(sv[1]);
	}
	return r;
}

int rsp_convert_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct rsp_request q = { .op = RSP_OP_CONNECT };
	int sv[2], fds[2], r = local_of(fd, &q.local);

	if (r)
		return r;
	if (len < (addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)))
		return -EINVAL;
	rsp_addr_from(&q.peer, addr);
	if (q.peer.family != q.local.family)
		return -EAFNOSUPPORT;
	r = take_rule(fd, RSP_RULE_CONNECT, &q.peer, &q);
	if (r)
		return r;
	q.dual = q.local.family == AF_INET6;
	q.nowait = (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
	r = open_pair(sv, &q);
	if (r)
		return rsp_told(RSP_OF_REQUEST, r);
	fds[0] = sv[1];
	fds[1] = fd;
	r = ask(&q, fds, 2);
	close(sv[1]);
	if (r) {
		close(sv[0]);
		return r;
	}
	r = replace(fd, sv[0], option(fd, IPPROTO_TCP, TCP_NODELAY));
	if (!r && rsp_expect)
		rsp_expect(fd);
	return r || !q.nowait ? r : -EINPROGRESS;
}

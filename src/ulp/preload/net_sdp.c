/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * SDP. One thread per connection: octets go from the program's stream into a message that is about to leave, and from
 * a received message to the program's stream, without a copy between. As many as are worth it are advertised: to be fetched
 * by the peer, or in the memory that this end offers the peer to write to.
 */
#include "ulp/preload/net.h"

#include "ulp/sdp/conn.h"
#include "ulp/clock.h"
#include "ulp/listen.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NAME_MAX_LEN (INET6_ADDRSTRLEN + 16)
#define CONNECT_MS 10000
#define LINGER_MS 10000                 /* a program that has gone gives its peer this long to end */

struct net {
	struct rsp_net base;
	struct ulp_listener *listener;
	struct ulp_request request;     /* accepted, not yet a connection */
	struct sdp_conn *conn;
};

static struct net *of(struct rsp_net *n)
{
	return (struct net *)n;
}

static void sdp_way_close(struct rsp_net *n)
{
	struct net *s = of(n);

	if (s->listener)
		ulp_listener_close(s->listener);
	if (s->request.id)
		ulp_request_refuse(&s->request);
	if (s->conn)
		sdp_conn_close(s->conn);
	free(s);
}

static struct net *make(int *ret)
{
	struct net *s = calloc(1, sizeof(*s));

	if (s)
		s->base.ops = &rsp_net_sdp;
	*ret = s ? 0 : -ENOMEM;
	return s;
}

static struct rsp_net *finish(struct net *s, bool good, int err, int *ret)
{
	if (good)
		return &s->base;
	free(s);
	*ret = -(err ? err : EIO);
	return NULL;
}

static struct rsp_net *sdp_way_listen(const struct rsp_request *q, int *ret)
{
	struct net *s = make(ret);
	struct sockaddr_storage ss;

	if (!s)
		return NULL;
	rsp_addr_to(&q->local, &ss);
	s->listener = ulp_listen((struct sockaddr *)&ss, SDP_PORT_SPACE, q->v6only, q->backlog);
	return finish(s, s->listener != NULL, errno, ret);
}

static struct rsp_net *sdp_way_connect(const struct rsp_request *q, int *ret)
{
	struct rsp_addr peer = q->peer, local = q->local;
	struct sockaddr_storage from, to;
	struct net *s = make(ret);
	char why[ULP_WHY_MAX];
	bool bound;
	int err = 0;

	if (!s)
		return NULL;
	rsp_addr_unmap(&peer);
	rsp_addr_unmap(&local);
	rsp_addr_to(&peer, &to);
	rsp_addr_to(&local, &from);
	bound = local.port && local.family == peer.family;
	s->conn = sdp_connect(bound ? (struct sockaddr *)&from : NULL, (struct sockaddr *)&to, &sdp_conf_default,
			      CONNECT_MS, &err, why);
	return finish(s, s->conn != NULL, err, ret);
}

static int sdp_way_fd(const struct rsp_net *listener)
{
	return ulp_listener_fd(((const struct net *)listener)->listener);
}

static struct rsp_net *sdp_way_accept(struct rsp_net *listener, int ms)
{
	struct ulp_listener *l = of(listener)->listener;
	struct pollfd p = { ulp_listener_fd(l), POLLIN, 0 };
	struct net *s;
	int r;

	if (poll(&p, 1, ms) <= 0)
		return NULL;
	s = make(&r);
	if (!s || !ulp_listener_next(l, &s->request))
		return s ? &s->base : NULL;
	free(s);
	return NULL;
}

static int sdp_way_stand(struct rsp_net *n)
{
	struct net *s = of(n);
	char why[ULP_WHY_MAX];

	s->conn = sdp_accept(s->request.id, s->request.data, s->request.len, &sdp_conf_default, CONNECT_MS, why);
	s->request.id = NULL;
	return s->conn ? 0 : -ECONNABORTED;
}

static void sdp_way_names(const struct rsp_net *n, struct sockaddr_storage *local, struct sockaddr_storage *peer)
{
	sdp_conn_names(((const struct net *)n)->conn, local, peer);
}

static const char *name_of(char to[NAME_MAX_LEN], const struct sockaddr_storage *ss)
{
	char host[INET6_ADDRSTRLEN] = "?";
	bool v4 = ss->ss_family == AF_INET;

	inet_ntop(ss->ss_family, v4 ? (const void *)&((const struct sockaddr_in *)ss)->sin_addr
				    : (const void *)&((const struct sockaddr_in6 *)ss)->sin6_addr, host, sizeof(host));
	snprintf(to, NAME_MAX_LEN, v4 ? "%s:%u" : "[%s]:%u", host, ntohs(((const struct sockaddr_in *)ss)->sin_port));
	return to;
}

/*
 * A failure of a connection, for `dapple why`. Ends that a program or its peer has made are none; nor is a server without
 * SDP, to which TCP goes.
 */
static void say(const struct net *s)
{
	void (*keep)(const char *) = (void (*)(const char *))dlsym(RTLD_DEFAULT, "dpl_say");
	struct sockaddr_storage local, peer;
	char from[NAME_MAX_LEN], to[NAME_MAX_LEN], text[ULP_WHY_MAX + 4 * NAME_MAX_LEN];
	const struct sdp_counts *n = sdp_conn_counts(s->conn);
	int err = sdp_conn_failed(s->conn);

	if (!keep || !err || err == ECONNRESET || err == ECONNABORTED)
		return;
	sdp_conn_names(s->conn, &local, &peer);
	snprintf(text, sizeof(text), "SDP connection %s -> %s (%llu octets sent, %llu received): %s: the connection ends, the program "
		 "sees a reset; connect again, and report the other end if it is not Dapple's", name_of(from, &local),
		 name_of(to, &peer), (unsigned long long)n->sent, (unsigned long long)n->received, sdp_conn_why(s->conn));
	keep(text);
}

/* --- octets --- */

struct relay {
	int un;
	struct sdp_conn *c;
	bool up_ended, down_ended;      /* the program's octets; the peer's, and the program knows */
	bool filled;                    /* the last message has been filled */
	bool full;                      /* the program's stream takes no more now */
	bool hung;                      /* the program has closed its end */
	int64_t until;                  /* for the peer to end, once the program has gone */
	uint8_t *offered;               /* memory in which the peer writes */
	struct ibv_mr *mr;
	uint64_t large, discarded;      /* counts as they were when an offer was last discarded */
};

/* A peer that has sent much is offered memory for more, until it sends little. */
static bool may_offer(struct relay *r)
{
	const struct sdp_counts *n = sdp_conn_counts(r->c);
	size_t len;
	bool oob;

	if (n->discarded != r->discarded) {
		r->discarded = n->discarded;
		r->large = n->reads + n->written;
	}
	return n->reads + n->written != r->large && !r->full && !sdp_is_wanting(r->c) && !sdp_received(r->c, &len, &oob);
}

static bool has_memory(struct relay *r)
{
	if (!r->offered)
		r->offered = calloc(1, SDP_STAGE);
	if (r->offered && !r->mr)
		r->mr = ibv_reg_mr(sdp_conn_domain(r->c), r->offered, SDP_STAGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return r->mr != NULL;
}

static void offer(struct relay *r)
{
	if (may_offer(r) && has_memory(r))
		sdp_want(r->c, r->offered, SDP_STAGE, r->mr);
}

/* The last octet is urgent, if this stream can say so. */
static ssize_t give_last(int un, const uint8_t *at)
{
	ssize_t n = send(un, at, 1, MSG_OOB | MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 && errno == EOPNOTSUPP ? send(un, at, 1, MSG_DONTWAIT | MSG_NOSIGNAL) : n;
}

/* Returns true if octets have moved. */
static bool down(struct relay *r)
{
	const uint8_t *at;
	bool oob, moved = false;
	size_t len;
	ssize_t n;

	while (!r->full && (at = sdp_received(r->c, &len, &oob))) {
		n = oob && len == 1 ? give_last(r->un, at) : send(r->un, at, len - oob, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n >= 0) {
			sdp_received_take(r->c, (size_t)n);
			moved = true;
		} else if (errno == EAGAIN) {
			r->full = true;
		} else if (errno != EINTR) {
			sdp_abort(r->c);
			return true;
		}
	}
	if (!r->down_ended && sdp_received_end(r->c)) {
		r->down_ended = true;
		shutdown(r->un, SHUT_WR);
	}
	return moved;
}

/* Worth a look only behind a message that the program has filled. */
static bool is_large(const struct relay *r)
{
	int waiting = 0;

	return r->filled && !ioctl(r->un, SIOCINQ, &waiting) && (uint32_t)waiting >= sdp_conf_default.advertise;
}

/* At the mark the urgent octet is next. Octets in front of it end there, so that a message that was filled has none. */
static bool at_mark(const struct relay *r)
{
	int at = 0;

	return !r->filled && !ioctl(r->un, SIOCATMARK, &at) && at;
}

static bool up(struct relay *r)
{
	bool moved = false, oob;
	uint8_t *room;
	size_t len;
	ssize_t n;

	while (!r->up_ended && (room = sdp_send_room(r->c, is_large(r), &len))) {
		oob = at_mark(r);
		n = recv(r->un, room, oob ? 1 : len, MSG_DONTWAIT);
		if (n < 0 && errno != EINTR)
			return moved;
		if (n > 0)
			sdp_send(r->c, room, (size_t)n, oob);
		else if (!n)
			sdp_send_end(r->c);
		r->up_ended = n == 0;
		r->filled = n == (ssize_t)len;
		moved = moved || n >= 0;
	}
	return moved;
}

static void wait_for(struct relay *r)
{
	struct pollfd p[1 + SDP_CONN_FDS] = { { .fd = r->un } };
	size_t len;
	int ms = sdp_conn_wait(r->c), left;

	if (!r->up_ended && sdp_send_room(r->c, false, &len))
		p[0].events |= POLLIN;
	if (r->full)
		p[0].events |= POLLOUT;
	if (r->hung && !p[0].events)
		p[0].fd = -1; /* a hang-up would wake at once */
	if (r->until) {
		left = (int)(r->until - ulp_now_ms());
		ms = left <= 0 ? 0 : ms < 0 || left < ms ? left : ms;
	}
	sdp_conn_fds(r->c, p + 1);
	if (poll(p, 1 + SDP_CONN_FDS, ms) <= 0)
		return;
	r->full = r->full && !(p[0].revents & (POLLOUT | POLLHUP | POLLERR));
	if (p[0].revents & POLLHUP && !r->hung) {
		r->hung = true;
		r->until = ulp_now_ms() + LINGER_MS;
	}
}

static void copy(struct relay *r)
{
	bool moved;

	/* Octets that wait for the program outlive the connection. */
	while (!sdp_conn_progress(r->c) && !(sdp_is_over(r->c) && r->down_ended)) {
		moved = down(r);
		moved = up(r) || moved;
		offer(r);
		if (r->until && ulp_now_ms() >= r->until)
			sdp_abort(r->c);
		else if (!moved)
			wait_for(r);
	}
}

static void sdp_way_relay(int un, struct rsp_net *n)
{
	struct relay r = { .un = un, .c = of(n)->conn };
	int on = 1;

	/* An urgent octet that comes between a look at the mark and recv() is an ordinary one, and not lost. */
	setsockopt(un, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
	copy(&r);
	say(of(n));
	close(un);
	if (r.mr)
		ibv_dereg_mr(r.mr);
	sdp_way_close(n);
	free(r.offered);
}

const struct rsp_net_ops rsp_net_sdp = {
	.listen = sdp_way_listen, .connect = sdp_way_connect, .fd = sdp_way_fd, .accept = sdp_way_accept,
	.stand = sdp_way_stand, .names = sdp_way_names, .relay = sdp_way_relay, .close = sdp_way_close,
};

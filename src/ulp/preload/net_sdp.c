/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The way of SDP: listeners and connections. */
#include "ulp/preload/net.h"

#include "ulp/preload/sdp_relay.h"
#include "ulp/listen.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_LEN (INET6_ADDRSTRLEN + 16)
#define CONNECT_MS 10000

struct net {
	struct rsp_net base;
	struct ulp_listener *listener;
	struct ulp_request request;     /* accepted, not yet a connection */
	struct sdp_conn *conn;
	struct sdp_relay *relay;        /* the program's process has it already; NULL: none */
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
	if (s->relay)
		sdp_relay_end(s->relay);
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
	s->conn = sdp_connect(bound ? (struct sockaddr *)&from : NULL, (struct sockaddr *)&to, rsp_sdp_conf,
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

	s->conn = sdp_accept(s->request.id, s->request.data, s->request.len, rsp_sdp_conf, CONNECT_MS, why);
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

static void sdp_way_named(int un, struct rsp_net *n)
{
	if (rsp_sdp_new)
		of(n)->relay = rsp_sdp_new(un, of(n)->conn);
}

static void sdp_way_relay(int un, struct rsp_net *n)
{
	if (of(n)->relay)
		sdp_relay_run(of(n)->relay);
	else
		sdp_relay(un, of(n)->conn);
	of(n)->relay = NULL;
	say(of(n));
	sdp_way_close(n);
}

const struct rsp_net_ops rsp_net_sdp = {
	.listen = sdp_way_listen, .connect = sdp_way_connect, .fd = sdp_way_fd, .accept = sdp_way_accept,
	.stand = sdp_way_stand, .names = sdp_way_names, .named = sdp_way_named, .relay = sdp_way_relay, .close = sdp_way_close,
};

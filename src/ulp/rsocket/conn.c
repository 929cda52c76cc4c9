/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections of streams. Identifiers are always asynchronous and their channels never block, so
 * that one step function serves blocking and other calls alike: rs_conn_advance() takes the events
 * that are there, and each moves the state on. Only one request of a listener is taken
 * ahead of raccept(); the others stay in the channel and keep the descriptor readable.
 */
#include "ulp/rsocket/rs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 6

void rs_over(struct rs_sock *rs, int err)
{
	bool was_open = rs->state == RS_OPEN || rs->state == RS_ACCEPTING;

	if (rs->state == RS_OVER)
		return;
	rs->state = RS_OVER;
	rs->readable = false;
	rs->writable = false;
	if (err)
		rs->error = err;
	if (err && was_open && rs->qp)
		rdma_disconnect(rs->id); /* the peer learns it now and not by its timeouts */
}

static int resolve_addr(struct rs_sock *rs)
{
	rs->state = RS_ADDR;
	return rdma_resolve_addr(rs->id, NULL, &rs->peer.sa, 1000 << rs->tries++);
}

static int resolve_route(struct rs_sock *rs)
{
	rs->state = RS_ROUTE;
	if (rs->route && !rdma_set_option(rs->id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, rs->route,
					  rs->route_len))
		return 0; /* the event comes all the same */
	return rdma_resolve_route(rs->id, 1000 << rs->tries++);
}

static int start_connect(struct rs_sock *rs)
{
	uint8_t data[RSP_CONN_LEN];
	struct rdma_conn_param param = {
		.private_data = data,
		.flow_control = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct rsp_conn mine;

	if (rs_ep_make(rs))
		return -1;
	rs_ep_describe(rs, &mine);
	param.private_data_len = (uint8_t)rsp_conn_put(&mine, data);
	/* The handshake of iWARP may end with a Read. */
	if (rs->iwarp)
		param.initiator_depth = 1;
	rs->state = RS_CONNECTING;
	return rdma_connect(rs->id, &param);
}

static void opened(struct rs_sock *rs)
{
	rs->state = RS_OPEN;
	rs_credits(rs);
}

static int answered(struct rs_sock *rs, const struct rdma_conn_param *p)
{
	struct rsp_conn peer;

	if (rsp_conn_get(p->private_data, p->private_data_len, &peer)) {
		rdma_disconnect(rs->id);
		return rs_fail(EPROTO);
	}
	rs_ep_learn(rs, &peer);
	opened(rs);
	return 0;
}

static int bad_event(const struct rdma_cm_event *ev)
{
	if (ev->event == RDMA_CM_EVENT_REJECTED)
		return rs_fail(ECONNREFUSED);
	if (ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		return rs_fail(ENODEV);
	return rs_fail(ev->status < 0 ? -ev->status : ECONNABORTED);
}

static void disconnected(struct rs_sock *rs)
{
	/* What came before it lies in the queue already: a peer says goodbye by message first. */
	rs_pump(rs);
	rs_over(rs, rs->peer_done ? 0 : ECONNRESET);
	rdma_disconnect(rs->id);
}

static bool again(struct rs_sock *rs)
{
	return errno == ETIMEDOUT && rs->tries <= TRIES;
}

/* One event in the present state. 0, or -1: the attempt is over. */
static int step(struct rs_sock *rs, struct rdma_cm_event *ev)
{
	if (ev->event == RDMA_CM_EVENT_TIMEWAIT_EXIT || ev->event == RDMA_CM_EVENT_ADDR_CHANGE)
		return 0;
	if (ev->event == RDMA_CM_EVENT_DISCONNECTED) {
		disconnected(rs);
		return 0;
	}
	switch (rs->state) {
	case RS_ADDR:
		if (ev->event == RDMA_CM_EVENT_ADDR_RESOLVED) {
			rs->tries = 0;
			return resolve_route(rs);
		}
		bad_event(ev);
		return again(rs) ? resolve_addr(rs) : -1;
	case RS_ROUTE:
		if (ev->event == RDMA_CM_EVENT_ROUTE_RESOLVED)
			return start_connect(rs);
		bad_event(ev);
		return again(rs) ? resolve_route(rs) : -1;
	case RS_CONNECTING:
		if (ev->event == RDMA_CM_EVENT_ESTABLISHED)
			return answered(rs, &ev->param.conn);
		return bad_event(ev);
	case RS_ACCEPTING:
		if (ev->event != RDMA_CM_EVENT_ESTABLISHED)
			return bad_event(ev);
		opened(rs);
		return 0;
	default:
		return ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL ? bad_event(ev) : 0;
	}
}

void rs_conn_advance(struct rs_sock *rs)
{
	struct rdma_cm_event *ev;
	int rc;

	while (rs->chan && !rs->request && !rdma_get_cm_event(rs->chan, &ev)) {
		if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			rs->request = ev;
			break;
		}
		rc = step(rs, ev);
		if (rc)
			rs_over(rs, errno);
		rdma_ack_cm_event(ev);
	}
}

static int open_channel(struct rs_sock *rs)
{
	rs->chan = rdma_create_event_channel();
	if (!rs->chan || rs_nonblock_fd(rs->chan->fd))
		return -1;
	return rs_watch(rs, rs->chan->fd);
}

static int open_stream(struct rs_sock *rs)
{
	rs->readable = rs->writable = true;
	return open_channel(rs) || rdma_create_id(rs->chan, &rs->id, rs, RDMA_PS_TCP) ? -1 : 0;
}

static struct rs_sock *make(int domain, int type)
{
	struct rs_sock *rs = rs_alloc(domain, type);

	if (!rs)
		return NULL;
	if ((type == SOCK_STREAM ? open_stream(rs) : rs_dg_open(rs)) || rs_publish(rs)) {
		rs_put(rs);
		return NULL;
	}
	return rs;
}

RS_EXPORT int rsocket(int domain, int type, int protocol)
{
	int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct rs_sock *rs;

	if (domain != AF_INET && domain != AF_INET6)
		return rs_fail(EAFNOSUPPORT);
	if (kind != SOCK_STREAM && kind != SOCK_DGRAM)
		return rs_fail(ENOTSUP);
	if (protocol && protocol != (kind == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP))
		return rs_fail(EPROTONOSUPPORT);
	rs = make(domain, kind);
	if (!rs)
		return -1;
	rs->nonblock = type & SOCK_NONBLOCK;
	return rs->fd;
}

static int bind_stream(struct rs_sock *rs, const struct sockaddr *addr)
{
	int rc;

	if (rs->bound || rs->state != RS_IDLE)
		return rs_fail(EINVAL);
	rc = rdma_bind_addr(rs->id, (struct sockaddr *)(uintptr_t)addr);
	rs->bound = !rc;
	return rc;
}

RS_EXPORT int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct rs_sock *rs = rs_get(socket);
	int rc;

	if (!rs)
		return -1;
	if (!addr || addrlen < sizeof(addr->sa_family) || !rs_addr_len(addr) ||
	    addrlen < rs_addr_len(addr))
		rc = rs_fail(EINVAL);
	else if (addr->sa_family != rs->domain)
		rc = rs_fail(EAFNOSUPPORT);
	else if (rs->type == SOCK_DGRAM)
		rc = rs_dg_bind(rs, addr, addrlen);
	else {
		pthread_mutex_lock(&rs->lock);
		rc = bind_stream(rs, addr);
		pthread_mutex_unlock(&rs->lock);
	}
	rs_put(rs);
	return rc;
}

RS_EXPORT int rlisten(int socket, int backlog)
{
	struct rs_sock *rs = rs_get(socket);
	int rc = 0;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	if (rs->type != SOCK_STREAM)
		rc = rs_fail(EOPNOTSUPP);
	else if (rs->state != RS_IDLE && rs->state != RS_LISTENING)
		rc = rs_fail(EINVAL);
	else if (rs->state == RS_IDLE)
		rc = rdma_listen(rs->id, backlog);
	if (!rc)
		rs->state = RS_LISTENING;
	pthread_mutex_unlock(&rs->lock);
	rs_put(rs);
	return rc;
}

static bool has_request(struct rs_sock *rs)
{
	return rs->request || rs->state != RS_LISTENING || rs->closing;
}

/* An accepted socket has its listener's options, but not its O_NONBLOCK: as Linux has it. */
static void inherit(struct rs_sock *rs, const struct rs_sock *from)
{
	rs->want = from->want;
	rs->so_flags = from->so_flags;
	rs->tcp_flags = from->tcp_flags;
	rs->v6only = from->v6only;
	rs->linger_on = from->linger_on;
	rs->linger_s = from->linger_s;
	rs->keep_idle = from->keep_idle;
	rs->keep_intvl = from->keep_intvl;
	rs->keep_cnt = from->keep_cnt;
	rs->readable = rs->writable = true;
}

static int accept_with(struct rs_sock *rs, const struct rsp_conn *peer,
		       const struct rdma_conn_param *asked)
{
	uint8_t data[RSP_CONN_LEN];
	struct rdma_conn_param param = {
		.private_data = data,
		.responder_resources = asked->responder_resources,
		.initiator_depth = asked->initiator_depth,
		.flow_control = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct rsp_conn mine;

	if (rs_ep_make(rs))
		return -1;
	rs_ep_learn(rs, peer);
	rs_ep_describe(rs, &mine);
	param.private_data_len = (uint8_t)rsp_conn_put(&mine, data);
	rs->state = RS_ACCEPTING;
	return rdma_accept(rs->id, &param);
}

/* A request becomes a socket, or is rejected. */
static struct rs_sock *take_request(const struct rs_sock *listener, struct rdma_cm_event *ev)
{
	struct rdma_conn_param asked = ev->param.conn;
	struct rdma_cm_id *id = ev->id;
	struct rs_sock *rs = NULL;
	struct rsp_conn peer;
	int rc = rsp_conn_get(asked.private_data, asked.private_data_len, &peer);

	rdma_ack_cm_event(ev);
	if (rc)
		errno = EPROTO;
	else
		rs = rs_alloc(listener->domain, SOCK_STREAM);
	if (!rs)
		goto reject;
	inherit(rs, listener);
	if (open_channel(rs) || rdma_migrate_id(id, rs->chan))
		goto drop;
	rs->id = id;
	id->context = rs;
	memcpy(&rs->peer, rdma_get_peer_addr(id), rs_addr_len(rdma_get_peer_addr(id)));
	if (!accept_with(rs, &peer, &asked) && !rs_publish(rs))
		return rs;
	rc = errno;
	rdma_reject(id, NULL, 0);
	rs_put(rs);
	errno = rc;
	return NULL;
drop:
	rs_put(rs);
reject:
	rc = errno;
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
	errno = rc;
	return NULL;
}

static int next_request(struct rs_sock *rs, struct rdma_cm_event **ret)
{
	int rc = rs_fail(EINVAL);

	pthread_mutex_lock(&rs->lock);
	if (rs->state == RS_LISTENING)
		rc = rs_wait(rs, has_request, rs->nonblock ? 0 : RS_FOREVER);
	if (!rc && !rs->request)
		rc = rs_fail(EINVAL);
	if (!rc) {
		*ret = rs->request;
		rs->request = NULL;
	}
	pthread_mutex_unlock(&rs->lock);
	return rc;
}

RS_EXPORT int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs_sock *rs = rs_get(socket), *conn = NULL;
	struct rdma_cm_event *ev;

	if (!rs)
		return -1;
	/* A peer's nonsense is not the program's: the next request, please. */
	while (!conn && !next_request(rs, &ev)) {
		conn = take_request(rs, ev);
		if (!conn && errno != EPROTO)
			break;
	}
	rs_put(rs);
	if (!conn)
		return -1;
	if (addr && addrlen)
		rs_addr_out(&conn->peer.sa, addr, addrlen);
	return conn->fd;
}

static bool settled(struct rs_sock *rs)
{
	return rs->state == RS_OPEN || rs->state == RS_OVER || rs->closing;
}

static int connect_stream(struct rs_sock *rs, const struct sockaddr *addr)
{
	switch (rs->state) {
	case RS_IDLE:
		memcpy(&rs->peer, addr, rs_addr_len(addr));
		rs->tries = 0;
		if (resolve_addr(rs)) {
			rs->state = RS_IDLE;
			return -1;
		}
		break;
	case RS_ADDR:
	case RS_ROUTE:
	case RS_CONNECTING:
		if (rs->nonblock) {
			rs_look(rs, true);
			if (!settled(rs))
				return rs_fail(EALREADY);
		}
		break;
	case RS_LISTENING:
		return rs_fail(EINVAL);
	default:
		return rs_fail(EISCONN);
	}
	if (rs_wait(rs, settled, rs->nonblock ? 0 : RS_FOREVER))
		return errno == EAGAIN ? rs_fail(EINPROGRESS) : -1;
	if (rs->state == RS_OPEN)
		return 0;
	errno = rs->error ? rs->error : ECONNABORTED;
	rs->error = 0;
	return -1;
}

RS_EXPORT int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct rs_sock *rs = rs_get(socket);
	int rc;

	if (!rs)
		return -1;
	if (rs->type == SOCK_DGRAM) {
		rc = rs_dg_connect(rs, addr, addrlen);
	} else if (!addr || addrlen < sizeof(addr->sa_family) || !rs_addr_len(addr) ||
		   addrlen < rs_addr_len(addr)) {
		rc = rs_fail(EINVAL);
	} else if (addr->sa_family != rs->domain) {
		rc = rs_fail(EAFNOSUPPORT);
	} else {
		pthread_mutex_lock(&rs->lock);
		rc = connect_stream(rs, addr);
		pthread_mutex_unlock(&rs->lock);
	}
	rs_put(rs);
	return rc;
}

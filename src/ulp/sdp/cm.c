/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/cm.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>

#define READS 4                         /* RDMA Reads outstanding in either direction, as OFED's */
#define MAX_ADVERTS 1

static int event_errno(const struct rdma_cm_event *ev)
{
	switch (ev->event) {
	case RDMA_CM_EVENT_REJECTED:
		return ECONNREFUSED;
	case RDMA_CM_EVENT_UNREACHABLE:
		return ev->status < 0 ? -ev->status : ETIMEDOUT;
	default:
		return ev->status < 0 ? -ev->status : ENETUNREACH;
	}
}

/* What the peer's Hello or HelloAck says of its receives. */
static void take_hello(struct sdp_conn *c, const struct sdp_hello *h)
{
	c->send_max = h->receive_size < c->conf.receive_size ? h->receive_size : c->conf.receive_size;
	sdp_flow_begin(&c->flow, c->flow.posted, h->bufs);
}

static int take_ack(struct sdp_conn *c, const struct rdma_cm_event *ev)
{
	struct sdp_hello h;
	enum sdp_verdict v = sdp_hello_ack_get(&h, ev->param.conn.private_data, ev->param.conn.private_data_len);

	if (v)
		return sdp_fail_rule(c, v);
	take_hello(c, &h);
	return 0;
}

static int take_event(struct sdp_conn *c, const struct rdma_cm_event *ev, bool active)
{
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	case RDMA_CM_EVENT_ESTABLISHED:
		c->established = true;
		return active ? take_ack(c, ev) : 0;
	case RDMA_CM_EVENT_DISCONNECTED:
		c->disconnected = true;
		return 0;
	case RDMA_CM_EVENT_REJECTED:
		return sdp_fail(c, ECONNREFUSED, "the peer refuses the connection (reason %d)", ev->status);
	default:
		return sdp_fail(c, event_errno(ev), "%s (%s)", rdma_event_str(ev->event), strerror(event_errno(ev)));
	}
}

/* Takes one event. Returns it, or a negative errno; -EAGAIN: there is none. */
static int next_event(struct sdp_conn *c, bool active)
{
	struct rdma_cm_event *ev;
	int r, kind;

	if (rdma_get_cm_event(c->events, &ev))
		return errno == EAGAIN || errno == EINTR ? -EAGAIN
			: sdp_fail(c, errno, "events of the connection cannot be read (%s)", strerror(errno));
	kind = (int)ev->event;
	r = take_event(c, ev, active);
	rdma_ack_cm_event(ev);
	return r ? r : kind;
}

static int await(struct sdp_conn *c, enum rdma_cm_event_type wanted, bool active, int timeout_ms)
{
	struct pollfd p = { c->events->fd, POLLIN, 0 };
	int64_t end = sdp_now_ms() + timeout_ms, left;
	int r;

	while ((r = next_event(c, active)) != (int)wanted) {
		if (c->disconnected)
			return sdp_fail(c, ECONNRESET, "the peer ends the connection before it stands");
		if (r != -EAGAIN && r < 0)
			return r;
		left = end - sdp_now_ms();
		if (left <= 0)
			return sdp_fail(c, ETIMEDOUT, "the peer does not answer");
		if (r == -EAGAIN && poll(&p, 1, (int)left) < 0 && errno != EINTR)
			return sdp_fail(c, errno, "poll fails (%s)", strerror(errno));
	}
	return 0;
}

static int open_channel(struct sdp_conn *c)
{
	c->events = rdma_create_event_channel();
	if (!c->events)
		return sdp_fail(c, errno, "there is no RDMA connection manager (%s)", strerror(errno));
	if (fcntl(c->events->fd, F_SETFL, fcntl(c->events->fd, F_GETFL) | O_NONBLOCK))
		return sdp_fail(c, errno, "the event channel cannot be set up (%s)", strerror(errno));
	return 0;
}

int sdp_cm_resolve(struct sdp_conn *c, const struct sockaddr *from, const struct sockaddr *to, int timeout_ms)
{
	int r = open_channel(c);

	if (r)
		return r;
	if (rdma_create_id(c->events, &c->id, c, (enum rdma_port_space)SDP_PORT_SPACE))
		return sdp_fail(c, errno, "the connection manager has no port space for SDP (%s); run the program under "
				"dapple run", strerror(errno));
	if (from && rdma_bind_addr(c->id, (struct sockaddr *)(uintptr_t)from))
		return sdp_fail(c, errno, "the local address cannot be used (%s)", strerror(errno));
	if (rdma_resolve_addr(c->id, NULL, (struct sockaddr *)(uintptr_t)to, timeout_ms))
		return sdp_fail(c, errno, "the address is not resolved (%s)", strerror(errno));
	r = await(c, RDMA_CM_EVENT_ADDR_RESOLVED, true, timeout_ms);
	if (r)
		return r;
	if (rdma_resolve_route(c->id, timeout_ms))
		return sdp_fail(c, errno, "the route is not resolved (%s)", strerror(errno));
	return await(c, RDMA_CM_EVENT_ROUTE_RESOLVED, true, timeout_ms);
}

static size_t sockaddr_len(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static void read_names(struct sdp_conn *c)
{
	const struct sockaddr *local = rdma_get_local_addr(c->id), *peer = rdma_get_peer_addr(c->id);

	memcpy(&c->local, local, sockaddr_len(local));
	memcpy(&c->peer, peer, sockaddr_len(peer));
}

static struct sdp_hello ours(const struct sdp_conn *c)
{
	return (struct sdp_hello){ .bufs = (uint16_t)c->flow.posted, .receive_size = c->conf.receive_size,
				   .wanted_size = c->conf.receive_size, .max_adverts = MAX_ADVERTS,
				   .from = c->local, .to = c->peer };
}

static struct rdma_conn_param param(const uint8_t *data, uint8_t len)
{
	return (struct rdma_conn_param){ .private_data = data, .private_data_len = len, .responder_resources = READS,
					 .initiator_depth = READS, .retry_count = 7, .rnr_retry_count = 7 };
}

int sdp_cm_connect(struct sdp_conn *c, int timeout_ms)
{
	uint8_t data[WIRE_SDP_HELLO_LEN];
	struct rdma_conn_param p = param(data, sizeof(data));
	struct sdp_hello h;
	int r;

	read_names(c);
	h = ours(c);
	sdp_hello_put(data, &h);
	if (rdma_connect(c->id, &p))
		return sdp_fail(c, errno, "the connection cannot be requested (%s)", strerror(errno));
	r = await(c, RDMA_CM_EVENT_ESTABLISHED, true, timeout_ms);
	read_names(c); /* over TCP the local port is known now */
	return r;
}

int sdp_cm_adopt(struct sdp_conn *c, struct rdma_cm_id *id, const void *data, size_t len)
{
	struct sdp_hello h;
	enum sdp_verdict v = sdp_hello_get(&h, data, len);
	int r;

	c->id = id;
	if (v) {
		rdma_reject(id, NULL, 0);
		return sdp_fail_rule(c, v);
	}
	take_hello(c, &h);
	r = open_channel(c);
	if (r)
		return r;
	if (rdma_migrate_id(id, c->events))
		return sdp_fail(c, errno, "the request cannot be moved to a channel of its own (%s)", strerror(errno));
	id->context = c;
	read_names(c);
	return 0;
}

int sdp_cm_accept(struct sdp_conn *c, int timeout_ms)
{
	uint8_t data[WIRE_SDP_HELLO_ACK_LEN];
	struct rdma_conn_param p = param(data, sizeof(data));
	struct sdp_hello h = ours(c);

	sdp_flow_begin(&c->flow, c->flow.posted, c->flow.bufs);
	sdp_hello_ack_put(data, &h);
	if (rdma_accept(c->id, &p))
		return sdp_fail(c, errno, "the connection cannot be accepted (%s)", strerror(errno));
	return await(c, RDMA_CM_EVENT_ESTABLISHED, false, timeout_ms);
}

int sdp_cm_progress(struct sdp_conn *c)
{
	int r;

	while ((r = next_event(c, false)) >= 0)
		;
	return r == -EAGAIN ? 0 : r;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/cm.h"

#include <errno.h>
#include <netinet/in.h>

#define READS 4                         /* RDMA Reads outstanding in either direction, as OFED's */

/* What the peer's Hello or HelloAck says of its receives. */
static void take_hello(struct sdp_conn *c, const struct sdp_hello *h)
{
	c->send_max = h->receive_size < sdp_send_size(c) ? h->receive_size : sdp_send_size(c);
	c->peer_adverts = h->max_adverts;
	sdp_out_begin(&c->out);
	sdp_in_begin(&c->in);
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

static int take_event(struct ulp_conn *u, const struct rdma_cm_event *ev)
{
	struct sdp_conn *c = (struct sdp_conn *)u;
	bool stood;

	if (ulp_is_step(ev))
		return 0;
	switch (ev->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		c->standing = SDP_ESTABLISHED;
		return c->active ? take_ack(c, ev) : 0;
	case RDMA_CM_EVENT_DISCONNECTED:
		stood = c->standing != SDP_CONNECTING;
		sdp_disconnected(c);
		return stood ? 0 : ulp_end(u, ECONNRESET, "the peer ends the connection before it stands");
	default:
		return ulp_unexpected(u, ev, ENETUNREACH);
	}
}

int sdp_cm_resolve(struct sdp_conn *c, const struct sockaddr *from, const struct sockaddr *to, int timeout_ms)
{
	int r;

	c->rdma.take_event = take_event;
	c->active = true;
	r = c->rdma.events ? 0 : ulp_open(&c->rdma);
	if (r)
		return r;
	if (rdma_create_id(c->rdma.events, &c->rdma.id, c, (enum rdma_port_space)SDP_PORT_SPACE))
		return ulp_end(&c->rdma, errno, "the connection manager has no port space for SDP (%s); run the program "
			       "under dapple run", strerror(errno));
	if (from && rdma_bind_addr(c->rdma.id, (struct sockaddr *)(uintptr_t)from))
		return ulp_end(&c->rdma, errno, "the local address cannot be used (%s)", strerror(errno));
	return ulp_resolve(&c->rdma, to, timeout_ms);
}

static size_t sockaddr_len(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static void read_names(struct sdp_conn *c)
{
	const struct sockaddr *local = rdma_get_local_addr(c->rdma.id), *peer = rdma_get_peer_addr(c->rdma.id);

	memcpy(&c->local, local, sockaddr_len(local));
	memcpy(&c->peer, peer, sockaddr_len(peer));
}

static struct sdp_hello ours(const struct sdp_conn *c)
{
	return (struct sdp_hello){ .bufs = (uint16_t)c->flow.posted, .receive_size = sdp_receive_size(c),
				   .wanted_size = c->conf.receive_size, .max_adverts = SDP_MAX_ADVERTS,
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
	if (rdma_connect(c->rdma.id, &p))
		return ulp_end(&c->rdma, errno, "the connection cannot be requested (%s)", strerror(errno));
	r = ulp_await(&c->rdma, RDMA_CM_EVENT_ESTABLISHED, timeout_ms);
	read_names(c); /* over TCP the local port is known now */
	return r;
}

int sdp_cm_adopt(struct sdp_conn *c, struct rdma_cm_id *id, const void *data, size_t len)
{
	struct sdp_hello h;
	enum sdp_verdict v = sdp_hello_get(&h, data, len);
	int r;

	c->rdma.take_event = take_event;
	if (v) {
		c->rdma.id = id;
		rdma_reject(id, NULL, 0);
		return sdp_fail_rule(c, v);
	}
	take_hello(c, &h);
	r = ulp_adopt(&c->rdma, id);
	if (!r)
		read_names(c);
	return r;
}

int sdp_cm_accept(struct sdp_conn *c, int timeout_ms)
{
	uint8_t data[WIRE_SDP_HELLO_ACK_LEN];
	struct rdma_conn_param p = param(data, sizeof(data));
	struct sdp_hello h = ours(c);

	sdp_flow_begin(&c->flow, c->flow.posted, c->flow.bufs);
	sdp_hello_ack_put(data, &h);
	if (rdma_accept(c->rdma.id, &p))
		return ulp_end(&c->rdma, errno, "the connection cannot be accepted (%s)", strerror(errno));
	return ulp_await(&c->rdma, RDMA_CM_EVENT_ESTABLISHED, timeout_ms);
}

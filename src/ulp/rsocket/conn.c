/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stream becomes CONNECTED in steps: address and route are resolved, the queue pair is created,
 * connection data is exchanged. The identifier is asynchronous and its channel never blocks: any
 * thread inside a call or rpoll() takes the next step when its event has come. After that the
 * channel reports the peer's disconnect.
 */
#include "ulp/rsocket/conn.h"
#include "ulp/rsocket/cq.h"
#include "ulp/rsocket/ep.h"
#include "ulp/rsocket/table.h"
#include "ulp/rsocket/wait.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 6
#define FIRST_TIMEOUT_MS 1000

static int refuse(struct rs_sock *s, int err)
{
	pthread_mutex_lock(&s->c);
	rs_end(s, RS_REFUSED, err);
	pthread_mutex_unlock(&s->c);
	return -err;
}

/* The status of an event is a negative errno, except that of a rejection, which is a reason. */
static int errno_of(const struct rdma_cm_event *ev)
{
	int given = ev->status < 0 ? -ev->status : 0;

	switch (ev->event) {
	case RDMA_CM_EVENT_REJECTED:
		return ECONNREFUSED;
	case RDMA_CM_EVENT_UNREACHABLE:
		return given ? given : ETIMEDOUT;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return given ? given : EHOSTUNREACH;
	case RDMA_CM_EVENT_DISCONNECTED:
		return ECONNRESET;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return ENODEV;
	default:
		return given ? given : ECONNABORTED;
	}
}

void rs_conn_data(struct rs_sock *s, struct rs_conn *ret)
{
	*ret = (struct rs_conn){
		.big_endian = __BYTE_ORDER == __BIG_ENDIAN,
		.iomap = true,
		.credits = (uint16_t)s->o.rq_size,
		.iomap_size = s->o.iomap_size,
		.sgl = { (uintptr_t)s->target_list, s->tmr->rkey, RS_SGL_SIZE },
		.data = { (uintptr_t)s->rbuf, s->rmr->rkey, s->o.rbuf_size / 2 },
	};
}

int rs_conn_take(struct rs_sock *s, const void *data, size_t len)
{
	struct rs_conn peer;
	int r = rs_conn_get(&peer, data, len);

	if (r)
		return r;
	pthread_mutex_lock(&s->c);
	s->swap = peer.big_endian != (__BYTE_ORDER == __BIG_ENDIAN);
	s->peer_list = peer.sgl.addr;
	s->peer_list_key = peer.sgl.key;
	s->peer_iomap = peer.sgl.addr + peer.sgl.length * sizeof(struct rs_sge);
	s->peer_iomap_size = peer.iomap_size;
	rs_flow_connect(&s->flow, &peer);
	s->active = rs_now();
	pthread_mutex_unlock(&s->c);
	return 0;
}

static int resolve_addr(struct rs_sock *s)
{
	s->state = RS_ADDR;
	if (rdma_resolve_addr(s->id, NULL, (struct sockaddr *)&s->peer,
			      FIRST_TIMEOUT_MS << s->tries++))
		return refuse(s, errno);
	return -EINPROGRESS;
}

static int resolve_route(struct rs_sock *s)
{
	int r;

	s->state = RS_ROUTE;
	if (s->route)
		r = rdma_set_option(s->id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, s->route,
				    s->route_len);
	else
		r = rdma_resolve_route(s->id, FIRST_TIMEOUT_MS << s->tries++);
	return r ? refuse(s, errno) : -EINPROGRESS;
}

static int send_request(struct rs_sock *s)
{
	uint8_t data[RS_CONN_LEN];
	struct rdma_conn_param param = { .private_data = data, .private_data_len = sizeof(data),
					 .flow_control = 1, .retry_count = 7,
					 .rnr_retry_count = 7 };
	struct rs_conn conn;
	int r = rs_ep_create(s);

	if (r)
		return refuse(s, -r);
	rs_conn_data(s, &conn);
	rs_conn_put(data, &conn);
	/* An iWARP peer may ask for a Read as its ready-to-receive message (RFC 6581). */
	if (s->msg_send)
		param.initiator_depth = 1;
	s->state = RS_CONNECTING;
	if (rdma_connect(s->id, &param))
		return refuse(s, errno);
	s->cm_up = true;
	return -EINPROGRESS;
}

static void connected(struct rs_sock *s)
{
	pthread_mutex_lock(&s->c);
	s->cm_up = true;
	s->state = RS_CONNECTED;
	rs_cq_drive(s);
	rs_sleepers_wake(s->sleepers, -1);
	pthread_mutex_unlock(&s->c);
}

void rs_conn_explained(struct rs_sock *s, int err)
{
	if (s->unexplained && err) {
		s->state = RS_BROKEN;
		s->err = err;
	}
	s->unexplained = false;
	rs_sleepers_wake(s->sleepers, -1);
}

static void peer_ended(struct rs_sock *s, int err)
{
	pthread_mutex_lock(&s->c);
	/* Data that the peer sent before its disconnect has arrived already. */
	rs_cq_drive(s);
	rs_end(s, err ? RS_BROKEN : RS_GONE, err);
	rs_conn_explained(s, err);
	pthread_mutex_unlock(&s->c);
	rs_conn_down(s);
}

static int established(struct rs_sock *s, const void *data, size_t len)
{
	int r = s->state == RS_CONNECTING ? rs_conn_take(s, data, len) : 0;

	if (r) {
		rs_conn_down(s);
		return refuse(s, -r);
	}
	connected(s);
	return 0;
}

static void retry(struct rs_sock *s, int err, int (*again)(struct rs_sock *s))
{
	if (err == ETIMEDOUT && s->tries <= TRIES)
		again(s);
	else
		refuse(s, err);
}

/* Each waiting state has one event that continues it; all others end it. */
static void on_event(struct rs_sock *s, const struct rdma_cm_event *ev, const void *data)
{
	int err = errno_of(ev);

	switch (atomic_load(&s->state)) {
	case RS_ADDR:
		if (ev->event == RDMA_CM_EVENT_ADDR_RESOLVED) {
			s->tries = 0;
			resolve_route(s);
		} else {
			retry(s, err, resolve_addr);
		}
		break;
	case RS_ROUTE:
		if (ev->event == RDMA_CM_EVENT_ROUTE_RESOLVED)
			send_request(s);
		else
			retry(s, err, resolve_route);
		break;
	case RS_CONNECTING:
	case RS_ACCEPTING:
		if (ev->event == RDMA_CM_EVENT_ESTABLISHED)
			established(s, data, ev->param.conn.private_data_len);
		else if (ev->event != RDMA_CM_EVENT_ADDR_CHANGE)
			refuse(s, err);
		break;
	default:
		/* iWARP's status tells a reset from an end in order; RoCE's has no such meaning. */
		if (ev->event == RDMA_CM_EVENT_DISCONNECTED)
			peer_ended(s, s->msg_send && ev->status < 0 ? err : 0);
		else if (ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			peer_ended(s, ENODEV);
	}
}

/* Events are acknowledged before they are handled. Called with m held. */
static void take_events(struct rs_sock *s)
{
	struct rdma_cm_event *ev, copy;
	uint8_t data[256];

	while (!rdma_get_cm_event(s->channel, &ev)) {
		copy = *ev;
		if (ev->event == RDMA_CM_EVENT_ESTABLISHED && ev->param.conn.private_data)
			memcpy(data, ev->param.conn.private_data, ev->param.conn.private_data_len);
		else
			copy.param.conn.private_data_len = 0;
		rdma_ack_cm_event(ev);
		on_event(s, &copy, data);
	}
}

static int outcome(struct rs_sock *s)
{
	int err;

	if (rs_opening(s->state))
		return -EINPROGRESS;
	if (s->state != RS_REFUSED)
		return 0;
	pthread_mutex_lock(&s->c);
	err = rs_take_err(s);
	pthread_mutex_unlock(&s->c);
	return err ? -err : -ENOTCONN;
}

int rs_conn_step(struct rs_sock *s)
{
	int state = rs_cancel_off(), keep = errno, r;

	pthread_mutex_lock(&s->m);
	if (rs_opening(s->state))
		take_events(s);
	if (s->state == RS_ACCEPTING) {
		pthread_mutex_lock(&s->c);
		rs_cq_drive(s);
		pthread_mutex_unlock(&s->c);
	}
	/* The error stays pending for the next call or SO_ERROR; rpoll() must not consume it. */
	r = rs_opening(s->state) ? -EINPROGRESS : 0;
	pthread_mutex_unlock(&s->m);
	rs_cancel_back(state);
	errno = keep;
	return r;
}

int rs_conn_start(struct rs_sock *s)
{
	s->tries = 0;
	return resolve_addr(s);
}

/* For callers that never wait: they learn of the peer's disconnect within a millisecond. */
void rs_conn_look(struct rs_sock *s, bool now)
{
	uint64_t t = rs_now();
	int state, keep = errno;

	if (s->type != SOCK_STREAM || (!now && t - atomic_load(&s->looked) < 1000))
		return;
	atomic_store(&s->looked, t);
	state = rs_cancel_off();
	pthread_mutex_lock(&s->m);
	if (s->state != RS_LISTENING)
		take_events(s);
	pthread_mutex_unlock(&s->m);
	rs_cancel_back(state);
	errno = keep;
}

void rs_conn_down(struct rs_sock *s)
{
	if (s->cm_up)
		rdma_disconnect(s->id);
	s->cm_up = false;
}

static bool test_open(struct rs_sock *s)
{
	return !rs_opening(s->state);
}

int rs_conn_wait(struct rs_sock *s, int flags)
{
	enum rs_state now = s->state;
	int r;

	if (now == RS_CONNECTED || rs_ended(now))
		return 0;
	r = rs_conn_step(s);
	while (r == -EINPROGRESS) {
		if (rs_nowait(s, flags))
			return -EAGAIN;
		r = rs_wait(s, test_open, false, -1);
		if (!r)
			r = rs_conn_step(s);
	}
	return r ? r : outcome(s);
}

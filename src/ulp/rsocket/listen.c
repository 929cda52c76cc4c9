/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests are taken off the channel and kept until raccept(); a request with bad connection data is
 * rejected at once. raccept() returns a new connection before the peer's RTU or ready-to-receive
 * message (state ACCEPTING), so that a slow peer delays no other.
 */
#include "ulp/rsocket/listen.h"
#include "ulp/rsocket/conn.h"
#include "ulp/rsocket/ep.h"
#include "ulp/rsocket/table.h"
#include "ulp/rsocket/wait.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS_MAX 1024               /* more wait in the channel and in the backlog */

struct rs_request {
	struct rs_request *next;
	struct rdma_cm_id *id;
	struct rdma_conn_param param;
	uint8_t data[RS_CONN_LEN];
};

static void reject(struct rdma_cm_id *id)
{
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
}

static void keep_request(struct rs_sock *s, struct rdma_cm_id *id,
			 const struct rdma_conn_param *param, const uint8_t *data, bool good)
{
	struct rs_request *q = good ? malloc(sizeof(*q)) : NULL;

	if (!q) {
		reject(id);
		return;
	}
	*q = (struct rs_request){ .id = id, .param = *param };
	memcpy(q->data, data, sizeof(q->data));
	*s->last_request = q;
	s->last_request = &q->next;
	s->nr_requests++;
}

static struct rs_request *unlink_request(struct rs_sock *s, struct rs_request **at)
{
	struct rs_request *q = *at;

	*at = q->next;
	if (!q->next)
		s->last_request = at;
	s->nr_requests--;
	return q;
}

/* The peer has ended its request before raccept(). */
static void forget_request(struct rs_sock *s, struct rdma_cm_id *id)
{
	for (struct rs_request **at = &s->requests; *at; at = &(*at)->next) {
		if ((*at)->id == id) {
			free(unlink_request(s, at));
			rdma_destroy_id(id);
			return;
		}
	}
}

static void take(struct rs_sock *s)
{
	uint8_t data[RS_CONN_LEN] = { 0 };
	struct rdma_cm_event *ev, copy;
	struct rs_conn conn;

	while (s->nr_requests < REQUESTS_MAX && !rdma_get_cm_event(s->channel, &ev)) {
		bool good;

		copy = *ev;
		good = ev->event == RDMA_CM_EVENT_CONNECT_REQUEST &&
		       !rs_conn_get(&conn, ev->param.conn.private_data,
				    ev->param.conn.private_data_len);
		if (good)
			memcpy(data, ev->param.conn.private_data, sizeof(data));
		rdma_ack_cm_event(ev);
		if (copy.event == RDMA_CM_EVENT_CONNECT_REQUEST)
			keep_request(s, copy.id, &copy.param.conn, data, good);
		else if (copy.id != s->id)
			forget_request(s, copy.id);
	}
}

int rs_listen_look(struct rs_sock *s)
{
	int state = rs_cancel_off(), keep = errno, nr;

	pthread_mutex_lock(&s->m);
	take(s);
	nr = (int)s->nr_requests;
	pthread_mutex_unlock(&s->m);
	rs_cancel_back(state);
	errno = keep;
	return nr;
}

static struct rs_request *next_request(struct rs_sock *s)
{
	struct rs_request *q = NULL;

	if (!rs_listen_look(s))
		return NULL;
	pthread_mutex_lock(&s->m);
	if (s->requests)
		q = unlink_request(s, &s->requests);
	pthread_mutex_unlock(&s->m);
	return q;
}

void rs_listen_free(struct rs_sock *s)
{
	while (s->requests) {
		struct rs_request *q = unlink_request(s, &s->requests);

		reject(q->id);
		free(q);
	}
}

/* On success the new socket owns the request's identifier. */
static int adopt(struct rs_sock *s, struct rs_request *q)
{
	s->channel = rdma_create_event_channel();
	if (!s->channel)
		return -errno;
	if (fcntl(s->channel->fd, F_SETFL, O_NONBLOCK) || rdma_migrate_id(q->id, s->channel))
		return -errno;
	s->id = q->id;
	s->id->context = s;
	memcpy(&s->peer, rdma_get_peer_addr(s->id), rs_addr_len(rdma_get_peer_addr(s->id)));
	return 0;
}

static int answer(struct rs_sock *s, struct rs_request *q)
{
	uint8_t data[RS_CONN_LEN];
	struct rs_conn conn;
	int r = rs_ep_create(s);

	if (!r)
		r = rs_conn_take(s, q->data, sizeof(q->data));
	if (r)
		return r;
	rs_conn_data(s, &conn);
	rs_conn_put(data, &conn);
	q->param.private_data = data;
	q->param.private_data_len = sizeof(data);
	s->state = RS_ACCEPTING;
	s->cm_up = true;
	return rdma_accept(s->id, &q->param) ? -errno : 0;
}

/* Makes a new socket from a request, which is freed in any case. */
static int make(struct rs_sock *from, struct rs_request *q)
{
	struct rs_sock *s = rs_new(SOCK_STREAM, from->family, &from->o);
	int r = s ? adopt(s, q) : -ENOMEM;

	if (r) {
		reject(q->id);
	} else {
		r = answer(s, q);
		if (r)
			rdma_reject(s->id, NULL, 0);
	}
	free(q);
	if (!r)
		r = rs_publish(s, s->channel->fd);
	if (r < 0 && s)
		rs_put(s);
	return r;
}

static bool test_listen(struct rs_sock *s)
{
	return s->state != RS_LISTENING || s->requests;
}

int rs_accept(struct rs_sock *s)
{
	struct rs_request *q;
	int state, r;

	if (s->type != SOCK_STREAM)
		return -EOPNOTSUPP;
	if (s->state != RS_LISTENING)
		return -EINVAL;
	while (!(q = next_request(s))) {
		if (s->state != RS_LISTENING)
			return -EINVAL;
		if (atomic_load(&s->nonblock))
			return -EAGAIN;
		r = rs_wait(s, test_listen, false, -1);
		if (r)
			return r;
	}
	state = rs_cancel_off();
	r = make(s, q);
	rs_cancel_back(state);
	return r;
}

/* An unbound socket listens on any address of its family. */
static int bind_any(struct rs_sock *s)
{
	struct sockaddr_storage any = { .ss_family = (sa_family_t)s->family };

	return rdma_bind_addr(s->id, (struct sockaddr *)&any) ? -errno : 0;
}

static int listen_on(struct rs_sock *s, int backlog)
{
	int r = 0;

	if (s->state == RS_LISTENING)
		return 0;
	if (s->state > RS_BOUND)
		return -EINVAL;
	if (s->state == RS_INIT)
		r = bind_any(s);
	if (!r && rdma_listen(s->id, backlog < 0 ? 0 : backlog))
		r = -errno;
	if (!r)
		s->state = RS_LISTENING;
	return r;
}

int rs_listen(struct rs_sock *s, int backlog)
{
	int state = rs_cancel_off(), r;

	pthread_mutex_lock(&s->m);
	r = s->type == SOCK_STREAM ? listen_on(s, backlog) : -EOPNOTSUPP;
	pthread_mutex_unlock(&s->m);
	rs_cancel_back(state);
	return r;
}

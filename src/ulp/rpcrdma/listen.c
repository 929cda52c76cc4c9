/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rpr_listener {
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
};

static bool begin(struct rpr_listener *l, const struct sockaddr *at, int backlog)
{
	l->events = rdma_create_event_channel();
	return l->events && !fcntl(l->events->fd, F_SETFL, fcntl(l->events->fd, F_GETFL) | O_NONBLOCK) &&
	       !rdma_create_id(l->events, &l->id, NULL, RDMA_PS_TCP) &&
	       !rdma_bind_addr(l->id, (struct sockaddr *)(uintptr_t)at) && !rdma_listen(l->id, backlog);
}

struct rpr_listener *rpr_listen(const struct sockaddr *at, int backlog, char why[RPR_WHY_MAX])
{
	struct rpr_listener *l = calloc(1, sizeof(*l));

	if (l && begin(l, at, backlog))
		return l;
	snprintf(why, RPR_WHY_MAX, "%s", strerror(errno));
	if (l)
		rpr_listener_close(l);
	return NULL;
}

int rpr_listener_fd(const struct rpr_listener *l)
{
	return l->events->fd;
}

uint16_t rpr_listener_port(const struct rpr_listener *l)
{
	return be16toh(rdma_get_src_port(l->id));
}

static void take(struct rpr_request *q, const struct rdma_cm_event *ev)
{
	q->id = ev->id;
	q->len = ev->param.conn.private_data ? ev->param.conn.private_data_len : 0;
	memcpy(q->data, ev->param.conn.private_data ? ev->param.conn.private_data : "", q->len);
	memset(&q->from, 0, sizeof(q->from));
	memcpy(&q->from, rdma_get_peer_addr(ev->id), sizeof(struct sockaddr_in6));
}

int rpr_listener_next(struct rpr_listener *l, struct rpr_request *ret)
{
	struct rdma_cm_event *ev;
	bool is_request = false;

	while (!is_request) {
		if (rdma_get_cm_event(l->events, &ev))
			return -errno;
		is_request = ev->event == RDMA_CM_EVENT_CONNECT_REQUEST;
		if (is_request)
			take(ret, ev);
		rdma_ack_cm_event(ev);
	}
	return 0;
}

void rpr_request_refuse(struct rpr_request *q)
{
	rdma_reject(q->id, NULL, 0);
	rdma_destroy_id(q->id);
}

void rpr_listener_close(struct rpr_listener *l)
{
	struct rpr_request q;

	while (l->id && !rpr_listener_next(l, &q))
		rpr_request_refuse(&q);
	if (l->id)
		rdma_destroy_id(l->id);
	if (l->events)
		rdma_destroy_event_channel(l->events);
	free(l);
}

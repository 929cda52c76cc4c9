/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct ulp_listener {
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
};

static bool begin(struct ulp_listener *l, struct sockaddr *at, unsigned space, int v6only, int backlog)
{
	int reuse = 1;

	l->events = rdma_create_event_channel();
	if (!l->events || fcntl(l->events->fd, F_SETFL, fcntl(l->events->fd, F_GETFL) | O_NONBLOCK) ||
	    rdma_create_id(l->events, &l->id, NULL, (enum rdma_port_space)space))
		return false;
	if (at->sa_family == AF_INET6 && v6only >= 0 &&
	    rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &v6only, sizeof(v6only)))
		return false;
	/* Connections of an earlier listener may still have the port; a listener that waits has it alone. */
	rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &reuse, sizeof(reuse));
	if (rdma_bind_addr(l->id, at) || rdma_listen(l->id, backlog))
		return false;
	((struct sockaddr_in *)at)->sin_port = rdma_get_src_port(l->id); /* the same place in both families */
	return true;
}

struct ulp_listener *ulp_listen(struct sockaddr *at, unsigned space, int v6only, int backlog)
{
	struct ulp_listener *l = calloc(1, sizeof(*l));
	int err;

	if (l && begin(l, at, space, v6only, backlog))
		return l;
	err = errno;
	if (l)
		ulp_listener_close(l);
	errno = err;
	return NULL;
}

struct ibv_context *ulp_listener_verbs(const struct ulp_listener *l)
{
	return l->id->verbs;
}

uint8_t ulp_listener_port(const struct ulp_listener *l)
{
	return l->id->port_num;
}

int ulp_listener_fd(const struct ulp_listener *l)
{
	return l->events->fd;
}

static void take(struct ulp_request *q, const struct rdma_cm_event *ev)
{
	q->id = ev->id;
	q->len = ev->param.conn.private_data ? ev->param.conn.private_data_len : 0;
	memcpy(q->data, ev->param.conn.private_data ? ev->param.conn.private_data : "", q->len);
	memset(&q->from, 0, sizeof(q->from));
	memcpy(&q->from, rdma_get_peer_addr(ev->id), sizeof(struct sockaddr_in6));
}

int ulp_listener_next(struct ulp_listener *l, struct ulp_request *ret)
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

void ulp_request_refuse(struct ulp_request *q)
{
	rdma_reject(q->id, NULL, 0);
	rdma_destroy_id(q->id);
}

void ulp_listener_close(struct ulp_listener *l)
{
	struct ulp_request q;

	while (l->id && !ulp_listener_next(l, &q))
		ulp_request_refuse(&q);
	if (l->id)
		rdma_destroy_id(l->id);
	if (l->events)
		rdma_destroy_event_channel(l->events);
	free(l);
}

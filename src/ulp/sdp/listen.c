/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/listen.h"

#include "ulp/sdp/state.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

struct sdp_listener {
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
};

static bool begin(struct sdp_listener *l, struct sockaddr *at, bool v6only, int backlog)
{
	int only = v6only;

	l->events = rdma_create_event_channel();
	if (!l->events || fcntl(l->events->fd, F_SETFL, fcntl(l->events->fd, F_GETFL) | O_NONBLOCK) ||
	    rdma_create_id(l->events, &l->id, NULL, (enum rdma_port_space)SDP_PORT_SPACE))
		return false;
	if (at->sa_family == AF_INET6 &&
	    rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only)))
		return false;
	if (rdma_bind_addr(l->id, at) || rdma_listen(l->id, backlog))
		return false;
	((struct sockaddr_in *)at)->sin_port = rdma_get_src_port(l->id); /* the same place in both families */
	return true;
}

struct sdp_listener *sdp_listen(struct sockaddr *at, bool v6only, int backlog, int *ret_err,
				char why[SDP_WHY_MAX])
{
	struct sdp_listener *l = calloc(1, sizeof(*l));

	if (l && begin(l, at, v6only, backlog))
		return l;
	*ret_err = errno;
	snprintf(why, SDP_WHY_MAX, "no listener for SDP can be made (%s)", strerror(errno));
	if (l)
		sdp_listener_close(l);
	return NULL;
}

int sdp_listener_fd(const struct sdp_listener *l)
{
	return l->events->fd;
}

static void take(struct sdp_request *q, const struct rdma_cm_event *ev)
{
	q->id = ev->id;
	q->len = ev->param.conn.private_data ? ev->param.conn.private_data_len : 0;
	memcpy(q->data, ev->param.conn.private_data ? ev->param.conn.private_data : "", q->len);
}

int sdp_listener_next(struct sdp_listener *l, struct sdp_request *ret)
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

void sdp_request_refuse(struct sdp_request *q)
{
	rdma_reject(q->id, NULL, 0);
	rdma_destroy_id(q->id);
}

void sdp_listener_close(struct sdp_listener *l)
{
	struct sdp_request q;

	while (l->id && !sdp_listener_next(l, &q))
		sdp_request_refuse(&q);
	if (l->id)
		rdma_destroy_id(l->id);
	if (l->events)
		rdma_destroy_event_channel(l->events);
	free(l);
}

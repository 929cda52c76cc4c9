/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/conn.h"

#include "ulp/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define FLUSHED_MS 1000        /* from the end of a queue pair to the event that tells why */

int ulp_end(struct ulp_conn *u, int err, const char *fmt, ...)
{
	va_list ap;

	if (!u->error) {
		u->error = err ? err : EIO;
		va_start(ap, fmt);
		vsnprintf(u->why, sizeof(u->why), fmt, ap);
		va_end(ap);
	}
	return -u->error;
}

/* --- connecting --- */

/* The status of an event is a negative errno, except that of a rejection, which is a reason. */
int ulp_unexpected(struct ulp_conn *u, const struct rdma_cm_event *ev, int otherwise)
{
	int err = ev->status < 0 ? -ev->status : ev->event == RDMA_CM_EVENT_UNREACHABLE ? ETIMEDOUT : otherwise;

	if (ev->event == RDMA_CM_EVENT_REJECTED)
		return ulp_end(u, ECONNREFUSED, "the peer rejects the connection (reason %d)", ev->status);
	return ulp_end(u, err, "%s (%s)", rdma_event_str(ev->event), strerror(err));
}

/* Takes one event. Returns it, or a negative errno; -EAGAIN: there is none. */
static int next_event(struct ulp_conn *u)
{
	struct rdma_cm_event *ev;
	int r, kind;

	if (rdma_get_cm_event(u->events, &ev))
		return errno == EAGAIN || errno == EINTR ? -EAGAIN
			: ulp_end(u, errno, "events of the connection cannot be read (%s)", strerror(errno));
	kind = (int)ev->event;
	r = u->take_event(u, ev);
	rdma_ack_cm_event(ev);
	return r ? r : kind;
}

/* Takes events until the wanted one. Returns 0; a negative errno, and the connection has ended; 1: not within timeout_ms. */
static int await_event(struct ulp_conn *u, enum rdma_cm_event_type wanted, int timeout_ms)
{
	struct pollfd p = { u->events->fd, POLLIN, 0 };
	int64_t end = ulp_now_ms() + timeout_ms, left;
	int r;

	while ((r = next_event(u)) != (int)wanted) {
		if (r != -EAGAIN && r < 0)
			return r;
		if (r >= 0)
			continue;
		left = end - ulp_now_ms();
		if (left <= 0)
			return 1;
		if (poll(&p, 1, (int)left) < 0 && errno != EINTR)
			return ulp_end(u, errno, "poll fails (%s)", strerror(errno));
	}
	return 0;
}

int ulp_await(struct ulp_conn *u, enum rdma_cm_event_type wanted, int timeout_ms)
{
	int r = await_event(u, wanted, timeout_ms);

	return r > 0 ? ulp_end(u, ETIMEDOUT, "the peer does not answer") : r;
}

int ulp_failed(struct ulp_conn *u, const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_WR_FLUSH_ERR && !u->error)
		await_event(u, RDMA_CM_EVENT_DISCONNECTED, FLUSHED_MS);
	return ulp_end(u, EIO, "an operation fails: %s", ibv_wc_status_str(wc->status));
}

int ulp_take_events(struct ulp_conn *u)
{
	int r;

	while ((r = next_event(u)) >= 0)
		;
	return r == -EAGAIN ? 0 : r;
}

int ulp_open(struct ulp_conn *u)
{
	u->events = rdma_create_event_channel();
	if (!u->events)
		return ulp_end(u, errno, "there is no RDMA connection manager (%s)", strerror(errno));
	if (fcntl(u->events->fd, F_SETFL, fcntl(u->events->fd, F_GETFL) | O_NONBLOCK))
		return ulp_end(u, errno, "the event channel cannot be set up (%s)", strerror(errno));
	return 0;
}

int ulp_resolve(struct ulp_conn *u, const struct sockaddr *to, int timeout_ms)
{
	int r;

	if (rdma_resolve_addr(u->id, NULL, (struct sockaddr *)(uintptr_t)to, timeout_ms))
		return ulp_end(u, errno, "the address is not resolved (%s)", strerror(errno));
	r = ulp_await(u, RDMA_CM_EVENT_ADDR_RESOLVED, timeout_ms);
	if (r)
		return r;
	if (rdma_resolve_route(u->id, timeout_ms))
		return ulp_end(u, errno, "the route is not resolved (%s)", strerror(errno));
	return ulp_await(u, RDMA_CM_EVENT_ROUTE_RESOLVED, timeout_ms);
}

int ulp_adopt(struct ulp_conn *u, struct rdma_cm_id *id)
{
	int r;

	u->id = id;
	r = ulp_open(u);
	if (r)
		return r;
	if (rdma_migrate_id(id, u->events))
		return ulp_end(u, errno, "the request cannot be moved to a channel of its own (%s)", strerror(errno));
	id->context = u;
	return 0;
}

/* --- queues and memory --- */

int ulp_make_queues(struct ulp_conn *u, unsigned entries)
{
	if (!u->pd)
		u->pd = ibv_alloc_pd(u->id->verbs);
	if (!u->pd)
		return ulp_end(u, errno, "no protection domain can be made (%s)", strerror(errno));
	u->channel = ibv_create_comp_channel(u->id->verbs);
	if (!u->channel || fcntl(u->channel->fd, F_SETFL, fcntl(u->channel->fd, F_GETFL) | O_NONBLOCK))
		return ulp_end(u, errno, "no completion channel can be made (%s)", strerror(errno));
	*(void **)&u->poll_driving = dlsym(RTLD_DEFAULT, "dpl_poll");
	u->cq = ibv_create_cq(u->id->verbs, (int)entries, NULL, u->channel, 0);
	if (!u->cq || ibv_req_notify_cq(u->cq, 0))
		return ulp_end(u, errno, "no completion queue can be made (%s)", strerror(errno));
	return 0;
}

int ulp_make_memory(struct ulp_conn *u, size_t len)
{
	void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return ulp_end(u, errno, "no memory for messages");
	u->memory = memory;
	u->memory_len = len;
	u->mr = ibv_reg_mr(u->pd, memory, len, IBV_ACCESS_LOCAL_WRITE);
	return u->mr ? 0 : ulp_end(u, errno, "the memory of messages cannot be registered (%s); raise the limit of "
				   "locked memory (ulimit -l)", strerror(errno));
}

int ulp_poll(const struct ulp_conn *u, struct pollfd *fds, unsigned n, int timeout_ms)
{
	uint64_t until = timeout_ms < 0 ? UINT64_MAX : (uint64_t)ulp_now_ns() + (uint64_t)timeout_ms * 1000000;
	int r = u->poll_driving ? u->poll_driving(u->channel->context, fds, n, until) : EOPNOTSUPP, ready = 1;

	if (r == EOPNOTSUPP || r == EIO) {
		ready = poll(fds, n, timeout_ms);
		r = ready < 0 ? errno : 0;
	}
	return r == ETIMEDOUT ? 0 : r ? -r : ready;
}

void ulp_destroy_qp(struct ulp_conn *u)
{
	if (u->id && u->id->qp)
		rdma_destroy_qp(u->id);
}

void ulp_destroy(struct ulp_conn *u)
{
	if (u->cq)
		ibv_destroy_cq(u->cq);
	if (u->channel)
		ibv_destroy_comp_channel(u->channel);
	if (u->mr)
		ibv_dereg_mr(u->mr);
	if (u->memory)
		munmap(u->memory, u->memory_len);
	if (u->pd && !u->shares_pd)
		ibv_dealloc_pd(u->pd);
	if (u->id)
		rdma_destroy_id(u->id);
	if (u->events)
		rdma_destroy_event_channel(u->events);
}

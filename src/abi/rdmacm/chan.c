/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event channels: taking events of them, acknowledging these. Waiting is in wait.c. */
#include "abi/rdmacm/chan.h"

#include "abi/rdmacm/addr.h"
#include "abi/rdmacm/dev.h"
#include "abi/rdmacm/id.h"
#include "abi/rdmacm/mcast.h"
#include "abi/rdmacm/newer.h"
#include "abi/rdmacm/qp.h"
#include "util/alloc.h"
#include "util/log.h"

#include <stdlib.h>
#include <string.h>

/* From taking an event until it is counted, against the end of its identifier. */
static struct ut_mutex take_lock = UT_MUTEX_INIT;
static struct ut_cond filled = UT_COND_INIT; /* some rcm_id.filling has become 0 */
static unsigned forks UT_GUARDED_BY(take_lock); /* above this process */

int rcm_chan_create(struct rcm_chan **ret)
{
	struct rcm_chan *ch;
	struct cma *cma;
	int rc = rcm_ready();

	if (rc)
		return rc;
	cma = cma_get();
	ch = cma ? ut_zalloc(sizeof(*ch)) : NULL;
	if (!ch)
		return -ENOMEM;
	rc = cma_chan_create(cma, &ch->cma);
	if (rc) {
		free(ch);
		return rc;
	}
	ch->pub.fd = cma_chan_fd(ch->cma);
	*ret = ch;
	return 0;
}

void rcm_chan_after_fork(void)
{
	ut_mutex_init(&take_lock);
	ut_lock(&take_lock);
	forks++; /* threads that were filling an event in are not here */
	ut_unlock(&take_lock);
}

/*
 * Programs have a thread that acknowledges the last event while another one
 * destroys the channel, and then asks the channel for more. With a kernel that
 * goes well by good luck: so the last few channels keep their memory, empty.
 */
#define GRAVES 16

static struct rcm_chan *graves[GRAVES] UT_GUARDED_BY(take_lock);
static unsigned next_grave UT_GUARDED_BY(take_lock);

/* No identifier uses it any more. */
static void end_chan(struct rcm_chan *ch)
{
	struct cma_chan *cma = ch->cma;
	struct rcm_chan *old = ch;

	ut_lock(&take_lock);
	ch->cma = NULL;
	if (ch->shown) {
		old = graves[next_grave];
		graves[next_grave] = ch;
		next_grave = (next_grave + 1) % GRAVES;
	}
	ut_unlock(&take_lock);
	if (cma_chan_destroy(cma))
		ut_warn("an event channel still has identifiers: its memory and descriptor stay; destroy its "
			"identifiers first");
	free(old);
}

void rcm_chan_destroy(struct rcm_chan *ch)
{
	bool last;

	ut_lock(&take_lock);
	last = !ch->ids && !ch->waiters;
	ch->doomed = true;
	ut_unlock(&take_lock);
	if (last)
		end_chan(ch);
}

void rcm_chan_hold(struct rcm_chan *ch)
{
	ut_lock(&take_lock);
	ch->ids++;
	ut_unlock(&take_lock);
}

/* One of ch->ids or ch->waiters less. */
static void let_go(struct rcm_chan *ch, unsigned *count)
{
	bool last;

	ut_lock(&take_lock);
	(*count)--;
	last = !ch->ids && !ch->waiters && ch->doomed;
	ut_unlock(&take_lock);
	if (last)
		end_chan(ch);
}

void rcm_chan_release(struct rcm_chan *ch)
{
	let_go(ch, &ch->ids);
}

bool rcm_chan_enter(struct rcm_chan *ch)
{
	bool there;

	ut_lock(&take_lock);
	there = ch->cma;
	ch->waiters += there;
	ut_unlock(&take_lock);
	return there;
}

void rcm_chan_leave(struct rcm_chan *ch)
{
	let_go(ch, &ch->waiters);
}

bool rcm_chan_abandoned(struct rcm_chan *ch)
{
	bool r;

	ut_lock(&take_lock);
	r = ch->doomed && !ch->ids;
	ut_unlock(&take_lock);
	return r;
}

UT_EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rcm_chan *ch;
	int rc = rcm_chan_create(&ch);

	if (rc)
		return rcm_null(rc);
	ch->shown = true;
	return &ch->pub;
}

UT_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	if (channel)
		rcm_chan_destroy(rcm_of(channel, rcm_chan));
}

/* A request brings an identifier of its own, which must be known by name before
 * its first event can be taken. */
static bool take_request(struct rcm_event *e, const struct rcm_id *listener)
	UT_REQUIRES(take_lock)
{
	struct rcm_id *id = rcm_id_alloc(listener->pub.context, listener->pub.ps,
					 listener->pub.qp_type);

	if (!id) {
		ut_warn("a connection request: no memory: it is refused; raise the limit on memory");
		cma_id_destroy(e->ev.id);
		return false;
	}
	id->cma = e->ev.id;
	id->pub.channel = listener->pub.channel;
	rcm_of(id->pub.channel, rcm_chan)->ids++;
	cma_id_set_user(id->cma, id);
	e->pub.id = &id->pub;
	e->pub.listen_id = &e->counted->pub;
	atomic_store(&id->fresh, true);
	atomic_fetch_add(&rcm_of(id->pub.channel, rcm_chan)->unseen, 1);
	return true;
}

void rcm_id_used(struct rcm_id *id)
{
	/* Not moved to another channel before this. */
	if (atomic_load_explicit(&id->fresh, memory_order_relaxed) &&
	    atomic_exchange(&id->fresh, false))
		atomic_fetch_sub(&rcm_of(id->pub.channel, rcm_chan)->unseen, 1);
}

/* 0, -EAGAIN ...; -EINTR: there was one, but it cannot be shown. */
static int take(struct rcm_chan *ch, bool requests_too, struct rcm_event *e)
{
	int rc;

	ut_lock(&take_lock);
	rc = cma_event_next(ch->cma, requests_too, &e->ev);
	if (!rc) {
		e->counted = e->ev.user;
		e->pub.id = &e->counted->pub;
		if (e->ev.type == RDMA_CM_EVENT_CONNECT_REQUEST && !take_request(e, e->counted))
			rc = -EINTR;
	}
	if (!rc) {
		ut_lock(&e->counted->lock);
		e->counted->delivered++;
		ut_unlock(&e->counted->lock);
		if (e->counted->forks != forks)
			e->counted->filling = 0;
		e->counted->forks = forks;
		e->counted->filling++;
	}
	ut_unlock(&take_lock);
	return rc;
}

void rcm_id_silence(struct rcm_id *id)
{
	rcm_id_used(id);
	ut_lock(&take_lock);
	/* Another thread may have just taken an event of it, and asks the manager about it. */
	while (id->filling && id->forks == forks)
		ut_cond_wait(&filled, &take_lock, UINT64_MAX);
	cma_id_destroy(id->cma);
	id->cma = NULL;
	ut_unlock(&take_lock);
}

static void acknowledge(struct rcm_id *id, struct rcm_group *g)
{
	ut_lock(&id->lock);
	id->acked++;
	if (g)
		g->acked++;
	ut_cond_broadcast(&id->acks);
	ut_unlock(&id->lock);
}

static bool fill(struct rcm_event *e)
{
	bool good = rcm_event_fill(e);

	ut_lock(&take_lock);
	if (!--e->counted->filling)
		ut_cond_broadcast(&filled);
	ut_unlock(&take_lock);
	return good;
}

int rcm_event_next(struct rcm_chan *ch, bool requests_too, struct rcm_event *e)
{
	int rc;

	for (;;) {
		*e = (struct rcm_event){ 0 };
		rc = take(ch, requests_too, e);
		if (rc == -EINTR)
			continue;
		if (rc)
			return rc;
		if (fill(e))
			return 0;
		acknowledge(e->counted, e->group);
	}
}

int rcm_event_try(struct rcm_chan *ch, struct rcm_event **ret)
{
	struct rcm_event *e = ut_malloc(sizeof(*e));
	int rc;

	if (!e)
		return -ENOMEM;
	rc = rcm_event_next(ch, true, e);
	if (rc)
		free(e);
	else
		*ret = e;
	return rc;
}

UT_EXPORT int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct rcm_event *e = rcm_of(event, rcm_event);
	struct rcm_group *g;
	struct rcm_id *id;

	if (!event)
		return rcm_result(-EINVAL);
	id = e->counted;
	g = e->group;
	free(e); /* first: a waiting thread goes on at once */
	acknowledge(id, g);
	return 0;
}

/* Not to be cancelled: the identifier is half gone. */
void rcm_await_acks(struct rcm_id *id)
{
	ut_lock(&id->lock);
	while (id->acked != id->delivered)
		ut_cond_wait(&id->acks, &id->lock, UINT64_MAX);
	ut_unlock(&id->lock);
}

/* An event that the program writes for itself, or for another thread that waits on the channel. */
RCM_NEWER(int, rdma_write_cm_event, (struct rdma_cm_id *pub, int event, int status, uint64_t arg))
{
	if (!pub || event != RCM_EVENT_USER)
		return rcm_result(-EINVAL);
	return rcm_result(cma_write_event(rcm_of(pub, rcm_id)->cma, event, status, arg));
}

/* --- what an event says --- */

/*
 * From the manager's event to the program's: the structure is filled, and what
 * the library does on its own happens here, in the thread that asked for the
 * event: a response moves the queue pair and confirms, an end of the connection
 * puts it in error, a joined group is attached.
 */

static const void *data_of(const struct cm_param *p)
{
	return p->private_len ? p->private_data : NULL;
}

static uint8_t length_of(const struct cm_param *p)
{
	return (uint8_t)(p->private_len < UINT8_MAX ? p->private_len : UINT8_MAX);
}

static void fill_conn(struct rcm_event *e)
{
	const struct cm_param *p = &e->ev.param;

	e->pub.param.conn = (struct rdma_conn_param){
		.private_data = data_of(p),
		.private_data_len = length_of(p),
		.responder_resources = p->responder_resources,
		.initiator_depth = p->initiator_depth,
		.flow_control = p->flow_control,
		.retry_count = p->retry_count,
		.rnr_retry_count = p->rnr_retry_count,
		.srq = p->srq,
		.qp_num = p->qpn,
	};
}

static void fill_ud(struct rcm_event *e)
{
	const struct cm_param *p = &e->ev.param;

	e->pub.param.ud = (struct rdma_ud_param){
		.private_data = data_of(p),
		.private_data_len = length_of(p),
		.ah_attr = e->ev.ah,
		.qp_num = e->ev.qpn,
		.qkey = e->ev.qkey,
	};
}

static void fail(struct rcm_event *e, enum rdma_cm_event_type type, int rc)
{
	e->pub.event = type;
	e->pub.status = rc;
}

/* The new identifier of a request. One that cannot be shown is refused. */
static bool on_request(struct rcm_event *e)
{
	struct rcm_id *id = rcm_of(e->pub.id, rcm_id);
	int rc;

	id->responder = e->ev.param.responder_resources;
	id->initiator = e->ev.param.initiator_depth;
	rc = rcm_refresh(id);
	if (!rc && e->counted->own)
		rc = rcm_id_migrate(id, NULL);
	if (!rc)
		return true;
	rcm_id_silence(id);
	rcm_id_free(id);
	return false;
}

/* The peer accepted. Without a queue pair of the identifier's the program confirms. */
static void on_response(struct rcm_event *e)
{
	struct rcm_id *id = e->counted;
	int rc;

	if (!id->pub.qp)
		return;
	rc = rcm_qp_connect(id, RDMA_MAX_RESP_RES, RDMA_MAX_INIT_DEPTH);
	if (!rc)
		rc = cma_establish(id->cma);
	if (!rc) {
		id->connected = true;
		e->pub.event = RDMA_CM_EVENT_ESTABLISHED;
		return;
	}
	id->given_up = true;
	rcm_qp_fail(id);
	cma_reject(id->cma, CM_REJ_CONSUMER, NULL, 0);
	fail(e, RDMA_CM_EVENT_CONNECT_ERROR, rc);
}

static void on_established(struct rcm_event *e)
{
	struct rcm_id *id = e->counted;

	id->connected = true;
	/* Over a stream the source port is chosen by connecting. */
	if (!rdma_get_src_port(&id->pub))
		rcm_refresh(id);
}

static bool on_group(struct rcm_event *e)
{
	int rc;

	e->group = rcm_group_hold(e->counted, e->ev.context);
	if (!e->group)
		return false;
	fill_ud(e);
	e->pub.param.ud.private_data = e->group->context;
	e->pub.param.ud.private_data_len = 0;
	if (e->ev.type != RDMA_CM_EVENT_MULTICAST_JOIN || e->ev.status)
		return true;
	rc = rcm_group_joined(e->counted, e->group, &e->ev.ah);
	if (rc)
		fail(e, RDMA_CM_EVENT_MULTICAST_ERROR, rc);
	return true;
}

static void on_resolved(struct rcm_event *e, enum rdma_cm_event_type failure)
{
	int rc = e->ev.status ? 0 : rcm_refresh(e->counted);

	if (rc)
		fail(e, failure, rc);
}

/* Ends of a connection. */
static bool on_end(struct rcm_event *e)
{
	struct rcm_id *id = e->counted;

	if (id->given_up && e->ev.type != RDMA_CM_EVENT_CONNECT_ERROR)
		return false;
	if (e->ev.type == RDMA_CM_EVENT_DISCONNECTED)
		id->disconnected = true;
	if (e->ev.type == RDMA_CM_EVENT_REJECTED || e->ev.type == RDMA_CM_EVENT_DISCONNECTED)
		rcm_qp_fail(id);
	return true;
}

bool rcm_event_fill(struct rcm_event *e)
{
	e->pub.event = (enum rdma_cm_event_type)e->ev.type;
	e->pub.status = e->ev.status;
	if (e->ev.ud)
		fill_ud(e);
	else
		fill_conn(e);
	switch ((int)e->ev.type) {
	case RCM_EVENT_USER:
		/* param.arg of newer headers: the first octets of the union */
		memcpy(&e->pub.param, &e->ev.arg, sizeof(e->ev.arg));
		return true;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		on_resolved(e, RDMA_CM_EVENT_ADDR_ERROR);
		return true;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		on_resolved(e, RDMA_CM_EVENT_ROUTE_ERROR);
		return true;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return on_request(e);
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		on_response(e);
		return true;
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(e);
		return true;
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return on_end(e);
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		return on_group(e);
	default:
		return true;
	}
}

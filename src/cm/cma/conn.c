/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections: what the application asks of one endpoint. */
#include "cm/cma/conn.h"

#include "cm/cma/id.h"
#include "cm/cma/port.h"

#include <errno.h>
#include <string.h>

static uint8_t depth(uint8_t asked, int device, uint8_t peer)
{
	int most = device < CM_RD_MAX ? device : CM_RD_MAX - 1;

	if (most < 0)
		most = 0;
	if (asked == CM_RD_MAX && peer < most)
		return peer;
	return (uint8_t)(asked < most ? asked : most);
}

/* The peer's wishes bound what "as much as possible" means when we answer. */
static int param_of(struct cma_id *id, const struct cm_param *in, bool answer,
		    struct cm_param *ret)
{
	const struct ibv_device_attr *d = &id->port->dev->attr.orig_attr;
	uint8_t rd = answer ? id->asked_rd : CM_RD_MAX;
	uint8_t init = answer ? id->asked_depth : CM_RD_MAX;

	if (!in || in->private_len > CM_PRIVATE_MAX || (in->private_len && !in->private_data))
		return -EINVAL;
	*ret = *in;
	ret->qp_type = id->qp_type;
	ret->responder_resources = depth(in->responder_resources, d->max_qp_rd_atom, rd);
	ret->initiator_depth = depth(in->initiator_depth, d->max_qp_init_rd_atom, init);
	if (ret->retry_count > 7)
		ret->retry_count = 7;
	if (ret->rnr_retry_count > 7)
		ret->rnr_retry_count = 7;
	if (id->qp_type == IBV_QPT_UD && !ret->qkey)
		ret->qkey = id->ps == CM_PS_IPOIB ? CMA_QKEY_IPOIB : CMA_QKEY;
	return 0;
}

static void give_paths(struct cma_id *id)
{
	ut_lock(&id->c->lock);
	id->ep->path = id->path;
	id->ep->alternate = id->alternate;
	ut_unlock(&id->c->lock);
}

static int connect_call(struct cma_id *id, const struct cm_param *param)
{
	struct cm_param p;
	enum cma_state old;
	int r = cma_move(id, CMA_DO_CONNECT, &old);

	if (r < 0)
		return r;
	r = param_of(id, param, false, &p);
	if (r == 0) {
		cma_port_lock(id->port);
		id->ep->opt = cma_opt(id);
		give_paths(id);
		r = id->port->ops->connect(id->ep, &id->remote, &p);
		cma_port_unlock(id->port);
	}
	if (r < 0)
		cma_move_back(id, CMA_CONNECT, old);
	return r;
}

int cma_connect(struct cma_id *id, const struct cm_param *param)
{
	if (!cma_enter(id))
		return -EIO;
	return cma_leave_call(id, connect_call(id, param));
}

/* Events of an accepted request go to the application from now on. Under dev->lock, so that none passes in between. */
static void show_events(struct cma_id *id)
{
	ut_lock(&id->c->lock);
	id->unaccepted = false;
	ut_unlock(&id->c->lock);
}

/* A request that could not be accepted is refused, so that the peer need not wait. */
static int accept_call(struct cma_id *id, const struct cm_param *param)
{
	struct cm_param p;
	int r = cma_may(id, CMA_DO_ACCEPT);

	if (r == 0)
		r = param_of(id, param, true, &p);
	if (r < 0)
		return r;
	cma_port_lock(id->port);
	id->ep->opt = cma_opt(id);
	r = id->port->ops->accept(id->ep, &p);
	if (r == 0)
		show_events(id);
	else if (!id->accepted)
		id->port->ops->reject(id->ep, CM_REJ_CONSUMER, NULL, 0);
	cma_port_unlock(id->port);
	if (r == 0)
		id->accepted = true;
	return r;
}

int cma_accept(struct cma_id *id, const struct cm_param *param)
{
	if (!cma_enter(id))
		return -EIO;
	return cma_leave_call(id, accept_call(id, param));
}

/* A call that is one operation of the manager. */
struct command {
	enum cma_act act;
	enum cm_reject reason;
	const void *data;
	uint16_t len;
	enum ibv_event_type event;
	const struct cm_path *path;
};

static int command_run(struct cm_ep *ep, const struct command *o)
{
	const struct cm_ops *ops = ep->port->ops;

	switch (o->act) {
	case CMA_DO_REJECT:
		return ops->reject(ep, o->reason, o->data, o->len);
	case CMA_DO_ESTABLISH:
		return ops->establish(ep);
	case CMA_DO_NOTIFY:
		return ops->notify(ep, o->event);
	case CMA_DO_ALTERNATE:
		return ops->load_path(ep, o->path);
	case CMA_DO_DISCONNECT:
		return ops->disconnect(ep);
	default:
		return -EINVAL;
	}
}

static int command_call(struct cma_id *id, const struct command *o)
{
	int r = cma_may(id, o->act);

	if (r < 0)
		return r;
	if (!id->ep)
		return -EINVAL;
	cma_port_lock(id->port);
	r = command_run(id->ep, o);
	cma_port_unlock(id->port);
	return r;
}

static int command(struct cma_id *id, const struct command *o)
{
	if (!cma_enter(id))
		return -EIO;
	return cma_leave_call(id, command_call(id, o));
}

int cma_reject(struct cma_id *id, enum cm_reject reason, const void *data, uint16_t len)
{
	struct command o = { .act = CMA_DO_REJECT, .reason = reason, .data = data, .len = len };

	if (len > CM_PRIVATE_MAX || (len && !data))
		return -EINVAL;
	return command(id, &o);
}

int cma_establish(struct cma_id *id)
{
	struct command o = { .act = CMA_DO_ESTABLISH };

	return command(id, &o);
}

int cma_notify(struct cma_id *id, enum ibv_event_type event)
{
	struct command o = { .act = CMA_DO_NOTIFY, .event = event };

	return command(id, &o);
}

int cma_load_path(struct cma_id *id, const struct cm_path *path)
{
	struct command o = { .act = CMA_DO_ALTERNATE, .path = path };

	return command_call(id, &o);
}

/* A second rdma_disconnect() after the end succeeds. */
static bool ended(struct cma_id *id)
{
	bool r;

	ut_lock(&id->c->lock);
	r = id->state == CMA_DISCONNECT || id->state == CMA_GONE;
	ut_unlock(&id->c->lock);
	return r;
}

static int disconnect_call(struct cma_id *id)
{
	struct command o = { .act = CMA_DO_DISCONNECT };
	int r = command_call(id, &o);

	return r == -EINVAL && ended(id) ? 0 : r;
}

int cma_disconnect(struct cma_id *id)
{
	if (!cma_enter(id))
		return -EIO;
	return cma_leave_call(id, disconnect_call(id));
}

/* --- attributes for a QP that the caller moves --- */

/* INIT before anything is known of the peer, and for UD. */
static int init_attr(const struct cma_id *id, struct ibv_qp_attr *attr, int *mask)
{
	if (attr->qp_state != IBV_QPS_INIT)
		return -EINVAL;
	attr->pkey_index = 0;
	attr->port_num = ENG_PORT_NUM;
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (id->qp_type == IBV_QPT_UD) {
		attr->qkey = id->ps == CM_PS_IPOIB ? CMA_QKEY_IPOIB : CMA_QKEY;
		*mask |= IBV_QP_QKEY;
	} else {
		attr->qp_access_flags = 0;
		*mask |= IBV_QP_ACCESS_FLAGS;
	}
	return 0;
}

/* A manager that moves the QP itself has no other chance to give it its rights. */
static bool too_early(struct cma_id *id)
{
	if (id->qp_type == IBV_QPT_UD || !id->ep)
		return true;
	return !id->port->ops->moves_qp && cma_may(id, CMA_DO_DISCONNECT) < 0;
}

static int attr_call(struct cma_id *id, struct ibv_qp_attr *attr, int *mask)
{
	enum ibv_qp_state to = attr->qp_state;
	int r;

	if (!id->port)
		return -EINVAL;
	if (too_early(id))
		return init_attr(id, attr, mask);
	cma_port_lock(id->port);
	r = id->port->ops->qp_attr(id->ep, attr, mask);
	cma_port_unlock(id->port);
	if (r != -EINVAL)
		return r;
	attr->qp_state = to;
	return init_attr(id, attr, mask);
}

int cma_qp_attr(struct cma_id *id, struct ibv_qp_attr *attr, int *mask)
{
	if (!cma_enter(id))
		return -EIO;
	return cma_leave_call(id, attr_call(id, attr, mask));
}

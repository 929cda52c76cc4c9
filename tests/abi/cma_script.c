/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cma_script.h"

#include "engine/semfd.h"
#include "util/list.h"
#include "util/lock.h"
#include "util/sys.h"

#include <rdma/rdma_cma.h>
#include <stdlib.h>

struct script script;

struct cma {
	int unused;
};

struct cma_chan {
	int fd;
	struct ut_list queue; /* struct queued */
	int ids;
};

struct cma_id {
	struct cma_chan *chan;
	void *user;
};

struct queued {
	struct ut_list node;
	struct cma_event e;
};

static struct ut_mutex lock = UT_MUTEX_INIT;

static int result(void)
{
	int rc = script.next_rc;

	script.next_rc = 0;
	return rc;
}

struct cma *cma_get(void)
{
	static struct cma one;

	return &one;
}

int cma_chan_create(struct cma *c, struct cma_chan **ret)
{
	struct cma_chan *ch = calloc(1, sizeof(*ch));

	ch->fd = eng_semfd_open();
	ut_list_init(&ch->queue);
	*ret = ch;
	return 0;
}

int cma_chan_destroy(struct cma_chan *ch)
{
	if (ch->ids)
		return -EBUSY;
	ut_close(ch->fd);
	free(ch);
	return 0;
}

int cma_chan_fd(const struct cma_chan *ch)
{
	return ch->fd;
}

static void just_too_late(void)
{
	struct cma_id *listener = script.arrives;

	script.arrives = NULL;
	if (listener)
		script_request(listener, &(struct cm_param){ 0 }, false);
}

int cma_event_next(struct cma_chan *ch, bool requests_too, struct cma_event *ret)
{
	struct queued *q;
	int rc;

	ut_lock(&lock);
	q = ut_list_first(&ch->queue, struct queued, node);
	rc = !q ? -EAGAIN : q->e.type == RDMA_CM_EVENT_CONNECT_REQUEST && !requests_too ? -EBUSY : 0;
	if (!rc) {
		ut_list_pop(&ch->queue);
		eng_semfd_down(ch->fd);
		*ret = q->e;
		ret->user = q->e.listener ? q->e.listener->user : q->e.id->user;
		ret->param.private_data = ret->data;
	}
	ut_unlock(&lock);
	if (!rc)
		free(q);
	else if (rc == -EAGAIN)
		just_too_late();
	else
		script.held++;
	return rc;
}

static void push(struct cma_chan *ch, const struct cma_event *e)
{
	struct queued *q = calloc(1, sizeof(*q));

	q->e = *e;
	ut_lock(&lock);
	ut_list_add_tail(&ch->queue, &q->node);
	eng_semfd_up(ch->fd);
	ut_unlock(&lock);
}

void script_raise_full(struct cma_id *id, const struct cma_event *e)
{
	struct cma_event copy = *e;

	copy.id = id;
	push(id->chan, &copy);
}

void script_raise(struct cma_id *id, int type, int status)
{
	struct cma_event e = { .type = type, .status = status, .id = id };

	push(id->chan, &e);
}

struct cma_id *script_request(struct cma_id *listener, const struct cm_param *p, bool ud)
{
	struct cma_id *id = calloc(1, sizeof(*id));
	struct cma_event e = { .type = 4, .id = id, .listener = listener, .ud = ud, .param = *p };

	id->chan = listener->chan;
	id->chan->ids++;
	push(listener->chan, &e);
	return id;
}

int cma_id_create(struct cma_chan *ch, void *user, enum cm_ps ps, enum ibv_qp_type type,
		  struct cma_id **ret)
{
	struct cma_id *id = calloc(1, sizeof(*id));

	id->chan = ch;
	id->user = user;
	ch->ids++;
	*ret = id;
	return 0;
}

void cma_id_set_user(struct cma_id *id, void *user)
{
	id->user = user;
}

/* Takes the id's events off its channel, to another one or away. */
static void sweep(struct cma_id *id, struct cma_chan *to)
{
	struct queued *q, *next;

	ut_lock(&lock);
	ut_list_each_safe(q, next, &id->chan->queue, node) {
		if (q->e.id != id)
			continue;
		ut_list_del(&q->node);
		eng_semfd_down(id->chan->fd);
		if (to) {
			ut_list_add_tail(&to->queue, &q->node);
			eng_semfd_up(to->fd);
		} else {
			free(q);
		}
	}
	ut_unlock(&lock);
}

void cma_id_destroy(struct cma_id *id)
{
	sweep(id, NULL);
	id->chan->ids--;
	script.destroyed++;
	free(id);
}

int cma_id_migrate(struct cma_id *id, struct cma_chan *to)
{
	sweep(id, to);
	id->chan->ids--;
	to->ids++;
	id->chan = to;
	return result();
}

int cma_bind(struct cma_id *id, const struct sockaddr *addr)
{
	return result();
}

int cma_resolve_addr(struct cma_id *id, const struct sockaddr *src, const struct sockaddr *dst,
		     int timeout_ms)
{
	return result();
}

int cma_resolve_route(struct cma_id *id, int timeout_ms)
{
	return result();
}

int cma_listen(struct cma_id *id, int backlog)
{
	return result();
}

int cma_connect(struct cma_id *id, const struct cm_param *param)
{
	script.param = *param;
	script.connects++;
	return result();
}

int cma_accept(struct cma_id *id, const struct cm_param *param)
{
	script.param = *param;
	script.accepts++;
	return result();
}

int cma_reject(struct cma_id *id, enum cm_reject reason, const void *data, uint16_t len)
{
	script.reason = reason;
	script.rejects++;
	return result();
}

int cma_establish(struct cma_id *id)
{
	script.establishes++;
	return result();
}

int cma_notify(struct cma_id *id, enum ibv_event_type event)
{
	return result();
}

int cma_disconnect(struct cma_id *id)
{
	script.disconnects++;
	return result();
}

/* A queue pair of this adapter that talks to itself. */
int cma_qp_attr(struct cma_id *id, struct ibv_qp_attr *attr, int *mask)
{
	enum ibv_qp_state to = attr->qp_state;

	if (script.attr_rc[to])
		return script.attr_rc[to];
	*attr = (struct ibv_qp_attr){
		.qp_state = to, .port_num = 1, .path_mtu = IBV_MTU_1024, .dest_qp_num = 1,
		.qkey = 0x01234567, .max_rd_atomic = 16, .max_dest_rd_atomic = 16,
		.min_rnr_timer = 1, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = script.info.sgid, .hop_limit = 1 } },
	};
	if (to == IBV_QPS_INIT)
		*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(script.param.qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	else if (to == IBV_QPS_RTR)
		*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	else
		*mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	return 0;
}

int cma_option(struct cma_id *id, int level, int name, const void *val, size_t len)
{
	return result();
}

int cma_join(struct cma_id *id, const struct sockaddr *group, bool send_only, void *context)
{
	script.join_context = context;
	return result();
}

int cma_leave(struct cma_id *id, const struct sockaddr *group)
{
	script.leaves++;
	return result();
}

void cma_query(struct cma_id *id, struct cma_info *ret)
{
	*ret = script.info;
}

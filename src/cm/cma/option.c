/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Options. They are the identifier's, and an endpoint that exists already gets
 * them too: programs set the type of service between resolve and connect.
 */
#include "cm/cma.h"

#include "cm/cma/conn.h"
#include "cm/cma/event.h"
#include "cm/cma/id.h"
#include "cm/cma/port.h"

#include <endian.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

#define PATHS_MAX 16 /* that are looked at */

struct row {
	int level, name;
	size_t len; /* exactly; 0 = looked at by set */
	int (*set)(struct cma_id *id, const void *val, size_t len);
};

static int set_tos(struct cma_id *id, const void *val, size_t len)
{
	ut_lock(&id->c->lock);
	id->opt.tos = *(const uint8_t *)val;
	ut_unlock(&id->c->lock);
	return 0;
}

static int int_of(const void *val)
{
	int v;

	memcpy(&v, val, sizeof(v));
	return v;
}

static int set_reuse(struct cma_id *id, const void *val, size_t len)
{
	bool on = int_of(val);
	int r = 0;

	ut_lock(&id->c->lock);
	/* Others may rely on what a listener has promised. */
	if (!on && id->state != CMA_IDLE)
		r = -EINVAL;
	else if (cma_next(id->state, CMA_DO_REUSE) < 0)
		r = id->state == CMA_LISTENING && on ? 0 : -EINVAL;
	if (r == 0)
		id->opt.reuse = on;
	ut_unlock(&id->c->lock);
	return r;
}

static int set_afonly(struct cma_id *id, const void *val, size_t len)
{
	int r;

	ut_lock(&id->c->lock);
	r = cma_next(id->state, CMA_DO_AFONLY);
	if (r >= 0)
		id->opt.afonly = int_of(val);
	ut_unlock(&id->c->lock);
	return r < 0 ? r : 0;
}

static int set_ack_timeout(struct cma_id *id, const void *val, size_t len)
{
	if (id->qp_type != IBV_QPT_RC && id->qp_type != IBV_QPT_XRC_SEND)
		return -EINVAL;
	ut_lock(&id->c->lock);
	id->opt.ack_timeout = *(const uint8_t *)val & 0x1f;
	ut_unlock(&id->c->lock);
	return 0;
}

static int set_device(struct cma_id *id, const void *val, size_t len)
{
	char name[IBV_SYSFS_NAME_MAX] = "";
	struct cm_port **v;
	int n, r = cma_may(id, CMA_DO_DEVICE);

	if (len > 0 && !((const char *)val)[len - 1])
		len--;
	if (r < 0 || !len || len >= sizeof(name))
		return -EINVAL;
	memcpy(name, val, len);
	n = cma_ports(id->c, &v);
	if (n < 0)
		return n;
	r = -ENODEV;
	for (int i = 0; i < n && r < 0; i++)
		if (strcmp(v[i]->dev->name, name) == 0)
			r = 0;
	free(v);
	if (r == 0)
		memcpy(id->device, name, sizeof(name));
	return r;
}

static struct cm_path to_path(const struct ibv_path_record *p)
{
	uint32_t flow = be32toh(p->flowlabel_hoplimit);

	return (struct cm_path){
		.slid = p->slid ? be16toh(p->slid) : CM_LID_PERMISSIVE,
		.dlid = p->dlid ? be16toh(p->dlid) : CM_LID_PERMISSIVE,
		.pkey = p->pkey ? be16toh(p->pkey) : WIRE_PKEY_DEFAULT,
		.sl = (uint8_t)(be16toh(p->qosclass_sl) & 0xf), .mtu_code = p->mtu & 0x3f,
		.rate = p->rate & 0x3f, .life = p->packetlifetime & 0x3f,
		.flow_label = flow >> 8 & 0xfffff, .traffic_class = p->tclass,
		.hop_limit = (uint8_t)flow,
	};
}

/* The caller brings its own path records. */
static int use_path(struct cma_id *id, const struct ibv_path_record *p, const struct ibv_path_record *alternate)
{
	struct cma_qev *q = cma_qev_new(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	int r;

	if (!q)
		return -ENOMEM;
	ut_lock(&id->c->lock);
	r = cma_next(id->state, CMA_DO_PATH);
	if (r >= 0) {
		id->state = (enum cma_state)r;
		if (id->opt.tos < 0 && p->tclass)
			id->opt.tos = p->tclass;
		id->path = to_path(p);
		id->alternate = alternate ? to_path(alternate) : (struct cm_path){ 0 };
		cma_queue(id->c, q);
		q = NULL;
	}
	ut_unlock(&id->c->lock);
	free(q);
	return r < 0 ? r : 0;
}

/* As the Linux kernel takes it, and an alternate path besides, which the kernel passes over. */
enum { PRIMARY = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL,
       ALTERNATE = IBV_PATH_FLAG_ALTERNATE | IBV_PATH_FLAG_BIDIRECTIONAL };

static const struct ibv_path_record *find_path(const struct ibv_path_data *v, size_t n, uint32_t flags)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].flags == flags)
			return &v[i].path;
	return NULL;
}

/* Before the connection the primary path, with or without an alternate one; on a connection a new alternate one (LAP). */
static int set_path(struct cma_id *id, const void *val, size_t len)
{
	struct ibv_path_data v[PATHS_MAX] = { 0 };
	const struct ibv_path_record *primary, *alternate;
	struct cm_path path;

	if (!len || len % sizeof(v[0]))
		return -EINVAL;
	memcpy(v, val, len < sizeof(v) ? len : sizeof(v));
	primary = find_path(v, PATHS_MAX, PRIMARY);
	alternate = find_path(v, PATHS_MAX, ALTERNATE);
	if (primary)
		return use_path(id, primary, alternate);
	if (!alternate)
		return -EINVAL;
	path = to_path(alternate);
	return cma_load_path(id, &path);
}

bool cma_has_device(const struct cma_id *id)
{
	return id->device[0];
}

static const struct row rows[] = {
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 1, set_tos },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, sizeof(int), set_reuse },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, sizeof(int), set_afonly },
	{ RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 1, set_ack_timeout },
	{ RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, 0, set_path },
	{ CMA_OPT_DAPPLE, CMA_OPT_DEVICE, 0, set_device },
};

static void update_ep(struct cma_id *id)
{
	struct cm_options opt = cma_opt(id);

	if (!id->ep)
		return;
	cma_port_lock(id->port);
	id->ep->opt = opt;
	eng_dev_unlock(id->port->dev);
}

static int option_call(struct cma_id *id, int level, int name, const void *val, size_t len)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		int r;

		if (row->level != level || row->name != name)
			continue;
		if (!val || (row->len && row->len != len))
			return -EINVAL;
		r = row->set(id, val, len);
		if (r == 0)
			update_ep(id);
		return r;
	}
	return -ENOSYS;
}

int cma_option(struct cma_id *id, int level, int name, const void *val, size_t len)
{
	if (!cma_enter(id))
		return -EIO;
	return cma_leave_call(id, option_call(id, level, name, val, len));
}

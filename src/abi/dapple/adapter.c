/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The adapter as a whole: reasons of failures, counters, and the attributes that Modify HCA changes. */
#include "abi/dapple/adapter.h"

#include "abi/dapple/verbs_ops.h"
#include "abi/verbs/vrb.h"
#include "device/why.h"
#include "engine/why.h"
#include "dapple/verbs.h"
#include "engine/counter.h"
#include "engine/qp.h"
#include "util/alloc.h"
#include "util/export.h"

#include <string.h>

#define NODE_DESC sizeof(((struct dpl_port_modify *)0)->node_desc)

struct modified {
	struct ut_list node;
	char device[IBV_SYSFS_NAME_MAX];
	uint32_t set, clear;
	uint32_t qkey_base; /* violations that were reset away */
	bool described;
	char desc[NODE_DESC];
};

static struct ut_mutex lock = UT_MUTEX_INIT;
static struct ut_list all = UT_LIST_INIT(all);

static struct modified *find(const char *device) UT_REQUIRES(lock)
{
	struct modified *m;

	ut_list_each(m, &all, node)
		if (!strcmp(m->device, device))
			return m;
	return NULL;
}

static struct modified *find_or_make(const char *device) UT_REQUIRES(lock)
{
	struct modified *m = find(device);

	if (m)
		return m;
	m = ut_zalloc(sizeof(*m));
	if (!m)
		return NULL;
	memcpy(m->device, device, strnlen(device, sizeof(m->device) - 1));
	ut_list_add_tail(&all, &m->node);
	return m;
}

UT_EXPORT void dpl_overlay_port(const char *device, struct ibv_port_attr *attr)
{
	struct modified *m;

	ut_lock(&lock);
	m = find(device);
	if (m) {
		attr->port_cap_flags = (attr->port_cap_flags | m->set) & ~m->clear;
		attr->qkey_viol_cntr -= m->qkey_base;
	}
	ut_unlock(&lock);
}

static void apply(struct modified *m, const struct dpl_port_modify *a, int mask, uint32_t qkeys)
{
	if (mask & DPL_PORT_SET_CAPS) {
		m->set = (m->set | a->set_caps) & ~a->clear_caps;
		m->clear = (m->clear | a->clear_caps) & ~a->set_caps;
	}
	if (mask & DPL_PORT_RESET_QKEY)
		m->qkey_base = qkeys;
	if (mask & DPL_PORT_NODE_DESC) {
		memcpy(m->desc, a->node_desc, NODE_DESC);
		m->described = true;
	}
}

static bool caps_ok(const struct dpl_port_modify *a)
{
	return !((a->set_caps | a->clear_caps) & ~(uint32_t)DPL_PORT_CAPS_MODIFIABLE) &&
	       !(a->set_caps & a->clear_caps);
}

UT_EXPORT int dpl_modify_port(struct ibv_context *c, uint8_t port,
			      const struct dpl_port_modify *attr, int mask)
{
	const int known = DPL_PORT_SET_CAPS | DPL_PORT_RESET_QKEY | DPL_PORT_NODE_DESC;
	struct eng_dev *dev = dpl_dev(c);
	struct ibv_port_attr now = { 0 };
	struct modified *m;
	int rc;

	if (!dev)
		return errno;
	if (!eng_port_is(port) || (mask & ~known) || ((mask & DPL_PORT_SET_CAPS) && !caps_ok(attr)))
		return vrb_error(-EINVAL);
	rc = eng_port_query(dev, &now);
	if (rc)
		return vrb_error(rc);
	ut_lock(&lock);
	m = find_or_make(dev->name);
	if (m)
		apply(m, attr, mask, now.qkey_viol_cntr);
	ut_unlock(&lock);
	return m ? 0 : vrb_error(-ENOMEM);
}

UT_EXPORT int dpl_query_node_desc(struct ibv_context *c, char node_desc[64])
{
	struct eng_dev *dev = dpl_dev(c);
	struct modified *m;

	if (!dev)
		return errno;
	memset(node_desc, 0, NODE_DESC);
	ut_lock(&lock);
	m = find(dev->name);
	if (m && m->described)
		memcpy(node_desc, m->desc, NODE_DESC);
	else
		memcpy(node_desc, dev->name, strnlen(dev->name, NODE_DESC));
	ut_unlock(&lock);
	return 0;
}

UT_EXPORT void dpl_say(const char *sentence)
{
	dev_why_keep(UT_SAY_FAILURE, sentence);
}

UT_EXPORT int dpl_why(struct ibv_context *c, uint32_t qp_num, char *buf, size_t n)
{
	struct eng_dev *dev = dpl_dev(c);

	if (!dev)
		return errno;
	if (!n)
		return vrb_error(-EINVAL);
	return vrb_error(eng_why_last(dev, qp_num, buf, n));
}

UT_EXPORT int dpl_query_counters(struct ibv_context *c, uint8_t port, struct dpl_counter *v,
				 size_t n)
{
	struct eng_dev *dev = dpl_dev(c);

	if (!dev)
		return -1;
	if (!eng_port_is(port))
		return vrb_minus(-EINVAL);
	ut_lock(&dev->lock);
	for (size_t i = 0; i < n && i < ENG_C_COUNT; i++)
		v[i] = (struct dpl_counter){
			.name = eng_counter_rows[i].name,
			.text = eng_counter_rows[i].text,
			.value = dev->counters[i],
		};
	eng_dev_unlock(dev);
	return ENG_C_COUNT;
}

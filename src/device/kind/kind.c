/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/kind/kind.h"

#include "device/adapter.h"
#include "device/faults.h"
#include "device/kind/ib.h"
#include "device/kind/iwarp.h"
#include "device/kind/roce.h"
#include "device/limits.h"
#include "device/observe.h"
#include "device/why.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/rng.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HOP_LIMIT 64
#define PACKET_LIFE 18 /* 1.1 s, as the kernel's rdma_cm assumes on RoCE */

/* --- the kinds --- */

static const struct dev_kind_row *const kinds[DEV_KINDS] = { &dev_roce_row, &dev_iwarp_row, &dev_ib_row };

const struct dev_kind_row *dev_kind_at(int i)
{
	return kinds[i];
}

const struct dev_kind_row *dev_kind_find(enum dev_kind kind)
{
	for (int i = 0; i < DEV_KINDS; i++)
		if (kinds[i]->kind == kind)
			return kinds[i];
	return NULL;
}

static bool same(const char *name, const char *word, size_t len)
{
	return strlen(name) == len && memcmp(name, word, len) == 0;
}

const struct dev_kind_row *dev_kind_by_word(const char *word, size_t len)
{
	for (int i = 0; i < DEV_KINDS; i++)
		if (same(kinds[i]->word, word, len) || (len && same(kinds[i]->alias, word, len)))
			return kinds[i];
	return NULL;
}

/* --- life --- */

int dev_kind_open(struct dev_adapter *a)
{
	int r = eng_dev_init(&a->dev, a->info.name, a->kind->ops, a->kind->proto(), ut_rng_seed());

	if (r < 0)
		return r;
	a->dev.device = a;
	a->machine = a->kind->machine;
	a->dev.refuses = dev_faults_call;
	dev_limits_set(&a->dev, &a->info, a->kind->limit);
	eng_dev_held(&a->dev); /* no other thread knows it yet */
	a->dev.port.n_gids = a->kind->n_gids;
	r = a->kind->open(a);
	if (r < 0)
		eng_dev_fini(&a->dev);
	return r;
}

static void say_file_limit(const struct dev_info *info)
{
	char text[256];

	snprintf(text, sizeof(text), "%s cannot be used: its memory is a file in memory, which the limit of file "
		 "sizes (ulimit -f) forbids; raise the limit: ulimit -f unlimited", info->name);
	ut_error("%s", text);
	dev_why_keep(UT_SAY_FAILURE, text);
}

int dev_kind_wire(struct dev_adapter *a)
{
	int r;

	eng_dev_held(&a->dev);
	if (a->wired)
		return 0;
	r = a->kind->wire(a);
	a->wired = r == 0;
	if (r == -EFBIG)
		say_file_limit(&a->info);
	return r;
}

int dev_kind_attach(struct eng_dev *dev)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	int r;

	eng_dev_held(dev);
	if (dev_is_foreign(dev))
		return -EIO;
	if (dev->qpn_mask)
		return 0;
	r = dev_kind_wire(a);
	if (r == 0)
		r = a->kind->bind(a);
	if (r == 0 && atomic_load(&a->driver.link_fd) < 0)
		r = dev_driver_attach(a, a->kind->fd(a));
	if (r == 0)
		r = a->kind->start(a);
	if (r == 0) {
		dev_faults_attached(a);
		dev_observe_attached(a);
	}
	return r;
}

/* Logs what went over the wire. */
static void log_counters(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	for (int i = 0; i < ENG_C_COUNT; i++)
		if (a->dev.counters[i])
			ut_debug("%s: %llu %s", a->info.name,
				 (unsigned long long)a->dev.counters[i],
				 eng_counter_rows[i].text);
}

void dev_kind_close(struct dev_adapter *a)
{
	ut_lock(&a->dev.lock);
	if (a->wired) {
		dev_observe_end(a);
		a->wired = false;
		a->kind->unwire(a);
		dev_faults_end(a);
		log_counters(a);
	}
	ut_unlock(&a->dev.lock);
	a->kind->close(a);
	eng_dev_fini(&a->dev);
}

/* --- defaults of eng_dev_ops --- */

int dev_kind_default_mcast_join(struct eng_dev *dev, const union ibv_gid *mgid)
{
	return -EOPNOTSUPP;
}

void dev_kind_default_mcast_leave(struct eng_dev *dev, const union ibv_gid *mgid)
{
}

int dev_kind_default_query_port(struct eng_dev *dev, struct ibv_port_attr *ret)
{
	const struct dev_adapter *a = dev_adapter_of(dev);

	return a->kind->query_port(&a->info, ret);
}

void dev_kind_default_why(struct eng_dev *dev, enum ut_say level, const char *sentence)
{
	dev_why_keep(level, sentence);
}

/* --- defaults of struct dev_machine --- */

void dev_kind_default_drain(struct dev_adapter *a)
{
	a->machine->transmit(&a->dev, ut_now(), ENG_ACKS_NOW);
}

/* --- defaults of struct dev_kind_row --- */

int dev_kind_default_bind(struct dev_adapter *a)
{
	return 0;
}

int dev_kind_default_add_addr(struct dev_adapter *a, const struct eng_gid *g)
{
	return 0;
}

void dev_kind_default_del_addr(struct dev_adapter *a, const uint8_t addr[16])
{
}

int dev_kind_default_gids(const struct dev_info *info, const struct dev_nl_addr *addrs, int n,
			  struct dev_nl_addr *ret)
{
	memcpy(ret, addrs, (size_t)n * sizeof(*addrs));
	return n;
}

void dev_kind_default_limit(struct ibv_device_attr *attr)
{
}

int dev_kind_default_route(struct dev_adapter *a, const struct link_end *dst, struct link_end *src)
{
	return -ENETUNREACH;
}

/*
 * Ethernet has no subnet administrator: the path is known at once. Only the port can fail.
 */
int dev_kind_default_group_join(struct dev_adapter *a, const struct cm_group *want, uint64_t ticket, struct cm_group *ret)
{
	return -EOPNOTSUPP;
}

void dev_kind_default_group_leave(struct dev_adapter *a, const struct cm_group *g)
{
}

int dev_kind_default_path(struct dev_adapter *a, const struct link_end *src, const struct link_end *dst, int timeout_ms,
			  uint64_t ticket, struct cm_path *ret)
{
	struct ibv_port_attr attr;
	int r = eng_port_query(&a->dev, &attr);

	if (r < 0)
		return r;
	if (attr.state != IBV_PORT_ACTIVE)
		return -ENETDOWN;
	*ret = (struct cm_path){
		.slid = CM_LID_PERMISSIVE, .dlid = CM_LID_PERMISSIVE, .pkey = ENG_PKEY_DEFAULT,
		.mtu_code = (uint8_t)attr.active_mtu, .rate = (uint8_t)dev_rate_code(&attr),
		.life = PACKET_LIFE, .hop_limit = HOP_LIMIT,
	};
	return 0;
}

bool dev_kind_default_gid_of(struct dev_adapter *a, const uint8_t from[16], uint8_t ret[16])
{
	return false;
}

void dev_kind_default_announce(struct dev_adapter *a)
{
}

int dev_kind_default_ask_addr(struct dev_adapter *a, const uint8_t addr[16], int timeout_ms, uint64_t ticket)
{
	return -EHOSTUNREACH;
}

void dev_kind_default_observe(struct dev_adapter *a, struct obs_tap *t)
{
}

int dev_kind_default_query(const struct dev_info *info, struct ibv_port_attr *ret)
{
	return dev_port_query(info->ifindex, ret);
}

int dev_kind_default_find(struct dev_info *ret, int max)
{
	return 0;
}

int dev_kind_default_open(struct dev_adapter *a)
{
	return 0;
}

void dev_kind_default_nothing(struct dev_adapter *a)
{
}

int dev_kind_default_port_fd(struct dev_adapter *a)
{
	return -1;
}

unsigned dev_kind_default_faults(struct dev_adapter *a, struct link_rules *rules)
{
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A RoCEv2 adapter: the InfiniBand transport on a UDP link. Link and protocol
 * port are made when the first object needs them, not when the device is
 * opened: listing programs stay cheap, and a program that opens its device
 * and then becomes a daemon has nothing yet that a fork would tear apart.
 *
 *   DAPPLE_NO_GRH=self  on lo, let a path without GRH lead to the port itself:
 *                   for programs that know LIDs only, as qperf
 *
 * What the environment says of the link is in roce_link.c.
 */
#include "device/roce.h"

#include "device/fork.h"
#include "device/gids.h"
#include "device/limits.h"
#include "device/port.h"
#include "device/progress.h"
#include "device/roce_cm.h"
#include "device/roce_records.h"
#include "device/why.h"
#include "engine/gid.h"
#include "host/shm/channel.h"
#include "link/udp/udp.h"
#include "proto/ib/ibp.h"
#include "util/ip.h"
#include "util/log.h"
#include "util/rng.h"
#include "util/sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool no_grh_is_self(const struct dev_adapter *a)
{
	const char *v = getenv("DAPPLE_NO_GRH");

	return v && strcmp(v, "self") == 0 && a->info.guid == DEV_LOOPBACK_GUID;
}

/* Link and protocol port without any address. */
static int ensure_port(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	struct ibp_config cfg = {
		.seed = ut_rng_seed(),
		.mtu_max = dev_port_mtu(a->info.ifindex),
		.rate_control = a->info.guid != DEV_LOOPBACK_GUID,
		.no_grh_is_self = no_grh_is_self(a),
		.gsi = &dev_roce_gsi,
	};
	int r;

	if (a->link)
		return 0;
	r = dev_roce_link_open(&cfg.link, &cfg.chan);
	if (r < 0)
		return r;
	r = ibp_port_init(&a->dev, &cfg);
	if (r < 0) {
		cfg.link->ops->close(cfg.link);
		return r;
	}
	a->link = cfg.link;
	a->chan = cfg.chan;
	a->wired = true;
	if (a->chan->generations) {
		a->dev.generations = a->chan->generations;
		a->dev.generation_mask = SHM_CHANNEL_GENERATIONS - 1;
	}
	if (a->chan->export)
		a->dev.revoke = ibp_revoke;
	return 0;
}

static void explain(struct dev_adapter *a, const struct eng_gid *g, int error)
{
	char sentence[256];

	snprintf(sentence, sizeof(sentence), "%s: UDP port %u: %s", a->info.name, dev_roce_udp_port(),
		 udp_explain(g->gid.raw, dev_roce_udp_port(), error));
	ut_warn("%s", sentence);
	dev_why_keep(sentence);
}

static uint32_t scope_of(const struct eng_gid *g)
{
	return ut_ip_is_linklocal(g->gid.raw) ? g->ifindex : 0;
}

static int add_addr(struct dev_adapter *a, const struct eng_gid *g)
{
	int r = a->link->ops->add_addr(a->link, g->gid.raw, scope_of(g));

	if (r < 0)
		explain(a, g, r);
	else
		ibp_gsi_addr(&a->dev, g->gid.raw, true);
	return r;
}

static void del_addr(struct dev_adapter *a, const uint8_t addr[16])
{
	ibp_gsi_addr(&a->dev, addr, false);
	a->link->ops->del_addr(a->link, addr);
}

static void forget(struct dev_adapter *a)
{
	a->chan->ops->forget(a->chan);
	dev_fork_close(a->link->ops->fd(a->link), a->link->rx_stage);
	if (a->records)
		ut_close(dev_records_fd(a->records));
}

/* Binds what can be bound. One address is enough: the others are reported. */
static int add_addrs(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	int good = 0, error = -EADDRNOTAVAIL;

	for (uint32_t i = 0; i < ENG_GIDS_MAX; i++) {
		const struct eng_gid *g = eng_gid_at(&a->dev, i);
		int r = g ? add_addr(a, g) : -EADDRNOTAVAIL;

		if (g && r < 0)
			error = r;
		good += g && r == 0;
	}
	return good ? 0 : error;
}

static int attach(struct eng_dev *dev)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	int r;

	eng_dev_held(&a->dev);
	eng_dev_held(dev);
	if (dev_is_foreign(dev))
		return -EIO;
	if (dev->qpn_mask)
		return 0;
	r = ensure_port(a);
	if (r == 0)
		r = add_addrs(a);
	if (r == 0 && atomic_load(&a->driver.link_fd) < 0)
		r = dev_driver_attach(a, a->link->ops->fd(a->link));
	if (r < 0)
		return r;
	dev->qpn_fixed = a->link->qpn_fixed;
	dev->qpn_mask = a->link->qpn_mask;
	r = dev_roce_cm_init(a);
	if (r < 0)
		dev->qpn_mask = 0; /* not attached: tried again */
	else
		a->link->qpn_given = true;
	return r;
}

/* Whoever has joined the port has a manager, see device/roce_cm.h. */
static int cm_attach(struct dev_adapter *a)
{
	return attach(&a->dev);
}

/* A group's address on the wire is the GID itself; IPv4 groups are mapped. */
static int mcast_join(struct eng_dev *dev, const union ibv_gid *mgid)
{
	struct dev_adapter *a = dev_adapter_of(dev);

	return a->link ? a->link->ops->join(a->link, mgid->raw, a->info.ifindex) : -ENODEV;
}

static void mcast_leave(struct eng_dev *dev, const union ibv_gid *mgid)
{
	struct dev_adapter *a = dev_adapter_of(dev);

	if (a->link && !dev_is_foreign(dev))
		a->link->ops->leave(a->link, mgid->raw, a->info.ifindex);
}

static int query_port(struct eng_dev *dev, struct ibv_port_attr *ret) UT_NO_TSA
{
	int r = dev_port_query(dev_adapter_of(dev)->info.ifindex, ret);

	if (r < 0)
		return r;
	/* Any thread may ask, one with the progress lock too: a torn count is no
	 * harm, a deadlock would be. */
	ret->bad_pkey_cntr =
		(uint32_t)__atomic_load_n(&dev->counters[ENG_C_rx_bad_pkey], __ATOMIC_RELAXED);
	ret->qkey_viol_cntr =
		(uint32_t)__atomic_load_n(&dev->counters[ENG_C_rx_bad_qkey], __ATOMIC_RELAXED);
	return 0;
}

static int wait_on(struct eng_dev *dev, int fd, int also, uint64_t until)
{
	return dev_is_foreign(dev) ? -EIO : dev_driver_wait(dev_adapter_of(dev), fd, also, until);
}

static int wait_comp(struct eng_dev *dev, struct eng_chan *chan)
{
	return dev_is_foreign(dev) ? -EIO : dev_driver_wait_comp(dev_adapter_of(dev), chan);
}

static void why(struct eng_dev *dev, const char *sentence)
{
	dev_why_keep(sentence);
}

static const struct eng_dev_ops roce_ops = {
	.progress = dev_progress,
	.post_fast = dev_post_fast,
	.wait = wait_on,
	.wait_comp = wait_comp,
	.polled = dev_polled,
	.attach = attach,
	.mcast_join = mcast_join,
	.mcast_leave = mcast_leave,
	.query_port = query_port,
	.why = why,
};

/* An address handle may be made before the first QP, and the protocol asks its
 * port about it. */
static int ah_check(struct eng_dev *dev, const struct ibv_ah_attr *attr)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	int r;

	eng_dev_held(&a->dev);
	r = dev_is_foreign(dev) ? -EIO : ensure_port(a);
	return r < 0 ? r : ibp_proto_ops.ah_check(dev, attr);
}

static struct eng_proto_ops roce_proto; /* written under the process lock */

static int roce_open(struct dev_adapter *a)
{
	int r;

	if (!roce_proto.name) {
		roce_proto = ibp_proto_ops;
		roce_proto.ah_check = ah_check;
	}
	r = eng_dev_init(&a->dev, a->info.name, &roce_ops, &roce_proto, ut_rng_seed());
	if (r < 0)
		return r;
	a->dev.device = a;
	a->machine = &dev_roce_machine;
	dev_limits_set(&a->dev, &a->info);
	return 0;
}

/* What went over the wire, for those who ask why it took so long. */
static void log_counters(struct dev_adapter *a)
{
	eng_dev_held(&a->dev);
	for (int i = 0; i < ENG_C_COUNT; i++)
		if (a->dev.counters[i])
			ut_debug("%s: %llu %s", a->info.name,
				 (unsigned long long)a->dev.counters[i],
				 eng_counter_rows[i].text);
}

/*
 * The kernel would close the sockets as well, but unannounced: for a moment the
 * group of an address then steers to wrong members, and what is in our queue
 * for others, goodbyes of our own among it, would go down with us.
 */
static void leave(struct dev_adapter *a)
{
	eng_dev_held(&a->dev);
	dev_roce_cm_leave(a);
	for (uint32_t i = 0; i < ENG_GIDS_MAX; i++) {
		const struct eng_gid *g = eng_gid_at(&a->dev, i);

		if (g)
			a->link->ops->del_addr(a->link, g->gid.raw);
	}
}

static void roce_close(struct dev_adapter *a)
{
	if (a->link) {
		dev_roce_cm_fini(a);
		log_counters(a);
		ibp_port_fini(&a->dev);
		eng_dev_held(&a->dev);
		a->dev.generation_mask = 0;
		a->dev.generations = &a->dev.no_generation;
		a->dev.revoke = NULL;
		a->link->ops->close(a->link);
		a->link = NULL;
		a->wired = false;
	}
	eng_dev_fini(&a->dev);
}

const struct dev_kind_row dev_roce_row = {
	.word = "roce",
	.prefix = "dpl_roce_",
	.kind = DEV_ROCE,
	.open = roce_open,
	.add_addr = add_addr,
	.del_addr = del_addr,
	.forget = forget,
	.leave = leave,
	.cm_attach = cm_attach,
	.close = roce_close,
};

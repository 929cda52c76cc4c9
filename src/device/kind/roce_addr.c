/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/kind/roce_addr.h"

#include "device/kind/roce_link.h"
#include "device/kind/transport.h"
#include "device/why.h"
#include "engine/gid.h"
#include "link/udp/explain.h"
#include "proto/ib/gsi.h"
#include "util/ip.h"
#include "util/log.h"

#include <errno.h>
#include <stdio.h>

static void explain(struct dev_adapter *a, const struct eng_gid *g, int error)
{
	char sentence[320];

	snprintf(sentence, sizeof(sentence), "%s: UDP port %u: %s", a->info.name, dev_roce_udp_port(),
		 udp_explain(g->gid.raw, dev_roce_udp_port(), error));
	ut_warn("%s", sentence);
	dev_why_keep(UT_SAY_FAILURE, sentence);
}

static uint32_t scope_of(const struct eng_gid *g)
{
	return ut_ip_is_linklocal(g->gid.raw) ? g->ifindex : 0;
}

int dev_roce_add_addr(struct dev_adapter *a, const struct eng_gid *g)
{
	struct link *l = dev_transport_of(a)->link;
	int r = l->ops->add_addr(l, g->gid.raw, scope_of(g));

	if (r < 0)
		explain(a, g, r);
	else
		ibp_gsi_addr(&a->dev, g->gid.raw, true);
	return r;
}

void dev_roce_del_addr(struct dev_adapter *a, const uint8_t addr[16])
{
	struct link *l = dev_transport_of(a)->link;

	ibp_gsi_addr(&a->dev, addr, false);
	l->ops->del_addr(l, addr);
}

/* Returns 0 if one address is bound: those that are not are reported. */
int dev_roce_bind(struct dev_adapter *a)
{
	int good = 0, error = -EADDRNOTAVAIL;

	eng_dev_held(&a->dev);
	for (uint32_t i = 0; i < ENG_GIDS_MAX; i++) {
		const struct eng_gid *g = eng_gid_at(&a->dev, i);
		int r = g ? dev_roce_add_addr(a, g) : -EADDRNOTAVAIL;

		if (g && r < 0)
			error = r;
		good += g && r == 0;
	}
	return good ? 0 : error;
}

/* A group's address on the wire is the GID itself; IPv4 groups are mapped. */
int dev_roce_mcast_join(struct eng_dev *dev, const union ibv_gid *mgid)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	struct link *l;

	if (!a->wired)
		return -ENODEV;
	l = dev_transport_of(a)->link;
	return l->ops->join(l, mgid->raw, a->info.ifindex);
}

void dev_roce_mcast_leave(struct eng_dev *dev, const union ibv_gid *mgid)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	struct link *l;

	if (!a->wired || dev_is_foreign(dev))
		return;
	l = dev_transport_of(a)->link;
	l->ops->leave(l, mgid->raw, a->info.ifindex);
}

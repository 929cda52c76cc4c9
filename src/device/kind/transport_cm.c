/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/kind/transport_cm.h"

#include "cm/ibcm/ibcm.h"
#include "device/kind/probe_env.h"
#include "device/kind/records.h"
#include "device/kind/text.h"
#include "device/kind/transport.h"
#include "device/sys.h"
#include "proto/ib/gsi.h"
#include "proto/ib/ibp.h"
#include "proto/ib/migrate.h"
#include "proto/ib/probe.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/rng.h"
#include "wire/cm_fields.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAST_TRANSMITS 16 /* until the last MAD must have left */
#define PORTS_MIN 32768u  /* the kernel's defaults */
#define PORTS_MAX 60999u
#define PORT_PRIVILEGED 1024u

/* --- the carrier of the MADs --- */

static struct link *link_of(struct eng_dev *dev)
{
	return dev_transport_of(dev_adapter_of(dev))->link;
}

static int claim(struct eng_dev *dev, const uint8_t addr[16], uint64_t service)
{
	return link_of(dev)->ops->claim(link_of(dev), addr, service);
}

static void unclaim(struct eng_dev *dev, const uint8_t addr[16], uint64_t service)
{
	link_of(dev)->ops->unclaim(link_of(dev), addr, service);
}

static int pass_on(struct eng_dev *dev, const struct gsi_rx *rx, uint64_t service)
{
	return link_of(dev)->ops->pass_on(link_of(dev), rx->raw, service);
}

/* Made with the first connection: many processes have none. */
static int record(struct eng_dev *dev, const struct ibcm_record *t)
{
	struct dev_transport *p = dev_transport_of(dev_adapter_of(dev));

	if (!p->records) {
		p->records = dev_records_new();
		if (!p->records)
			return -ENOMEM;
		p->link->ops->entrust(p->link, dev_records_fd(p->records));
	}
	return dev_records_add(p->records, t);
}

static void untie(struct eng_dev *dev, int number)
{
	dev_records_del(dev_transport_of(dev_adapter_of(dev))->records, number);
}

static const struct dev_transport_ways *ways_of(struct eng_dev *dev)
{
	return dev_transport_of(dev_adapter_of(dev))->ways;
}

static int way(struct eng_dev *dev, const uint8_t local[16], const uint8_t remote[16], bool mad, struct ibv_ah_attr *ret)
{
	return ways_of(dev)->way(dev, local, remote, mad, ret);
}

static int along(struct eng_dev *dev, const uint8_t local[16], const uint8_t remote[16], const struct cm_path *path,
		 struct ibv_ah_attr *ah)
{
	return ways_of(dev)->along(dev, local, remote, path, ah);
}

static int gid(struct eng_dev *dev, const uint8_t addr[16], uint8_t ret[16])
{
	return ways_of(dev)->gid(dev, addr, ret);
}

static bool same_host(struct eng_dev *dev, const uint8_t addr[16])
{
	return ways_of(dev)->same_host(dev_adapter_of(dev), addr);
}

/* --- addresses that are GIDs --- */

static bool came(struct dev_adapter *a, struct gsi_rx *rx)
{
	return true;
}

/* Interfaces of this host other than the adapter's are another host's to it. */
static bool gid_same_host(struct dev_adapter *a, const uint8_t addr[16])
{
	bool found = dev_is_lo(a);

	eng_dev_held(&a->dev);
	for (int i = 0; i < a->n_addrs && !found; i++)
		found = !memcmp(a->addrs[i].addr, addr, 16);
	return found;
}

static bool has_record(struct dev_adapter *a, const uint8_t record[16], const uint8_t shared[16])
{
	return !memcmp(record, shared, 16);
}

const struct dev_transport_ways dev_transport_ways_gid = {
	.way = ibcm_default_way, .along = ibcm_default_along, .gid = ibcm_default_gid, .came = came, .same_host = gid_same_host, .has_record = has_record,
};

static const struct ibcm_carrier carrier = {
	.way = way,
	.along = along,
	.load = ibp_migration_load,
	.gid = gid,
	.send = ibp_gsi_send,
	.claim = claim,
	.unclaim = unclaim,
	.pass_on = pass_on,
	.probe = ibp_probe,
	.record = record,
	.untie = untie,
	.same_host = same_host,
	.gone = ibp_peer_gone,
};

static void received(struct eng_dev *dev, const struct gsi_rx *rx, uint64_t now)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	struct gsi_rx named = *rx;

	/* An address is bound a moment before there is a manager. */
	if (a->cm.ops && dev_transport_of(a)->ways->came(a, &named))
		ibcm_receive(&a->cm, &named, now);
}

const struct gsi_user dev_transport_gsi = { .mgmt_class = WIRE_MAD_CLASS_CM, .received = received };

/* --- processes that have died --- */

int dev_transport_cm_disconnect_dead(struct dev_adapter *a, uint64_t now)
{
	struct link *l = dev_transport_of(a)->link;
	struct ibcm_record t;
	uint8_t addr[16];
	const void *left;
	size_t len;
	int n = 0;

	while (a->cm.ops && (left = l->ops->dead_peer(l, addr, &len))) {
		uint32_t at = 0;

		while (dev_records_read(left, len, &at, &t))
			if (dev_transport_of(a)->ways->has_record(a, t.local, addr))
				n += ibcm_disconnect_dead(&a->cm, &t, now);
		ut_info("%s: another process of this host has died: this one disconnects on its behalf, %d connections so far",
			a->info.name, n);
	}
	return n;
}

/* --- the host's rules about ports --- */

static void read_range(struct ibcm_config *cfg)
{
	unsigned lo, hi;
	char text[64];

	cfg->port_min = PORTS_MIN;
	cfg->port_max = PORTS_MAX;
	if (dev_read_text("/proc/sys/net/ipv4/ip_local_port_range", text, sizeof(text)) &&
	    sscanf(text, "%u %u", &lo, &hi) == 2 && lo >= 1 && lo <= hi && hi <= 65535) {
		cfg->port_min = (uint16_t)lo;
		cfg->port_max = (uint16_t)hi;
	}
}

static bool may_bind_any(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	return DEV_SYS(SYS_capget, &head, data) == 0 &&
	       (data[0].effective & CAP_TO_MASK(CAP_NET_BIND_SERVICE));
}

static uint16_t privileged_below(void)
{
	unsigned n = PORT_PRIVILEGED;
	char text[32];

	if (may_bind_any())
		return 0;
	if (dev_read_text("/proc/sys/net/ipv4/ip_unprivileged_port_start", text, sizeof(text)) &&
	    (sscanf(text, "%u", &n) != 1 || n > 65535))
		n = PORT_PRIVILEGED;
	return (uint16_t)n;
}

/* --- life --- */

int dev_transport_cm_init(struct dev_adapter *a)
{
	struct ibcm_config cfg = {
		.carrier = &carrier,
		.seed = ut_rng_seed(),
		.ca_guid = a->info.guid,
		.mtu_max = dev_transport_of(a)->mtu_max,
		.port_privileged = privileged_below(),
		.probe_ns = dev_probe_ns(),
	};

	if (a->cm.ops)
		return 0;
	read_range(&cfg);
	return ibcm_init(&a->cm, &a->dev, &cfg);
}

/* The manager's messages leave now, as far as the socket takes them. */
static void flush(struct dev_adapter *a)
{
	for (int i = 0; i < LAST_TRANSMITS && ibp_busy(&a->dev); i++)
		ibp_transmit(&a->dev, ut_now(), ENG_ACKS_NOW);
}

void dev_transport_cm_leave(struct dev_adapter *a)
{
	if (!a->cm.ops)
		return;
	ibcm_leave(&a->cm);
	flush(a);
}

void dev_transport_cm_fini(struct dev_adapter *a)
{
	struct dev_transport *p = dev_transport_of(a);

	if (!a->cm.ops)
		return;
	ibcm_fini(&a->cm);
	flush(a);
	p->link->ops->entrust(p->link, -1);
	dev_records_free(p->records);
	p->records = NULL;
	a->cm = (struct cm_port){ .dev = &a->dev };
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ia/named_attr.h"

#include "dat/provider/ia/ia.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 20

struct dpr_ia_attrs {
	DAT_NAMED_ATTR attr[MOST];
	char text[MOST][64];
	int n;
};

__attribute__((format(printf, 3, 4))) static void add_attr(struct dpr_ia_attrs *a, const char *name,
						      const char *fmt, ...)
{
	va_list ap;

	if (a->n == MOST)
		return;
	va_start(ap, fmt);
	vsnprintf(a->text[a->n], sizeof(a->text[0]), fmt, ap);
	va_end(ap);
	a->attr[a->n].name = name;
	a->attr[a->n].value = a->text[a->n];
	a->n++;
}

static unsigned int mtu_bytes(enum ibv_mtu mtu)
{
	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : 0;
}

static const char *port_state(enum ibv_port_state s)
{
	switch (s) {
	case IBV_PORT_ACTIVE:
		return "PORT_ACTIVE";
	case IBV_PORT_DOWN:
		return "PORT_DOWN";
	case IBV_PORT_INIT:
		return "PORT_INIT";
	case IBV_PORT_ARMED:
		return "PORT_ARMED";
	default:
		return "PORT_DEFER";
	}
}

static void add_gid(struct dpr_ia_attrs *a, struct dpr_ia *ia)
{
	union ibv_gid gid;

	if (ibv_query_gid(ia->verbs, ia->port, 0, &gid))
		return;
	add_attr(a, "DAT_IB_GID", "0x%016" PRIx64 "%016" PRIx64,
	    be64toh(gid.global.subnet_prefix), be64toh(gid.global.interface_id));
}

static void add_extensions(struct dpr_ia_attrs *a, struct dpr_ia *ia)
{
	bool atomics = ia->dev.orig_attr.atomic_cap != IBV_ATOMIC_NONE;

	add_attr(a, "DAT_EXTENSION_INTERFACE", "TRUE");
	if (!ia->iwarp || ia->dapple)
		add_attr(a, DAT_IB_ATTR_IMMED_DATA, "TRUE");
	if (atomics) {
		add_attr(a, DAT_IB_ATTR_FETCH_AND_ADD, "TRUE");
		add_attr(a, DAT_IB_ATTR_CMP_AND_SWAP, "TRUE");
	}
	if (!ia->iwarp)
		add_attr(a, DAT_IB_ATTR_UD, "TRUE");
	add_attr(a, DAT_IB_ATTR_COUNTERS, "TRUE");
}

int dpr_ia_attrs_make(struct dpr_ia *ia)
{
	const struct ibv_port_attr *p = &ia->port_attr;
	struct dpr_ia_attrs *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	add_attr(a, "DAT_IB_PROVIDER_NAME", "dapple");
	add_attr(a, "DAT_IB_DEVICE_NAME", "%s", ia->device_name);
	add_attr(a, "DAT_IB_CONNECTIVITY_MODE", "DIRECT");
	add_attr(a, "DAT_IB_RDMA_READ", "TRUE");
	add_attr(a, "DAT_IB_NODE_GUID", "%016" PRIx64, be64toh(ibv_get_device_guid(ia->verbs->device)));
	add_gid(a, ia);
	add_attr(a, "DAT_IB_TRANSPORT_MTU", "%u", mtu_bytes(p->active_mtu));
	add_attr(a, "DAT_IB_PORT_STATUS", "%s", port_state(p->state));
	add_attr(a, "DAT_IB_PORT_NUMBER", "%u", ia->port);
	add_extensions(a, ia);
	ia->attrs = a;
	return 0;
}

void dpr_ia_attrs_free(struct dpr_ia *ia)
{
	free(ia->attrs);
	ia->attrs = NULL;
}

DAT_COUNT dpr_ia_attrs_get(struct dpr_ia *ia, DAT_NAMED_ATTR **attr)
{
	*attr = ia->attrs->attr;
	return ia->attrs->n;
}

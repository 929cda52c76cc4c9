/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/port.h"

#include "engine/dev.h"

#include <errno.h>

#define PHYS_DISABLED 3 /* IBTA 14.2.5.6, PortPhysicalState */

void eng_port_init(struct eng_port *p)
{
	*p = (struct eng_port){
		.link_layer = IBV_LINK_LAYER_ETHERNET, .n_pkeys = 1, .n_gids = ENG_GIDS_MAX,
		.state = IBV_PORT_DOWN, .max_mtu = IBV_MTU_4096, .active_mtu = IBV_MTU_256,
		.active_width = 1, .active_speed = 1, .pkeys = { ENG_PKEY_DEFAULT },
	};
}

/* UT_NO_TSA of these three: single fields, each read whole; dev->lock would be a deadlock for a caller
 * that holds it. */
int eng_port_query(struct eng_dev *dev, struct ibv_port_attr *ret) UT_NO_TSA
{
	const struct eng_port *p = &dev->port;
	int r = dev->ops->query_port(dev, ret);

	if (r < 0)
		return r;
	if (atomic_load_explicit(&dev->port_faulted, memory_order_relaxed)) {
		ret->state = IBV_PORT_DOWN;
		ret->phys_state = PHYS_DISABLED;
	}
	ret->link_layer = p->link_layer;
	ret->gid_tbl_len = p->n_gids;
	ret->pkey_tbl_len = p->n_pkeys;
	ret->lid = p->lid;
	ret->lmc = p->lmc;
	ret->sm_lid = p->sm_lid;
	ret->sm_sl = p->sm_sl;
	return 0;
}

uint16_t eng_port_pkey(const struct eng_dev *dev, unsigned index) UT_NO_TSA
{
	return index < dev->port.n_pkeys ? dev->port.pkeys[index] : 0;
}

int eng_port_pkey_index(const struct eng_dev *dev, uint16_t pkey) UT_NO_TSA
{
	for (int i = 0; i < dev->port.n_pkeys; i++)
		if (dev->port.pkeys[i] == pkey)
			return i;
	return -ENOENT;
}

bool eng_port_admits_pkey(const struct eng_dev *dev, uint16_t pkey)
{
	for (unsigned i = 0; i < ENG_PKEYS_MAX; i++)
		if (eng_pkey_matches(eng_port_pkey(dev, i), pkey))
			return true;
	return false;
}

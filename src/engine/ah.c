/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/ah.h"

#include "engine/dev.h"
#include "engine/mkey.h"
#include "engine/refuse.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void eng_av_from_attr(struct eng_av *av, const struct ibv_ah_attr *attr)
{
	*av = (struct eng_av){
		.flow_label = attr->grh.flow_label & 0xfffff,
		.sgid_index = attr->grh.sgid_index,
		.traffic_class = attr->grh.traffic_class,
		.hop_limit = attr->grh.hop_limit,
		.sl = attr->sl,
		.port_num = attr->port_num,
		.is_global = attr->is_global != 0,
		.dlid = attr->dlid,
		.src_path_bits = attr->src_path_bits,
		.static_rate = attr->static_rate,
	};
	memcpy(av->dgid, attr->grh.dgid.raw, sizeof(av->dgid));
}

void eng_av_to_attr(const struct eng_av *av, struct ibv_ah_attr *attr)
{
	*attr = (struct ibv_ah_attr){
		.grh = {
			.flow_label = av->flow_label,
			.sgid_index = av->sgid_index,
			.traffic_class = av->traffic_class,
			.hop_limit = av->hop_limit,
		},
		.sl = av->sl,
		.port_num = av->port_num,
		.is_global = av->is_global,
		.dlid = av->dlid,
		.src_path_bits = av->src_path_bits,
		.static_rate = av->static_rate,
	};
	memcpy(attr->grh.dgid.raw, av->dgid, sizeof(av->dgid));
}

int eng_ah_create(struct eng_pd *pd, const struct ibv_ah_attr *attr, struct eng_ah **ret)
{
	struct eng_dev *dev = pd->dev;
	struct eng_ah *ah;
	int r;

	if (!eng_port_is(attr->port_num))
		return eng_refuse(dev, ENG_R_AH_PORT);
	ut_lock(&dev->lock);
	r = dev->proto->ah_check(dev, attr);
	eng_dev_unlock(dev);
	if (r < 0)
		return r;
	if (eng_count(&dev->n_ah, (uint32_t)dev->attr.orig_attr.max_ah) < 0)
		return eng_refuse(dev, ENG_R_AH_LIMIT);
	ah = ut_zalloc(sizeof(*ah));
	if (!ah) {
		eng_uncount(&dev->n_ah);
		return eng_refuse(dev, ENG_R_MEMORY);
	}
	ah->pd = pd;
	eng_av_from_attr(&ah->av, attr);
	atomic_fetch_add(&pd->users, 1);
	*ret = ah;
	return 0;
}

void eng_ah_destroy(struct eng_ah *ah)
{
	atomic_fetch_sub(&ah->pd->users, 1);
	eng_uncount(&ah->pd->dev->n_ah);
	free(ah);
}

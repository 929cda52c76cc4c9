/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/switch.h"

#include "util/alloc.h"

struct fab_switch *fab_switch_new(void)
{
	struct fab_switch *sw = ut_zalloc(sizeof(*sw));

	if (!sw)
		return NULL;
	wire_set_SWITCH_INFO_linear_cap(sw->info, FAB_LINEAR_CAP);
	wire_set_SWITCH_INFO_mcast_cap(sw->info, FAB_MCAST_CAP);
	wire_set_SWITCH_INFO_life_time(sw->info, 18);
	wire_set_SWITCH_INFO_partition_cap(sw->info, 32);
	wire_set_SWITCH_INFO_inbound_enforcement(sw->info, 1);
	wire_set_SWITCH_INFO_outbound_enforcement(sw->info, 1);
	return sw;
}

void fab_switch_free(struct fab_switch *sw)
{
	if (!sw)
		return;
	free(sw->lft);
	free(sw->mft);
	free(sw);
}

unsigned fab_switch_port(const struct fab_switch *sw, uint16_t lid)
{
	if (lid > wire_get_SWITCH_INFO_linear_top(sw->info) || lid >= sw->n_lft)
		return FAB_PORT_NONE;
	return sw->lft[lid];
}

bool fab_switch_spreads(const struct fab_switch *sw, uint16_t mlid, unsigned port)
{
	unsigned i = mlid - MAD_LID_MCAST;

	return mlid >= MAD_LID_MCAST && i < sw->n_mft && sw->mft[i][port / 16] >> port % 16 & 1;
}

void fab_switch_lft_get(const struct fab_switch *sw, unsigned block, uint8_t *ret)
{
	if ((block + 1) * FAB_LFT_BLOCK <= sw->n_lft)
		memcpy(ret, sw->lft + block * FAB_LFT_BLOCK, FAB_LFT_BLOCK);
	else
		memset(ret, FAB_PORT_NONE, FAB_LFT_BLOCK);
}

int fab_switch_lft_set(struct fab_switch *sw, unsigned block, const uint8_t *data)
{
	uint32_t n = (block + 1) * FAB_LFT_BLOCK;
	uint8_t *longer;

	if (n > sw->n_lft) {
		longer = ut_realloc(sw->lft, n);
		if (!longer)
			return -ENOMEM;
		memset(longer + sw->n_lft, FAB_PORT_NONE, n - sw->n_lft);
		sw->lft = longer;
		sw->n_lft = n;
	}
	memcpy(sw->lft + block * FAB_LFT_BLOCK, data, FAB_LFT_BLOCK);
	return 0;
}

void fab_switch_mft_get(const struct fab_switch *sw, unsigned block, unsigned position, uint8_t *ret)
{
	unsigned i, first = block * FAB_MFT_BLOCK;

	for (i = 0; i < FAB_MFT_BLOCK; i++)
		wire_put16(ret + 2 * i, first + i < sw->n_mft ? sw->mft[first + i][position] : 0);
}

int fab_switch_mft_set(struct fab_switch *sw, unsigned block, unsigned position, const uint8_t *data)
{
	unsigned i, n = (block + 1) * FAB_MFT_BLOCK;
	uint16_t (*longer)[FAB_MFT_POSITIONS];

	if (n > sw->n_mft) {
		longer = ut_realloc(sw->mft, n * sizeof(*sw->mft));
		if (!longer)
			return -ENOMEM;
		memset(longer + sw->n_mft, 0, (n - sw->n_mft) * sizeof(*longer));
		sw->mft = longer;
		sw->n_mft = n;
	}
	for (i = 0; i < FAB_MFT_BLOCK; i++)
		sw->mft[block * FAB_MFT_BLOCK + i][position] = wire_get16(data + 2 * i);
	return 0;
}

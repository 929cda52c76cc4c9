/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/gid.h"

#include "engine/event.h"

#include <errno.h>
#include <string.h>

const struct eng_gid *eng_gid_at(struct eng_dev *dev, uint32_t index)
{
	return index < ENG_GIDS_MAX && dev->port.gids[index].valid ? &dev->port.gids[index] : NULL;
}

int eng_gid_get(struct eng_dev *dev, uint32_t index, struct eng_gid *ret)
{
	const struct eng_gid *g;

	if (index >= ENG_GIDS_MAX)
		return -EINVAL;
	ut_lock(&dev->lock);
	g = eng_gid_at(dev, index);
	if (g)
		*ret = *g;
	eng_dev_unlock(dev);
	return g ? 0 : -ENODATA;
}

int eng_gid_find(struct eng_dev *dev, const union ibv_gid *gid)
{
	for (int i = 0; i < ENG_GIDS_MAX; i++)
		if (dev->port.gids[i].valid && memcmp(&dev->port.gids[i].gid, gid, sizeof(*gid)) == 0)
			return i;
	return -ENOENT;
}

int eng_gid_add(struct eng_dev *dev, const struct eng_gid *g)
{
	int i = eng_gid_find(dev, &g->gid);

	if (i >= 0)
		return i;
	for (i = 0; i < ENG_GIDS_MAX && dev->port.gids[i].valid; i++)
		;
	if (i == ENG_GIDS_MAX)
		return -ENOSPC;
	dev->port.gids[i] = *g;
	dev->port.gids[i].valid = true;
	eng_async_port(dev, IBV_EVENT_GID_CHANGE);
	return i;
}

bool eng_gid_set(struct eng_dev *dev, uint32_t index, const struct eng_gid *g)
{
	struct eng_gid fresh = { 0 };
	struct eng_gid *at = &dev->port.gids[index];

	if (g) {
		fresh = *g;
		fresh.valid = true;
	}
	if (at->valid == fresh.valid && !memcmp(&at->gid, &fresh.gid, sizeof(fresh.gid)))
		return false;
	*at = fresh;
	eng_async_port(dev, IBV_EVENT_GID_CHANGE);
	return true;
}

void eng_gid_del(struct eng_dev *dev, uint32_t index)
{
	if (!eng_gid_at(dev, index))
		return;
	memset(&dev->port.gids[index], 0, sizeof(dev->port.gids[index]));
	eng_async_port(dev, IBV_EVENT_GID_CHANGE);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The GID table of a port. The device room fills it from the addresses of the interface (device/gids.c); protocols and
 * managers look in it for the source address of a path and for the addresses that are this port's own, and verbs read
 * it (abi/verbs/port.c).
 */
#ifndef ENGINE_GID_H
#define ENGINE_GID_H

#include "engine/dev.h"

/* The GID at this index. Returns 0, -EINVAL (no such index) or -ENODATA (empty). */
int eng_gid_get(struct eng_dev *dev, uint32_t index, struct eng_gid *ret) UT_EXCLUDES(dev->lock);
/* The same with dev->lock held: the entry, or NULL if it is empty or there is no such index. */
const struct eng_gid *eng_gid_at(struct eng_dev *dev, uint32_t index) UT_REQUIRES(dev->lock);
/* Returns the index of a GID, or -ENOENT. */
int eng_gid_find(struct eng_dev *dev, const union ibv_gid *gid) UT_REQUIRES(dev->lock);
/* Returns its index (the present one if the table has it already), or -ENOSPC. Raises
 * IBV_EVENT_GID_CHANGE in every context. */
int eng_gid_add(struct eng_dev *dev, const struct eng_gid *g) UT_REQUIRES(dev->lock);
/* Puts a GID at this index, or empties the entry (NULL). The same event, if that is a change. Returns true then. */
bool eng_gid_set(struct eng_dev *dev, uint32_t index, const struct eng_gid *g) UT_REQUIRES(dev->lock);
/* Empties an entry, with the same event. */
void eng_gid_del(struct eng_dev *dev, uint32_t index) UT_REQUIRES(dev->lock);

#endif

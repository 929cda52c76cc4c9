/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The will of a process: a table of its connections in sealed memory that other
 * processes can read when it has died (link_ops.entrust). Only its owner writes.
 */
#ifndef DEVICE_ROCE_WILL_H
#define DEVICE_ROCE_WILL_H

#include "cm/ibcm/ibcm.h"

struct dev_will;

/* NULL: no memory, or a kernel without the seals. */
struct dev_will *dev_will_new(void);
void dev_will_free(struct dev_will *w); /* NULL too */
int dev_will_fd(const struct dev_will *w);
/* The row's number, or -ENOSPC. */
int dev_will_add(struct dev_will *w, const struct ibcm_tie *t);
void dev_will_del(struct dev_will *w, int number);

/* Another process's table of len bytes: the next connection in it from *at on, which starts
 * at 0. False: no more. */
bool dev_will_read(const void *will, size_t len, uint32_t *at, struct ibcm_tie *ret);

#endif

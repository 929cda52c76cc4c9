/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The will of a process: a table of its connections in sealed memory that other
 * processes can read when it has died (link_ops.entrust). Only its owner writes.
 */
#ifndef DEVICE_ROCE_RECORDS_H
#define DEVICE_ROCE_RECORDS_H

#include "cm/ibcm/ibcm.h"

struct dev_records;

/* NULL: no memory, or a kernel without the seals. */
struct dev_records *dev_records_new(void);
void dev_records_free(struct dev_records *w); /* NULL too */
int dev_records_fd(const struct dev_records *w);
/* The row's number, or -ENOSPC. */
int dev_records_add(struct dev_records *w, const struct ibcm_record *t);
void dev_records_del(struct dev_records *w, int number);

/* Another process's table of len bytes: the next connection in it from *at on, which starts
 * at 0. False: no more. */
bool dev_records_read(const void *will, size_t len, uint32_t *at, struct ibcm_record *ret);

#endif

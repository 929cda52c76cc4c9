/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connection records: a table of a process's connections in sealed memory, which other processes on its
 * addresses read when it has died, in order to disconnect on its behalf (link_ops.entrust). Only the
 * process itself writes.
 */
#ifndef DEVICE_KIND_RECORDS_H
#define DEVICE_KIND_RECORDS_H

#include "cm/ibcm/ibcm.h"

struct dev_records;

/* Returns NULL if there is no memory, or the kernel has no memfd seals. */
struct dev_records *dev_records_new(void);
void dev_records_free(struct dev_records *w); /* NULL too */
int dev_records_fd(const struct dev_records *w);
/* Returns the row's number, or -ENOSPC. */
int dev_records_add(struct dev_records *w, const struct ibcm_record *t);
void dev_records_del(struct dev_records *w, int number);

/* The next connection in another process's table of len bytes, from *at on, which starts at 0. Returns false
 * if there are no more. */
bool dev_records_read(const void *bytes, size_t len, uint32_t *at, struct ibcm_record *ret);

#endif

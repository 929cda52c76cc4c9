/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table has its final size from the start, since memory that may grow cannot be sealed; its pages come
 * with the rows that are used. A row is written before its ID, and its ID is cleared first, so a row
 * that the death of the process cuts short is none.
 */
#include "device/kind/records.h"

#include "host/shm/segment.h"
#include "util/alloc.h"
#include "util/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 16383u
#define MAGIC 0x6470776cu

struct table {
	uint32_t magic;
	uint32_t used; /* rows from here on were never written */
	uint8_t pad[sizeof(struct ibcm_record) - 8];
	struct ibcm_record row[ROWS];
};
_Static_assert(sizeof(struct ibcm_record) == 56, "read by other processes");

struct dev_records {
	int fd;
	struct table *t;
	uint16_t n_free, free[ROWS]; /* rows below used, in the order they came back */
};

struct dev_records *dev_records_new(void)
{
	struct dev_records *w = ut_zalloc(sizeof(*w));

	if (!w)
		return NULL;
	w->fd = shm_seg_make("dapple-records", sizeof(*w->t), (void **)&w->t);
	if (w->fd < 0) {
		dev_records_free(w);
		return NULL;
	}
	w->t->magic = MAGIC;
	return w;
}

void dev_records_free(struct dev_records *w)
{
	if (!w)
		return;
	shm_seg_unmap(w->t, sizeof(*w->t));
	if (w->fd >= 0)
		ut_close(w->fd);
	free(w);
}

int dev_records_fd(const struct dev_records *w)
{
	return w->fd;
}

int dev_records_add(struct dev_records *w, const struct ibcm_record *t)
{
	uint32_t used = w->t->used, i;
	struct ibcm_record *row, blank = *t;

	if (!w->n_free && used == ROWS)
		return -ENOSPC;
	i = w->n_free ? w->free[--w->n_free] : used;
	row = &w->t->row[i];
	blank.local_id = 0;
	*row = blank;
	__atomic_store_n(&row->local_id, t->local_id, __ATOMIC_RELEASE);
	if (i == used)
		__atomic_store_n(&w->t->used, used + 1, __ATOMIC_RELEASE);
	return (int)i;
}

void dev_records_del(struct dev_records *w, int number)
{
	__atomic_store_n(&w->t->row[number].local_id, 0, __ATOMIC_RELEASE);
	w->free[w->n_free++] = (uint16_t)number;
}

bool dev_records_read(const void *bytes, size_t len, uint32_t *at, struct ibcm_record *ret)
{
	const struct table *t = bytes;
	uint32_t used;

	if (len < sizeof(*t) || t->magic != MAGIC)
		return false;
	used = t->used < ROWS ? t->used : ROWS;
	while (*at < used) {
		*ret = t->row[(*at)++];
		if (ret->local_id)
			return true;
	}
	return false;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table is as large as it will ever be, since memory that may grow cannot be
 * sealed; its pages come with the rows that are used. A row is written before
 * its ID and rubbed out in the other order, so one that is cut short by death is
 * none.
 */
#include "device/roce_will.h"

#include "device/sys.h"
#include "util/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROWS 16383u
#define MAGIC 0x6470776cu

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

struct table {
	uint32_t magic;
	uint32_t used; /* rows from here on were never written */
	uint8_t pad[sizeof(struct ibcm_tie) - 8];
	struct ibcm_tie row[ROWS];
};
_Static_assert(sizeof(struct ibcm_tie) == 56, "read by other processes");

struct dev_will {
	int fd;
	struct table *t;
	uint16_t n_free, free[ROWS]; /* rows below used, in the order they came back */
};

/* Sealed before anybody gets it; only the mapping that exists by then can write. */
static int map(struct dev_will *w)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

	if (ftruncate(w->fd, sizeof(struct table)) < 0)
		return -errno;
	w->t = mmap(NULL, sizeof(struct table), PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	if (w->t == MAP_FAILED) {
		w->t = NULL;
		return -errno;
	}
	madvise(w->t, sizeof(struct table), MADV_DONTFORK);
	return fcntl(w->fd, F_ADD_SEALS, seals) < 0 ? -errno : 0;
}

struct dev_will *dev_will_new(void)
{
	struct dev_will *w = ut_zalloc(sizeof(*w));

	if (!w)
		return NULL;
	w->fd = ut_refused(EMFILE) ? -1 : memfd_create("dapple-will", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (w->fd < 0 || map(w) < 0) {
		dev_will_free(w);
		return NULL;
	}
	w->t->magic = MAGIC;
	return w;
}

void dev_will_free(struct dev_will *w)
{
	if (!w)
		return;
	if (w->t)
		munmap(w->t, sizeof(struct table));
	if (w->fd >= 0)
		ut_close(w->fd);
	free(w);
}

int dev_will_fd(const struct dev_will *w)
{
	return w->fd;
}

int dev_will_add(struct dev_will *w, const struct ibcm_tie *t)
{
	uint32_t used = w->t->used, i;
	struct ibcm_tie *row, blank = *t;

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

void dev_will_del(struct dev_will *w, int number)
{
	__atomic_store_n(&w->t->row[number].local_id, 0, __ATOMIC_RELEASE);
	w->free[w->n_free++] = (uint16_t)number;
}

bool dev_will_read(const void *will, size_t len, uint32_t *at, struct ibcm_tie *ret)
{
	const struct table *t = will;
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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/xrcd.h"

#include "engine/dev.h"
#include "engine/refuse.h"
#include "util/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct eng_xrcd *find(struct eng_dev *dev, const struct stat *st) UT_REQUIRES(dev->lock);
static struct eng_xrcd *find(struct eng_dev *dev, const struct stat *st)
{
	struct eng_xrcd *x;

	ut_list_each(x, &dev->xrcds, node)
		if (x->fs == st->st_dev && x->ino == st->st_ino)
			return x;
	return NULL;
}

static int xrcd_new(struct eng_dev *dev, const struct stat *st, struct eng_xrcd **ret)
	UT_REQUIRES(dev->lock);
static int xrcd_new(struct eng_dev *dev, const struct stat *st, struct eng_xrcd **ret)
{
	struct eng_xrcd *x = ut_zalloc(sizeof(*x));

	if (!x)
		return eng_refuse(dev, ENG_R_MEMORY);
	x->dev = dev;
	x->opens = 1;
	ut_list_init(&x->node);
	if (st) {
		x->shared = true;
		x->fs = st->st_dev;
		x->ino = st->st_ino;
		ut_list_add_tail(&dev->xrcds, &x->node);
	}
	eng_count(&dev->n_xrcd, UINT_MAX);
	*ret = x;
	return 0;
}

static int open_shared(struct eng_dev *dev, const struct stat *st, int oflags,
		       struct eng_xrcd **ret) UT_REQUIRES(dev->lock);
static int open_shared(struct eng_dev *dev, const struct stat *st, int oflags,
		       struct eng_xrcd **ret)
{
	struct eng_xrcd *x = find(dev, st);

	if (!x)
		return oflags & O_CREAT ? xrcd_new(dev, st, ret) : eng_refuse(dev, ENG_R_XRC_ABSENT);
	if (oflags & O_EXCL)
		return eng_refuse(dev, ENG_R_XRC_FLAGS);
	x->opens++;
	*ret = x;
	return 0;
}

int eng_xrcd_open(struct eng_dev *dev, int fd, int oflags, struct eng_xrcd **ret)
{
	struct stat st;
	int r;

	if (!(dev->proto->qp_types & 1u << IBV_QPT_XRC_RECV))
		return eng_refuse(dev, ENG_R_XRC_LACKS);
	if (oflags & ~(O_CREAT | O_EXCL))
		return eng_refuse(dev, ENG_R_XRC_FLAGS);
	if (fd != -1 && fstat(fd, &st) < 0)
		return -errno;
	ut_lock(&dev->lock);
	r = fd == -1 ? xrcd_new(dev, NULL, ret) : open_shared(dev, &st, oflags, ret);
	eng_dev_unlock(dev);
	return r;
}

int eng_xrcd_close(struct eng_xrcd *x)
{
	struct eng_dev *dev = x->dev;
	bool last;
	int r = 0;

	ut_lock(&dev->lock);
	last = x->opens == 1;
	if (last && atomic_load(&x->users)) {
		r = eng_refuse(dev, ENG_R_XRC_USED);
		last = false;
	} else {
		x->opens--;
	}
	if (last)
		ut_list_del(&x->node);
	eng_dev_unlock(dev);
	if (last) {
		eng_uncount(&dev->n_xrcd);
		free(x);
	}
	return r;
}

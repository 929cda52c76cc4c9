/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* XRC domains (IBTA 10.2.10): a domain of a file is shared by all that open that file, by its inode. */
#ifndef ENGINE_XRCD_H
#define ENGINE_XRCD_H

#include "util/list.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct eng_dev;

struct eng_xrcd {
	struct eng_dev *dev;
	bool shared;     /* has an inode */
	uint64_t fs, ino;
	struct ut_list node; /* dev->xrcds; dev->lock */
	unsigned opens;  /* handles given out; dev->lock */
	atomic_uint users; /* SRQs and target queue pairs */
};

/* fd -1: a private domain. oflags: O_CREAT, O_EXCL. Returns 0, -EAGAIN, -EINVAL, -EBADF as ibv_open_xrcd(3),
 * -EOPNOTSUPP (the protocol has no XRC), -ENOMEM. */
int eng_xrcd_open(struct eng_dev *dev, int fd, int oflags, struct eng_xrcd **ret);
/* Returns 0, or -EBUSY if this is the last handle and objects use the domain. */
int eng_xrcd_close(struct eng_xrcd *x);

#endif

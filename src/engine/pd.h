/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Protection domains (IBTA 10.2.3): only objects of one domain work together. */
#ifndef ENGINE_PD_H
#define ENGINE_PD_H

#include <stdatomic.h>
#include <stdint.h>

struct eng_dev;

struct eng_pd {
	struct eng_dev *dev;
	uint32_t number;   /* for views; counts from 1 */
	atomic_uint users; /* regions, windows, queue pairs, SRQs, address handles */
};

/* Returns 0 or -ENOMEM. */
int eng_pd_alloc(struct eng_dev *dev, struct eng_pd **ret);
/* Returns 0, or -EBUSY while objects use it. */
int eng_pd_dealloc(struct eng_pd *pd);

#endif

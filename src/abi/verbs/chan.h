/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_CHAN_H
#define ABI_VERBS_CHAN_H

#include "abi/verbs/vrb.h"

/* chan.c, async.c: an event without waiting, counted; 0 or -EAGAIN. */
int vrb_take_comp(struct ibv_comp_channel *ch, struct ibv_cq **ret);

#endif

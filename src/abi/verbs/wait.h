/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Blocking for an event as read() does: restarts after signals as util/restart.h says. */
#ifndef ABI_VERBS_WAIT_H
#define ABI_VERBS_WAIT_H

#include "abi/verbs/vrb.h"

/* Waits until all delivered events have been acknowledged. */
void vrb_await_acks(pthread_mutex_t *m, pthread_cond_t *c, const uint32_t *acked,
		    const unsigned *delivered);
/* Waits after an event descriptor had no event. Returns 0 if the caller is to test again, or a negative errno.
 * A cancellation point. Called without locks. */
int vrb_wait(struct eng_dev *dev, int fd);
/* The same for a channel, whose event the caller takes at once. */
int vrb_wait_comp(struct eng_dev *dev, struct eng_chan *chan);

#endif

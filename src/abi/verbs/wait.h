/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_WAIT_H
#define ABI_VERBS_WAIT_H

#include "abi/verbs/vrb.h"

/* async.c, cq.c: waits until what was handed out has been acknowledged. */
void vrb_await_acks(pthread_mutex_t *m, pthread_cond_t *c, const uint32_t *acked,
		    const unsigned *delivered);
/* wait.c: an event descriptor had nothing: waits as read() would. 0 = look
 * again, or a negative errno. A cancellation point; no lock may be held. */
int vrb_wait(struct eng_dev *dev, int fd);
/* The same for a channel, whose event is to be taken at once. */
int vrb_wait_comp(struct eng_dev *dev, struct eng_chan *chan);

#endif

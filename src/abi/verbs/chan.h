/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion channels: ibv_create_comp_channel() to ibv_ack_cq_events(). */
#ifndef ABI_VERBS_CHAN_H
#define ABI_VERBS_CHAN_H

#include "abi/verbs/vrb.h"

/* Takes an event without waiting and counts it as delivered. Returns 0 or -EAGAIN. */
int vrb_take_comp(struct ibv_comp_channel *ch, struct ibv_cq **ret);
/* ibv_ack_cq_events() */
void vrb_ack_cq_events(struct ibv_cq *cq, unsigned int n);

#endif

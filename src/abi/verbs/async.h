/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Asynchronous events: ibv_get_async_event() and ibv_ack_async_event(). */
#ifndef ABI_VERBS_ASYNC_H
#define ABI_VERBS_ASYNC_H

#include "abi/verbs/vrb.h"

/* Takes an event without waiting and counts it as delivered. Returns 0 or -EAGAIN. */
int vrb_take_async(struct ibv_context *c, struct ibv_async_event *ret);
/* ibv_ack_async_event() */
void vrb_ack_async_event(struct ibv_async_event *event);

#endif

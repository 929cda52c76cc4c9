/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Open contexts. */
#ifndef ABI_VERBS_CONTEXT_H
#define ABI_VERBS_CONTEXT_H

#include "abi/verbs/vrb.h"

extern struct ut_mutex vrb_contexts_lock;
extern struct ut_list vrb_contexts; /* struct vrb_context, guarded by the lock */

/* ibv_open_device(). Returns NULL with errno set on failure. */
struct ibv_context *vrb_open(struct ibv_device *d);

/* An object keeps the engine's context alive; it is gone. */
void vrb_hold(struct ibv_context *c);
void vrb_release(struct ibv_context *c);

#endif

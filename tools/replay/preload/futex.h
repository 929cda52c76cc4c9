/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* futex(2) among threads of which one runs at a time. */
#ifndef REPLAY_FUTEX_H
#define REPLAY_FUTEX_H

#include "turn.h"

#include <ucontext.h>

long rp_futex(struct rp_thread *t, const long args[6], ucontext_t *uc);

#endif

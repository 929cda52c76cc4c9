/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a call does in a replay beside its result: descriptors that it makes, output, memory files. */
#ifndef REPLAY_REPEAT_H
#define REPLAY_REPEAT_H

#include "describe.h"

/* The descriptors that the call of result r makes. */
void rp_place_new(const struct rp_desc *d, int nr, const long args[6], long r);

void rp_repeat(const struct rp_desc *d, int nr, const long args[6], long r);

#endif

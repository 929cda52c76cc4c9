/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The last failure sentences of an adapter, in memory. */
#ifndef ENGINE_WHY_H
#define ENGINE_WHY_H

struct eng_why_ring;

struct eng_why_ring *eng_why_ring_new(void); /* or NULL */
void eng_why_ring_free(struct eng_why_ring *r);

#endif

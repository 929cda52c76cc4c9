/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The bits of proto/ib/slow.h, computed again from the state that they follow from. */
#ifndef TESTS_SUPPORT_SLOW_H
#define TESTS_SUPPORT_SLOW_H

#include "engine/qp.h"

/* Fails the test if a bit of the queue pair contradicts its state. Bits that no other field holds
 * are held against their consequences. Takes dev->lock. */
void slow_check(struct eng_qp *qp);

#endif

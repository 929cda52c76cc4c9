/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A call of DAT 1.2: the slot of libdat2, and its result in numbers of 1.2. */
#ifndef DAT_COMPAT12_CALL_H
#define DAT_COMPAT12_CALL_H

#include "dat/compat12/convert.h"
#include "dat/compat12/front.h"

#include <dat/udat.h>
#include <dat/dat_registry.h>

#define C12_EXPORT __attribute__((visibility("default")))

/* Begins a call; defines `front`. Without libdat2 every call fails. */
#define C12_FRONT                                                         \
	const struct c12_front *front = c12_front();                      \
	if (__builtin_expect(!front, 0))                                  \
		return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE)

/* The slot, as a function of a type. */
#define C12_FUNC(name, type) ((type)front->slot[C12_##name])

/* 1.2 has no endpoint states of high availability. */
static inline DAT_EP_STATE c12_ep_state(DAT_EP_STATE state)
{
	return state > DAT_EP_STATE_COMPLETION_PENDING ? DAT_EP_STATE_CONNECTED : state;
}

#endif

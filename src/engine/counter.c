/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/counter.h"

const struct eng_counter_row eng_counter_rows[ENG_C_COUNT] = {
#define C(name, text) [ENG_C_##name] = { #name, text },
	ENG_COUNTERS(C)
#undef C
};

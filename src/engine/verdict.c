/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/verdict.h"

const struct eng_verdict_row eng_verdicts[ENG_V_COUNT] = {
	[ENG_OK] = { "OK", IBV_WC_SUCCESS, IBV_WC_SUCCESS, 0, ENG_NO_TERM, ENG_NO_TERM,
		   IBV_QPS_RTS, ENG_NO_EVENT, ENG_NO_EVENT, "no error", "none is needed" },
#define V(name, send, recv, nak, term, term_rd, next, event, stream, sentence, \
	  remedy) \
	[ENG_V_##name] = { #name, IBV_WC_##send, IBV_WC_##recv, nak, term, term_rd, \
			   IBV_QPS_##next, event, stream, sentence, remedy },
	ENG_VERDICTS(V)
#undef V
};

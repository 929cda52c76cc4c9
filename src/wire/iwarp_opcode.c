/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/iwarp_opcode.h"

const struct wire_iwarp_shape wire_iwarp_shapes[16] = {
#define M(op, n, q, l, a, b, c, d)                                                             \
	[op] = {                                                                               \
		.name = #n, .qn = q, .len = l,                                                 \
		.flags = WIRE_IWF_##a | WIRE_IWF_##b | WIRE_IWF_##c | WIRE_IWF_##d,            \
	},
	WIRE_IWARP_OPCODES(M)
#undef M
};

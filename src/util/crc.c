/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/crc.h"

#include "util/crc_pclmul.h"
#include "util/crc_poly.h"
#include "util/crc_sliced.h"
#include "util/crc_vpclmul.h"

const struct crc_ops *ut_crc_ops = &crc_sliced_ops;

#ifdef UT_CRC_X86
static enum ut_crc_impl at_most(enum ut_crc_impl impl)
{
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("sse4.2"))
		return UT_CRC_PORTABLE;
	if (impl == UT_CRC_FOLD_WIDE &&
	    !(__builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f") &&
	      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")))
		impl = UT_CRC_FOLD_TWO;
	if (impl == UT_CRC_FOLD_TWO && !(__builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2")))
		return UT_CRC_FOLD;
	return impl;
}

enum ut_crc_impl ut_crc_use(enum ut_crc_impl impl)
{
	static const struct crc_ops *const ops[] = {
		[UT_CRC_PORTABLE] = &crc_sliced_ops,
		[UT_CRC_FOLD] = &crc_pclmul_ops,
		[UT_CRC_FOLD_TWO] = &crc_vpclmul_two_ops,
		[UT_CRC_FOLD_WIDE] = &crc_vpclmul_ops,
	};

	impl = at_most(impl);
	ut_crc_ops = ops[impl];
	return impl;
}
#else
enum ut_crc_impl ut_crc_use(enum ut_crc_impl impl)
{
	(void)impl;
	return UT_CRC_PORTABLE;
}
#endif

/* Runs before the first thread of the library starts, so that no call pays for a check. */
__attribute__((constructor(101))) static void crc_init(void)
{
	crc_sliced_init();
	ut_crc_use(UT_CRC_FOLD_WIDE);
}

/* One product per set bit of n; the powers repeat after all of them. */
uint32_t ut_crc32_retreat(uint32_t diff, uint64_t n)
{
	for (unsigned k = 0; n; n >>= 1, k = (k + 1) % CRC_POWERS)
		if (n & 1)
			diff = ut_crc_ops->mul(&crc32_poly, crc32_slices, diff, crc32_back[k]);
	return diff;
}

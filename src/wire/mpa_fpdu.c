/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/mpa_fpdu.h"

#include "util/crc.h"

uint32_t wire_mpa_crc(const uint8_t *data, size_t n)
{
	return ut_crc32c(0, data, n);
}

bool wire_fpdu_strip(uint64_t pos, uint8_t **p, uint32_t n)
{
	uint32_t next = (uint32_t)(-pos % WIRE_MARKER_INTERVAL), start = next ? 0 : 4;
	uint8_t *to = *p + (next ? next : 4);

	for (; next < n; next += WIRE_MARKER_INTERVAL) {
		const uint8_t *m = *p + next;
		uint32_t keep = n - next - 4, ptr = next < start ? 0 : next - start;

		if (n - next < 4 || (wire_get_Marker_fpduptr(m) & ~3u) != ptr)
			return false;
		if (keep > WIRE_MARKER_INTERVAL - 4)
			keep = WIRE_MARKER_INTERVAL - 4;
		if (to != m + 4)
			memmove(to, m + 4, keep);
		to += keep;
	}
	*p += start;
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/mpa_fpdu.h"

#include "util/crc.h"

uint32_t wire_mulpdu(uint32_t emss, bool markers)
{
	uint32_t over = 6 + emss % 4, n;

	if (markers)
		over += 4 * ((emss + WIRE_MARKER_INTERVAL - 1) / WIRE_MARKER_INTERVAL);
	n = emss > over ? emss - over : 0;
	return n < WIRE_MULPDU_MIN ? WIRE_MULPDU_MIN : n > WIRE_MULPDU_MAX ? WIRE_MULPDU_MAX : n;
}

uint32_t wire_fpdu_len(uint64_t pos, uint32_t ulpdu, bool markers)
{
	uint32_t n = wire_fpdu_body(ulpdu) + WIRE_MPA_CRC_LEN, in, between;

	if (!markers)
		return n;
	/* From the start of the next interval on, each 508 octets of the FPDU have a marker in front;
	 * octets that fit into the present interval have none. */
	in = (uint32_t)(pos % WIRE_MARKER_INTERVAL);
	between = in ? WIRE_MARKER_INTERVAL - in : 0;
	if (n <= between)
		return n;
	return n + 4 * ((n - between + WIRE_MARKER_INTERVAL - 5) / (WIRE_MARKER_INTERVAL - 4));
}

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

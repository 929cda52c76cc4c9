/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The arithmetic of FPDUs (RFC 5044 section 4): length, pad, positions of markers. `pos` is a stream
 * position, counted from the first octet of full operation in that direction.
 */
#ifndef WIRE_MPA_FPDU_H
#define WIRE_MPA_FPDU_H

#include "wire/iwarp_fields.h"

#include <stdbool.h>
#include <stddef.h>

/* Largest ULPDU for a segment size (RFC 5044 4.5), 128..64768. */
static inline uint32_t wire_mulpdu(uint32_t emss, bool markers)
{
	uint32_t over = 6 + emss % 4, n;

	if (markers)
		over += 4 * ((emss + WIRE_MARKER_INTERVAL - 1) / WIRE_MARKER_INTERVAL);
	n = emss > over ? emss - over : 0;
	return n < WIRE_MULPDU_MIN ? WIRE_MULPDU_MIN : n > WIRE_MULPDU_MAX ? WIRE_MULPDU_MAX : n;
}

/* Octets of length field, ULPDU and pad. */
static inline uint32_t wire_fpdu_body(uint32_t ulpdu)
{
	return (2 + ulpdu + 3) & ~3u;
}

/* Returns the octets on the wire from pos on of an FPDU with that ULPDU: body, CRC and markers, also a
 * marker in front of the length field. */
static inline uint32_t wire_fpdu_len(uint64_t pos, uint32_t ulpdu, bool markers)
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

/* Returns the CRC32C of n octets as it is stored. */
uint32_t wire_mpa_crc(const uint8_t *data, size_t n);

/*
 * Checks the markers of a whole FPDU of n octets at pos and removes them in place. *p points to the
 * first octet of the FPDU, on return to its ULPDU_Length. Returns false if a marker does not point to
 * the start of the FPDU.
 */
bool wire_fpdu_strip(uint64_t pos, uint8_t **p, uint32_t n);

#endif

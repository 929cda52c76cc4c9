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
uint32_t wire_mulpdu(uint32_t emss, bool markers);

/* Octets of length field, ULPDU and pad. */
static inline uint32_t wire_fpdu_body(uint32_t ulpdu)
{
	return (2 + ulpdu + 3) & ~3u;
}

/* Returns the octets on the wire from pos on of an FPDU with that ULPDU: body, CRC and markers, also a
 * marker in front of the length field. */
uint32_t wire_fpdu_len(uint64_t pos, uint32_t ulpdu, bool markers);

/* Returns the CRC32C of n octets as it is stored. */
uint32_t wire_mpa_crc(const uint8_t *data, size_t n);

/*
 * Checks the markers of a whole FPDU of n octets at pos and removes them in place. *p points to the
 * first octet of the FPDU, on return to its ULPDU_Length. Returns false if a marker does not point to
 * the start of the FPDU.
 */
bool wire_fpdu_strip(uint64_t pos, uint8_t **p, uint32_t n);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The arithmetic of FPDUs (RFC 5044 section 4): length, pad, and where markers fall. `pos` is a
 * stream position, counted from the first octet of full operation in that direction.
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

/* Octets on the wire from pos on for an FPDU of that ULPDU: body, CRC, markers, the one in front
 * of the length field included. */
uint32_t wire_fpdu_len(uint64_t pos, uint32_t ulpdu, bool markers);

/* CRC32C of n octets as it is stored. */
uint32_t wire_mpa_crc(const uint8_t *data, size_t n);

/*
 * Checks the markers of a whole FPDU of n octets at pos and takes them out in place. *p: from the
 * first octet of the FPDU, afterwards its ULPDU_Length. False: one points elsewhere.
 */
bool wire_fpdu_strip(uint64_t pos, uint8_t **p, uint32_t n);

#endif

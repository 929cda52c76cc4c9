/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Terminate messages (RFC 5040 4.8). Written in the RFC's bit order; read in that and in the
 * order of siw of Linux 6.1, whose bit fields turn the nibbles and flags around.
 */
#ifndef WIRE_IWARP_TERM_H
#define WIRE_IWARP_TERM_H

#include "wire/iwarp_fields.h"

#include <stdbool.h>
#include <stddef.h>

/* The longest: control, segment length, untagged header, Read Request. */
#define WIRE_TERM_MAX (4 + 2 + 18 + 28)

struct wire_term {
	uint8_t layer, etype, code;
	/* The terminated segment: its length and DDP header as in an FPDU (DDPTagged or
	 * DDPUntagged rows), and its Read Request; NULL: not there. */
	const uint8_t *ddp, *read;
	bool swapped; /* read: it came in siw's order */
};

/* Writes what follows the DDP header of the Terminate; returns its length, a multiple of 2. */
size_t wire_term_build(uint8_t to[WIRE_TERM_MAX], const struct wire_term *t);
/*
 * Reads it; pointers go into the message. setup: nothing has come from this peer yet, which
 * decides between readings that are alike. False: shorter than what it claims to have.
 */
bool wire_term_parse(struct wire_term *ret, const uint8_t *p, size_t len, bool setup);

#endif

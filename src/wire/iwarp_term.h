/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Terminate messages (RFC 5040 4.8). Written in the RFC's bit order; read in that order and in the
 * one of siw of Linux 6.1, whose bit fields swap the nibbles and reverse the flags.
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
	bool swapped; /* set by the parser: siw's order */
};

/* Writes a Terminate from behind its DDP header on. Returns its length, a multiple of 2. */
size_t wire_term_build(uint8_t to[WIRE_TERM_MAX], const struct wire_term *t);
/*
 * Reads it; the pointers of *ret point into the message. setup: the first message of this peer, which
 * decides between both orders if the bits fit both. Returns false if the message is shorter than its
 * flags demand.
 */
bool wire_term_parse(struct wire_term *ret, const uint8_t *p, size_t len, bool setup);

#endif

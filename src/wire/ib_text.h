/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A packet as one line of text, from the same rows that made the accessors. */
#ifndef WIRE_IB_TEXT_H
#define WIRE_IB_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Writes at most size bytes with the final 0 and returns the length of the text, cut or not to
 * what fits. Any bytes are allowed in buf; what cannot be parsed is named by its reason.
 */
size_t wire_ib_text(char *out, size_t size, const uint8_t *buf, size_t len);

#endif

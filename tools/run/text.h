/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Text of programs, peers and files inside what other programs read: at most so many octets of it, SIZE_MAX for all.
 * Control characters are not printed.
 */
#ifndef RUN_TEXT_H
#define RUN_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Within a string of JSON (RFC 8259), without its quotes. */
void text_json(FILE *out, const char *v, size_t most);
/* As character data or an attribute's value of XML. */
void text_xml(FILE *out, const char *v, size_t most);

#endif

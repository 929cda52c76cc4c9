/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which packets a capture keeps: terms with blanks or commas between, of which all must hold. A term is a word, or
 * NAME=VALUE|VALUE...; a ! before it turns it round.
 *
 *      out, in              sent by the process, received by it
 *      op=send|write|read|atomic|ack|nak|cm|terminate|cnp|other
 *      way=wire|ring|direct|stores|pipe
 *      qp=NUMBER            of either end (decimal, or 0x...)
 *      peer=ADDRESS         of either end
 *      adapter=TEXT         part of the adapter's name
 *      program=NAME, pid=NUMBER
 */
#ifndef CAPTURE_FILTER_H
#define CAPTURE_FILTER_H

#include "live.h"
#include "observe/record.h"

#include <stdbool.h>

struct filter_packet {
	const struct obs_record *record;
	const char *program, *adapter;
	uint32_t pid;
	uint32_t qpns[2]; /* both ends; 0: unknown */
	enum live_group group;
	bool out;
};

struct filter;

/* Returns NULL after writing which word is wrong into why. */
struct filter *filter_read(const char *text, char *why, size_t size);
void filter_free(struct filter *f);
/* f NULL: all. */
bool filter_keeps(const struct filter *f, const struct filter_packet *p);

#endif

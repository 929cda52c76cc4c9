/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The screen of dapple top, by ncurses. */
#ifndef VIEW_SCREEN_H
#define VIEW_SCREEN_H

#include "table.h"

struct sampler;

struct top {
	double interval, seconds; /* between two looks; between the last two */
	bool json, once, latency, turned, no_sampler;
	enum table_sort sort;
	char filter[64];
	struct state state;
	uint64_t read_at; /* 0: not yet */
	struct sampler *sampler;
};

/* The next look: state, rates, and latencies if they are asked for. */
void top_read(struct top *t);

/* Shows it until the user leaves. Returns an exit code; 1 after a sentence in a build without ncurses. */
int screen_run(struct top *t);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A test of SDP as a table of rows: each has two ends, or a function that runs them in its own way. The first row that fails ends the program. An
 * argument runs only the rows whose name contains it.
 */
#ifndef TESTS_ULP_SDP_ROWS_H
#define TESTS_ULP_SDP_ROWS_H

#include "sdp_ends.h"

#include <stddef.h>
#include <string.h>

struct sdp_row {
	const char *name;
	int family;
	end_fn *server, *client;
	void (*run)(const char *name);  /* instead of the two */
};

static inline int sdp_run_rows(const struct sdp_row *rows, size_t nr, int argc, char **argv)
{
	size_t ran = 0;

	conf = sdp_conf_default;
	for (const struct sdp_row *r = rows; r < rows + nr; r++) {
		if (argc > 1 && !strstr(r->name, argv[1]))
			continue;
		if (r->run)
			r->run(r->name);
		else
			ends_run(r->name, r->family, r->server, r->client);
		ran++;
	}
	return ran ? 0 : 1;
}

#define SDP_RUN_ROWS(rows, argc, argv) sdp_run_rows(rows, sizeof(rows) / sizeof((rows)[0]), argc, argv)

#endif

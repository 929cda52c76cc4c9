/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The pages of docs/explain, which the build puts into the program (embed): one for each verdict of engine/verdict.h,
 * and CONNECTION and REFUSED. In the order of their names. */
#ifndef EXPLAIN_PAGES_H
#define EXPLAIN_PAGES_H

struct explain_page {
	const char *name;
	const char *text; /* begins with "# NAME: sentence\n" */
};

extern const struct explain_page explain_pages[];
extern const unsigned explain_n_pages;

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Panels with axes, points and lines, as SVG (W3C SVG 1.1), one below the other. */
#ifndef PLOT_SVG_H
#define PLOT_SVG_H

#include <stdbool.h>
#include <stdio.h>

#define SVG_WIDTH 960
#define SVG_PANEL 300

struct svg {
	FILE *out;
	int panel;             /* counts from 0 */
	double x0, x1, y0, y1; /* of the present panel */
	bool log_x;
	unsigned legend;       /* entries of it so far */
};

void svg_begin(struct svg *s, FILE *out, int panels, const char *title);
void svg_end(struct svg *s);

/* Begins a panel. Ranges are widened if they are empty. log_x: decades. */
void svg_panel(struct svg *s, const char *title, const char *x_name, const char *y_name, double x0, double x1, double y0,
	       double y1, bool log_x);
/* A line of n points; a point; both in a colour of the list by index, or in a named one. */
void svg_line(struct svg *s, const double *x, const double *y, size_t n, const char *colour);
void svg_point(struct svg *s, double x, double y, double radius, const char *colour);
void svg_legend(struct svg *s, const char *text, const char *colour);
/* A note in the middle of the panel. */
void svg_note(struct svg *s, const char *text);
const char *svg_colour(unsigned i);

#endif

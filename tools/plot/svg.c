/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "svg.h"

#include "../run/text.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LEFT 80
#define RIGHT 20
#define TOP 40
#define BOTTOM 45
#define HEAD 40
#define TICKS 6
#define LEGEND_MOST 8

/* Distinguishable without colour vision too (Okabe and Ito). */
static const char *const colours[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999" };

const char *svg_colour(unsigned i)
{
	return colours[i % (sizeof(colours) / sizeof(colours[0]))];
}

static void label(const struct svg *s, double x, double y, const char *anchor, int size, const char *text)
{
	fprintf(s->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\">", x, y, anchor, size);
	text_xml(s->out, text, SIZE_MAX);
	fputs("</text>\n", s->out);
}

static double top(const struct svg *s)
{
	return HEAD + s->panel * SVG_PANEL + TOP;
}

static double bottom(const struct svg *s)
{
	return HEAD + (s->panel + 1) * SVG_PANEL - BOTTOM;
}

static double at_x(const struct svg *s, double x)
{
	double share = s->log_x ? (log10(x) - log10(s->x0)) / (log10(s->x1) - log10(s->x0)) : (x - s->x0) / (s->x1 - s->x0);

	return LEFT + share * (SVG_WIDTH - LEFT - RIGHT);
}

static double at_y(const struct svg *s, double y)
{
	return bottom(s) - (y - s->y0) / (s->y1 - s->y0) * (bottom(s) - top(s));
}

/* 1, 2 or 5 times a power of ten, so that about TICKS fit. */
static double step_of(double range)
{
	double raw = range / TICKS, power = pow(10, floor(log10(raw)));

	return raw <= power ? power : raw <= 2 * power ? 2 * power : raw <= 5 * power ? 5 * power : 10 * power;
}

static void tick_x(const struct svg *s, double x)
{
	char text[32];

	snprintf(text, sizeof(text), "%g", fabs(x) < 1e-9 ? 0 : x); /* not -0 */
	fprintf(s->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", at_x(s, x), top(s), at_x(s, x),
		bottom(s));
	label(s, at_x(s, x), bottom(s) + 15, "middle", 11, text);
}

static void tick_y(const struct svg *s, double y)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", fabs(y) < 1e-9 ? 0 : y);
	fprintf(s->out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT, at_y(s, y), SVG_WIDTH - RIGHT,
		at_y(s, y));
	label(s, LEFT - 6, at_y(s, y) + 4, "end", 11, text);
}

static void axes(const struct svg *s)
{
	double dx = step_of(s->x1 - s->x0), dy = step_of(s->y1 - s->y0);

	if (s->log_x) {
		for (double x = pow(10, ceil(log10(s->x0) - 1e-9)); x <= s->x1 * 1.0001; x *= 10)
			tick_x(s, x);
	} else {
		for (double k = ceil(s->x0 / dx - 1e-9); k * dx <= s->x1 + dx * 1e-9; k++)
			tick_x(s, k * dx);
	}
	for (double k = ceil(s->y0 / dy - 1e-9); k * dy <= s->y1 + dy * 1e-9; k++)
		tick_y(s, k * dy);
	fprintf(s->out, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" fill=\"none\" stroke=\"#333\"/>\n", LEFT, top(s),
		SVG_WIDTH - LEFT - RIGHT, bottom(s) - top(s));
}

void svg_begin(struct svg *s, FILE *out, int panels, const char *title)
{
	*s = (struct svg){ .out = out, .panel = -1 };
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n", SVG_WIDTH, HEAD + panels * SVG_PANEL);
	label(s, SVG_WIDTH / 2.0, 25, "middle", 16, title);
}

void svg_end(struct svg *s)
{
	fputs("</svg>\n", s->out);
}

void svg_panel(struct svg *s, const char *title, const char *x_name, const char *y_name, double x0, double x1, double y0,
	       double y1, bool log_x)
{
	s->panel++;
	s->log_x = log_x;
	s->x0 = x0;
	s->x1 = x1 > x0 ? x1 : log_x ? x0 * 10 : x0 + 1;
	s->y0 = y0;
	s->y1 = y1 > y0 ? y1 : y0 + 1;
	s->legend = 0;
	axes(s);
	label(s, LEFT, top(s) - 10, "start", 13, title);
	label(s, SVG_WIDTH / 2.0, bottom(s) + 33, "middle", 12, x_name);
	fprintf(s->out, "<text transform=\"translate(16,%.1f) rotate(-90)\" text-anchor=\"middle\" font-size=\"12\">",
		(top(s) + bottom(s)) / 2);
	text_xml(s->out, y_name, SIZE_MAX);
	fputs("</text>\n", s->out);
}

void svg_line(struct svg *s, const double *x, const double *y, size_t n, const char *colour)
{
	fprintf(s->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.3\" points=\"", colour);
	for (size_t i = 0; i < n; i++)
		fprintf(s->out, "%.1f,%.1f ", at_x(s, x[i]), at_y(s, y[i]));
	fputs("\"/>\n", s->out);
}

void svg_point(struct svg *s, double x, double y, double radius, const char *colour)
{
	fprintf(s->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"/>\n", at_x(s, x), at_y(s, y), radius, colour);
}

void svg_legend(struct svg *s, const char *text, const char *colour)
{
	double y = top(s) + 16 + 15 * s->legend;

	if (s->legend++ >= LEGEND_MOST)
		return;
	fprintf(s->out, "<rect x=\"%d\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", LEFT + 10, y - 9, colour);
	label(s, LEFT + 25, y, "start", 11, text);
}

void svg_note(struct svg *s, const char *text)
{
	label(s, SVG_WIDTH / 2.0, (top(s) + bottom(s)) / 2, "middle", 13, text);
}

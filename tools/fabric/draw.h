/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fabric as a drawing: nodes in rows by their distance from the nearest end node, end nodes at the bottom, as fat
 * trees are drawn. Large fabrics are drawn as well, but only small ones can be read.
 */
#ifndef FABRIC_DRAW_H
#define FABRIC_DRAW_H

#include <stdio.h>

#include "mgmt/fabric.h"

/* Rows of boxes with their links named below each: for terminals. */
void draw_text(const struct fab *f, FILE *out);
/* A scalable drawing: colours are states of links, widths their rates. */
void draw_svg(const struct fab *f, FILE *out);

#endif

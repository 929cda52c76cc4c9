/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "text.h"

#include <stdbool.h>

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

void text_json(FILE *out, const char *v, size_t most)
{
	for (; most && *v; v++, most--) {
		if (*v == '"' || *v == '\\')
			fputc('\\', out);
		fputc(is_control(*v) ? '?' : *v, out);
	}
}

void text_xml(FILE *out, const char *v, size_t most)
{
	for (; most && *v; v++, most--)
		switch (*v) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		default: fputc(is_control(*v) ? ' ' : *v, out);
		}
}

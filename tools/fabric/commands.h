/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The commands that a fabric process executes for `dapple fabric`: one table of words and functions. */
#ifndef FABRIC_COMMANDS_H
#define FABRIC_COMMANDS_H

#include <stddef.h>
#include <stdio.h>

/* A control_fn; arg is a struct serve. */
int commands_execute(void *arg, int n, char **words, const char *input, size_t len, FILE *out);

#endif

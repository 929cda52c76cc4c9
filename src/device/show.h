/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of this process as lines, for the control socket: the one source of `dapple show`, `top` and `stats`. Made
 * when it is asked for; nothing is counted for it.
 *
 *      qp, cq, mr, cm_id    engine/show.h, cm/cma/show.c
 *      counters             "counter DEV NAME VALUE", all of them, behind "time NS pid N comm NAME"; of CLOCK_MONOTONIC
 *      top                  such a line, then qp and counters
 */
#ifndef DEVICE_SHOW_H
#define DEVICE_SHOW_H

#include <stdio.h>

/* Writes the whole reply, "ok" or "error: ..." first. dev_process_lock held. */
void dev_show(const char *what, FILE *out);

#endif

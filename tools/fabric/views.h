/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes the stand-ins for /sys of nodes in a thread of its own: on a busy disk a write may take a second, in which the
 * fabric process would answer no MAD, and the subnet manager take its port for lost.
 *
 * The loop's thread calls all functions. A wish for a path that still waits takes the place of the former one.
 */
#ifndef FABRIC_VIEWS_H
#define FABRIC_VIEWS_H

#include "device/sysfs/node.h"

#include <stdbool.h>
#include <stdint.h>

struct views;

/* Returns NULL with errno set. The thread starts with the first wish. */
struct views *views_open(void);
/* Ends the thread when it has written what it is at. */
void views_close(struct views *v);
/* Readable when views_done() has something. */
int views_fd(const struct views *v);
/* Takes over ports (for free()), also if it fails. ask: a number of the caller that views_done() gives back, 0: none.
 * Returns 0 or a negative errno. */
int views_write(struct views *v, const char *path, const struct att_welcome *node, const char *desc,
		struct dev_node_port *ports, unsigned n, uint64_t ask);
/* Returns true with a number that was asked with, and the result of its write, and the path. */
bool views_done(struct views *v, uint64_t *ret_ask, int *ret_result, char path[ATT_PATH_MAX]);

#endif

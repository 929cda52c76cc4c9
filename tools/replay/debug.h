/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A replay under gdb. */
#ifndef REPLAY_DEBUG_H
#define REPLAY_DEBUG_H

#include "file.h"

/*
 * Runs gdb, whose program is this command, which becomes the recorded process. gdb reads the files of the program and its
 * libraries from the record. Returns gdb's exit code, or another one after a sentence.
 */
int replay_debug(const struct replay_run *r);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A carrier leaves the program that has started it. */
#ifndef ULP_PRELOAD_DETACH_H
#define ULP_PRELOAD_DETACH_H

/*
 * Goes on in a process of its own session, without the program's descriptors, terminal, signals and directory; the first
 * process ends. One descriptor, at least 3, stays open. Returns 0 or a negative errno.
 */
int rsp_detach(int keep_fd);

#endif

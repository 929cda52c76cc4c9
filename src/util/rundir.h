/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef UTIL_RUNDIR_H
#define UTIL_RUNDIR_H

/*
 * The runtime directory of this user: the one place on disk that processes of one user share. Its
 * mode 0700 and its owner are its whole protection, so a directory with another mode or owner is
 * refused and never repaired: another user may have made it.
 *
 *   $DAPPLE_RUNTIME_DIR          if set (absolute)
 *   $XDG_RUNTIME_DIR/dapple      if XDG_RUNTIME_DIR belongs to this user and is writable
 *   /tmp/dapple-<uid>            otherwise
 *   /tmp/dapple-<uid>-<random>   if another user has made the latter: the first by name that belongs to this user,
 *                                else a new one, whose name no other user can take before
 */

#include <stddef.h>
#include <stdint.h>

/* Enough for every path below: longer settings are refused. */
#define UT_RUNDIR_MAX 1024

/*
 * Finds or creates the directory. Returns 0, or a negative errno with one English sentence in why
 * (may be NULL). ret_path is written only on success; then why is empty, or says whose directory had to be evaded.
 */
int ut_rundir(char *ret_path, size_t path_size, char *why, size_t why_size);

/* Returns the inode of the calling thread's network namespace; 0: not known, without /proc. */
uint64_t ut_net_ns(void);

/*
 * The subdirectory for the network namespace of the calling thread, <runtime dir>/net-<inode>: the
 * stand-ins for sysfs and dev are there. Not created. Returns as ut_rundir() does.
 */
int ut_rundir_net(char *ret_path, size_t path_size, char *why, size_t why_size);

/*
 * A program that is offered only some adapters (DAPPLE_ADAPTER, DAPPLE_DEVICES) reads a tree of its own, a view, which
 * has just these: /view-<hash of both settings> below the former. Writes that part of the path; "" for a program
 * that is offered all.
 */
#define UT_VIEW_MAX 16
#define UT_VIEW_PREFIX "/view-"
void ut_rundir_view(char ret[UT_VIEW_MAX]);

#endif

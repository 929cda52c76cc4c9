/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * _exit() and _Exit() of programs that are linked with one of these libraries, in whose search order it stands before
 * libc. What an adapter was given it sends, however its process ends; here the process is the adapter, and these two
 * calls pass by every destructor: dev_process_leave() (device/process.h) first, then the end.
 *
 * The names carry no version, so that they serve references to any version of libc's. `dapple run` has them in its
 * preload as well, for programs in whose search order libc comes first: those that are linked with another library
 * that uses verbs. Such a program without the preload, and one that ends by a signal, may leave behind what it posted
 * or took in its last 50 us.
 */
#ifndef ABI_VERBS_LEAVE_H
#define ABI_VERBS_LEAVE_H

#include <stdlib.h>
#include <unistd.h>

#endif

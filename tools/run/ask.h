/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests to running processes, by their control sockets (device/control.h). */
#ifndef RUN_ASK_H
#define RUN_ASK_H

#include <stddef.h>

/*
 * Sends a request to the process with this control socket, or this number. Returns its reply, to be freed: text after
 * the line "ok". NULL: none came, and why has a sentence without the program's name.
 */
char *ask_path(const char *path, const char *request, char *why, size_t size);
char *ask_pid(long pid, const char *request, char *why, size_t size);
/* Sends a request to all processes that show themselves (observe/place.h), and drops their replies. */
void ask_all(const char *request);

#endif

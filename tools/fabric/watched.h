/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A directory of a fabric with a file for each GUID, which programs open and write; the kernel reports what they do
 * (inotify(7)).
 */
#ifndef FABRIC_WATCHED_H
#define FABRIC_WATCHED_H

#include "link/fabric/attach.h"

#include <stdbool.h>
#include <stdint.h>

#define WATCHED_GUID 16 /* hexadecimal digits of a GUID, with which each name begins */

struct inotify_event;

struct watched {
	int dir, inotify; /* -1: not yet */
	char path[ATT_PATH_MAX];
};

/* No directory yet: watched_close() does nothing. */
void watched_none(struct watched *w);
/* The directory `name` in dir, made if it is not there; mask: events of inotify(7). Returns 0 or a negative errno; to be
 * closed in either case. */
int watched_open(struct watched *w, const char *dir, const char *name, uint32_t mask);
/* The directory stays. */
void watched_close(struct watched *w);
/* Calls take(arg, event) for what has been reported. Called when w->inotify is readable. */
void watched_serve(struct watched *w, void (*take)(void *arg, const struct inotify_event *ev), void *arg);
/* Returns true, with the GUID, if the name of the event is a GUID and this suffix. */
bool watched_guid(const struct inotify_event *ev, const char *suffix, uint64_t *ret);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The names that can be opened, and the library of each.
 *
 * With DAT_OVERRIDE set they come from the file that it names alone; else from the system's
 * dat.conf and one entry per adapter (builtin.h). The file is read once, at the first call that
 * needs it. Entries are never freed.
 */
#ifndef DAT_REGISTRY_ENTRY_H
#define DAT_REGISTRY_ENTRY_H

#include "dat/registry/dreg.h"

#include <stdbool.h>

extern pthread_mutex_t dreg_lock; /* see dreg.h */

struct dreg_entry {
	/* Constant. */
	struct dreg_entry *next;
	DAT_PROVIDER_INFO info;
	char *library, *params;
	bool builtin;

	/* Guarded by dreg_lock; a condition waits for the end of `busy`. */
	bool busy;         /* thread `owner` is loading or unloading it */
	pthread_t owner;
	unsigned users;    /* loaded while not 0 */

	/* Accessed by thread `owner` alone while busy, else constant while users is not 0. */
	void *dl;
	DAT_PROVIDER_FINI_FUNC fini;
};

/* The arguments of dat_ia_openv that select an entry. */
struct dreg_request {
	const char *name;
	DAT_UINT32 major, minor;
	DAT_BOOLEAN threadsafe;
};

/* How well an entry matches a request; higher is better. */
enum dreg_match {
	DREG_MATCH_NAME = 0,  /* another name */
	DREG_MATCH_MAJOR,     /* another major version */
	DREG_MATCH_MINOR,     /* an older minor version */
	DREG_MATCH_THREADS,   /* nonthreadsafe where threadsafe is asked for */
	DREG_MATCH_LENIENT,   /* newer minor version, or threadsafe unasked */
	DREG_MATCH_EXACT,
};

enum dreg_match dreg_match(const DAT_PROVIDER_INFO *info, const struct dreg_request *request);

/*
 * Returns the result of dat_ia_openv if the best match is below DREG_MATCH_LENIENT, or did not
 * load.
 */
DAT_RETURN dreg_match_error(enum dreg_match best);

/*
 * Returns the next entry that serves a request, exact ones first and in the order of the file; NULL
 * after the last. *ret_best becomes the best match of all entries, also of those that do not serve.
 */
struct dreg_entry *dreg_entry_next(const struct dreg_request *request, const struct dreg_entry *after,
				   enum dreg_match *ret_best);

/* Calls `each` with all different entries in order, until it returns false. */
void dreg_entry_each(bool (*each)(void *ctx, const DAT_PROVIDER_INFO *info), void *ctx);

#endif

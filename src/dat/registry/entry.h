/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The names that can be opened, and the library behind each.
 *
 * Where they come from: the file that DAT_OVERRIDE names, and nothing else; or, without it, the
 * system's dat.conf and one entry per adapter of ours (builtin.h). The file is read once, when the
 * registry is first asked something. Entries are never freed.
 */
#ifndef DAT_REGISTRY_ENTRY_H
#define DAT_REGISTRY_ENTRY_H

#include "dat/registry/dreg.h"

#include <stdbool.h>

struct dreg_entry {
	/* Immutable. */
	struct dreg_entry *next;
	DAT_PROVIDER_INFO info;
	char *library, *params;
	bool builtin;

	/* Under dreg_lock; `busy` is waited for on dreg_cond. */
	bool busy;         /* `owner` loads or unloads it */
	pthread_t owner;
	unsigned users;    /* loaded while not 0 */

	/* Of the owner while busy, else immutable while users is not 0. */
	void *dl;
	DAT_PROVIDER_FINI_FUNC fini;
};

/* What is wanted of a name. */
struct dreg_wish {
	const char *name;
	DAT_UINT32 major, minor;
	DAT_BOOLEAN threadsafe;
};

/* How well an entry serves a wish; the higher the better. */
enum dreg_match {
	DREG_MATCH_NAME = 0,  /* another name */
	DREG_MATCH_MAJOR,     /* another major version */
	DREG_MATCH_MINOR,     /* an older minor version */
	DREG_MATCH_THREADS,   /* not thread-safe, as is wanted */
	DREG_MATCH_LENIENT,   /* newer minor version, or safe for threads unasked */
	DREG_MATCH_EXACT,
};

enum dreg_match dreg_match(const DAT_PROVIDER_INFO *info, const struct dreg_wish *wish);

/* What dat_ia_openv says when the best of all is below DREG_MATCH_LENIENT. */
DAT_RETURN dreg_match_error(enum dreg_match best);

/*
 * The entries that serve a wish, best first and in file order, one per call; NULL after the last.
 * ret_best is told the best match of all, also of those that do not serve.
 */
struct dreg_entry *dreg_entry_next(const struct dreg_wish *wish, const struct dreg_entry *after,
				   enum dreg_match *ret_best);

/* All different keys, in order, to `each` until it returns false. */
void dreg_entry_each(bool (*each)(void *ctx, const DAT_PROVIDER_INFO *info), void *ctx);

/* For the list of entries of adapters: the entry of that name, made if need be; NULL: no memory. */
struct dreg_entry *dreg_entry_make(const DAT_PROVIDER_INFO *info, const char *library,
				   const char *params);

#endif

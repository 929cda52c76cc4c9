/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where a fabric lives: <runtime directory>/fabric/NAME, mode 0700. Its fabric process holds a lock on the file `lock`
 * there, which ends with the process: what a killed one has left is in nobody's way.
 */
#ifndef FABRIC_PLACE_H
#define FABRIC_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PLACE_MAX 1100		/* a runtime directory, and below it */
#define PLACE_NAME_MAX 63
#define PLACE_DEFAULT "fabric"
#define PLACE_FOREIGN 1

/* Letters, digits, dot, dash and underscore; no dot first. */
bool place_is_name(const char *name);

/* Directory of a fabric; `name` NULL: that of all. Made if it does not exist. Returns 0, or 1 after a sentence. */
int place_dir(const char *name, char ret[PLACE_MAX]);

/* Takes the lock of this directory. Returns a descriptor; -EBUSY with the process that has it; or another errno. */
int place_lock(const char *dir, pid_t *ret_holder);
/* Returns the process of a running fabric, PLACE_FOREIGN if it is in another pid namespace, or 0 if none has the lock. */
pid_t place_holder(const char *dir);

/* Removes files and folders below a directory, but not the file `lock`. Called with the lock held. */
void place_clean(const char *dir);
/* Removes the directory and all in it. Called with the lock held. */
void place_remove(const char *dir);

/*
 * The fabric that a command means: the given name, else that of DAPPLE_FABRIC, else the only one that runs, else
 * PLACE_DEFAULT. Returns 0, or an exit code after a sentence.
 */
int place_pick(const char *given, char ret[PLACE_NAME_MAX + 1]);

/* Calls fn(arg, name) for each fabric that runs. */
void place_each(void (*fn)(void *arg, const char *name), void *arg);

#endif

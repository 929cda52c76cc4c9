/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The DAT registry: libdat2.so.2.
 *
 * Entries (entry.h) say which names exist and which library serves each: the lines of dat.conf,
 * then one entry per adapter of Dapple. Providers (provider.h) register themselves when those
 * libraries are loaded. Handles (handle.h) are a small number for an IA and a pointer to a
 * provider's object for everything else; each call checks its handles and goes through the table of
 * the object's provider.
 *
 * One lock, dreg_lock, guards entries, providers and the numbers of IAs. It is not held across a
 * call into a provider or the loader: the thread that loads or unloads an entry's library marks the
 * entry busy instead. Calls on handles take no lock.
 */
#ifndef DAT_REGISTRY_DREG_H
#define DAT_REGISTRY_DREG_H

#include "dat/registry/refuse.h"

#include <dat2/udat.h>
#include <dat2/dat_registry.h>

#include <errno.h>
#include <pthread.h>

#define DREG_EXPORT __attribute__((visibility("default")))

/* An error of the registry's own, with its sentence. */
#define dreg_bad(type, subtype) dreg_refuse(__func__, DAT_ERROR(type, subtype))

/*
 * Around calls that load, open and close. A thread cancelled within would leave an entry busy for
 * ever, so cancellation is disabled; errno is kept for the program.
 */
struct dreg_guard {
	int cancel_state, saved_errno;
};

static inline struct dreg_guard dreg_enter(void)
{
	struct dreg_guard g = { .saved_errno = errno };

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g.cancel_state);
	return g;
}

static inline void dreg_leave(const struct dreg_guard *g)
{
	pthread_setcancelstate(g->cancel_state, NULL);
	errno = g->saved_errno;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The DAT registry: libdat2.so.2.
 *
 * Three things meet here. Entries (entry.h) say which names exist and which library serves each:
 * the lines of dat.conf, then one entry per adapter of ours. Providers (provider.h) are what
 * those libraries register once loaded. Handles (handle.h) are what programs hold: a small number
 * for an IA, a pointer to a provider's object for everything else; each call checks its handles
 * and goes through the table of the object's provider.
 *
 * One lock, dreg_lock, guards entries, providers and the making and ending of IA numbers. It is
 * never held across a call into a provider or the loader; whoever loads or unloads an entry's
 * library marks the entry busy instead. Calls on handles take no lock at all.
 */
#ifndef DAT_REGISTRY_DREG_H
#define DAT_REGISTRY_DREG_H

#include <dat2/udat.h>
#include <dat2/dat_registry.h>

#include <errno.h>
#include <pthread.h>

#define DREG_EXPORT __attribute__((visibility("default")))

extern pthread_mutex_t dreg_lock;

static inline DAT_RETURN dreg_bad(DAT_RETURN type, DAT_RETURN subtype)
{
	return DAT_ERROR(type, subtype);
}

/*
 * Around calls that load, open and close: a thread that is cancelled in the middle would leave an
 * entry busy for ever, and errno is the program's.
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

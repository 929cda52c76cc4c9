/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/observe.h"

#include "device/adapter.h"
#include "device/control.h"
#include "device/process.h"
#include "observe/place.h"
#include "util/env.h"
#include "util/log.h"
#include "util/syscall.h"

#include <errno.h>
#include <string.h>

/* The reader that asked last; under its own lock, a leaf. */
static struct ut_mutex lock = UT_MUTEX_INIT;
static char wanted[OBS_PATH] UT_GUARDED_BY(lock);

static int join(struct dev_adapter *a, const char *path)
{
	int session, ring, r;
	struct obs_config cfg;
	struct obs_tap *tap;

	eng_dev_held(&a->dev);
	session = obs_session_join(path, &cfg);
	if (session < 0)
		return session;
	ring = obs_tap_make(&tap, &cfg, a->info.name);
	r = ring < 0 ? ring : obs_session_pass(session, ring);
	ut_close(ring);
	if (r == 0)
		r = dev_control_watch(session, a->serial);
	if (r < 0) {
		if (ring >= 0)
			obs_tap_free(tap);
		ut_close(session);
		return r;
	}
	a->observer = tap;
	a->session = session;
	a->kind->observe(a, tap);
	return 0;
}

struct search {
	struct dev_adapter *a;
};

static void try(const char *path, void *arg)
{
	struct search *s = arg;

	if (!s->a->observer)
		join(s->a, path);
}

void dev_observe_attached(struct dev_adapter *a)
{
	struct search s = { a };
	char path[OBS_PATH];
	const char *env;
	int r;

	eng_dev_held(&a->dev);
	if (a->observer || !obs_place_permitted())
		return;
	ut_lock(&lock);
	env = *wanted ? wanted : ut_env(OBS_CAPTURE_ENV);
	snprintf(path, sizeof(path), "%s", env ? env : "");
	ut_unlock(&lock);
	if (*path) {
		r = join(a, path);
		if (r < 0)
			ut_warn("%s: the reader of its capture is gone (%s): the program runs uncaptured; start dapple capture again",
				a->info.name, strerror(-r));
	}
	obs_place_each("all-", try, &s);
}

void dev_observe_end(struct dev_adapter *a)
{
	eng_dev_held(&a->dev);
	if (!a->observer)
		return;
	a->kind->observe(a, NULL);
	obs_tap_leave(a->observer);
	obs_tap_free(a->observer);
	a->observer = NULL;
	ut_close_fd(&a->session);
}

void dev_observe_forget(struct dev_adapter *a)
{
	if (a->observer)
		ut_close_fd(&a->session);
}

void dev_observe_start(const char *path, bool replace, FILE *out)
{
	struct dev_adapter *a;
	int n = 0, r = 0;

	if (strlen(path) >= OBS_PATH) {
		fprintf(out, "error: the path of the reader is too long\n");
		return;
	}
	ut_lock(&lock);
	strcpy(wanted, path);
	ut_unlock(&lock);
	ut_list_each(a, &dev_process_adapters, node) {
		int one = 0;

		ut_lock(&a->dev.lock);
		if (a->wired && a->dev.qpn_mask && (replace || !a->observer)) {
			dev_observe_end(a);
			one = join(a, path);
			n += one == 0;
		}
		eng_dev_unlock(&a->dev);
		r = one < 0 ? one : r;
	}
	if (r < 0)
		fprintf(out, "error: an adapter cannot be captured: %s\n", strerror(-r));
	else
		fprintf(out, "ok\n%d adapters\n", n);
}

void dev_observe_left(uint64_t serial)
{
	struct dev_adapter *a;

	ut_lock(&lock);
	*wanted = 0;
	ut_unlock(&lock);
	ut_list_each(a, &dev_process_adapters, node) {
		if (a->serial != serial)
			continue;
		ut_lock(&a->dev.lock);
		dev_observe_end(a);
		eng_dev_unlock(&a->dev);
	}
}

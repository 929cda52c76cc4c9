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

/* An observer that a reader has, and no adapter yet. */
struct prepared {
	struct obs_tap *tap;
	int session;
};

/* Without the progress lock, if it may be: the memory of a ring takes milliseconds. Returns 0 or -errno. */
static int prepare(const struct dev_adapter *a, const char *path, struct prepared *ret)
{
	struct obs_config cfg;
	int ring, r;

	ret->session = obs_session_join(path, &cfg);
	if (ret->session < 0)
		return ret->session;
	ring = obs_tap_make(&ret->tap, &cfg, a->info.name);
	r = ring < 0 ? ring : obs_session_pass(ret->session, ring);
	ut_close(ring);
	if (r == 0)
		return 0;
	if (ring >= 0)
		obs_tap_free(ret->tap);
	ut_close(ret->session);
	return r;
}

static void drop(struct prepared *p)
{
	obs_tap_free(p->tap);
	ut_close(p->session);
}

static int lay(struct dev_adapter *a, struct prepared *p)
{
	int r = dev_control_watch(p->session, a->serial);

	eng_dev_held(&a->dev);
	if (r < 0) {
		drop(p);
		return r;
	}
	a->observer = p->tap;
	a->session = p->session;
	a->kind->observe(a, p->tap);
	return 0;
}

static int join(struct dev_adapter *a, const char *path)
{
	struct prepared p;
	int r = prepare(a, path, &p);

	return r < 0 ? r : lay(a, &p);
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

static bool is_wanted(const struct dev_adapter *a, bool replace) UT_REQUIRES(a->dev.lock)
{
	return a->wired && a->dev.qpn_mask && (replace || !a->observer);
}

/* Returns 1, 0 for an adapter that is not to be observed, or -errno. */
static int start(struct dev_adapter *a, const char *path, bool replace)
{
	struct prepared p;
	bool wanted_now;
	int r;

	ut_lock(&a->dev.lock);
	wanted_now = is_wanted(a, replace);
	eng_dev_unlock(&a->dev);
	if (!wanted_now)
		return 0;
	r = prepare(a, path, &p);
	if (r < 0)
		return r;
	ut_lock(&a->dev.lock);
	if (is_wanted(a, replace)) {
		dev_observe_end(a);
		r = lay(a, &p);
		r = r < 0 ? r : 1;
	} else {
		drop(&p);
	}
	eng_dev_unlock(&a->dev);
	return r;
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
		int one = start(a, path, replace);

		n += one > 0;
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

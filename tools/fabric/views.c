/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "views.h"

#include "util/alloc.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/sys.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Nobody waits for a tree that is renewed: a sweep changes a port several times. */
#define RENEW_NS (100 * UT_MS)

/* One tree to write, or written. */
struct wish {
	struct ut_list node;
	char path[ATT_PATH_MAX];
	char desc[ATT_PATH_MAX];
	struct att_welcome welcome;
	struct dev_node_port *ports;
	unsigned n;
	uint64_t ask;
	uint64_t due;                  /* ns; not written before */
	int result;
};

struct views {
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_t thread;
	bool runs;                     /* the loop's thread */
	int event;
	/* lock */
	struct ut_list waiting, done;
	bool stop;
};

struct views *views_open(void)
{
	struct views *v = ut_zalloc(sizeof(*v));
	pthread_condattr_t clock;

	if (!v)
		return NULL;
	v->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (v->event < 0) {
		free(v);
		return NULL;
	}
	pthread_mutex_init(&v->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&v->more, &clock);
	pthread_condattr_destroy(&clock);
	ut_list_init(&v->waiting);
	ut_list_init(&v->done);
	return v;
}

static void free_wish(struct wish *w)
{
	free(w->ports);
	free(w);
}

static void free_all(struct ut_list *l)
{
	struct ut_list *n;

	while ((n = ut_list_pop(l)))
		free_wish(ut_container(n, struct wish, node));
}

void views_close(struct views *v)
{
	if (!v)
		return;
	pthread_mutex_lock(&v->lock);
	v->stop = true;
	pthread_cond_signal(&v->more);
	pthread_mutex_unlock(&v->lock);
	if (v->runs)
		pthread_join(v->thread, NULL);
	free_all(&v->waiting);
	free_all(&v->done);
	ut_close(v->event);
	pthread_cond_destroy(&v->more);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

int views_fd(const struct views *v)
{
	return v->event;
}

/* The wish that is due first, or NULL. */
static struct wish *first_due(struct views *v)
{
	struct wish *w, *first = NULL;

	ut_list_each(w, &v->waiting, node)
		if (!first || w->due < first->due)
			first = w;
	return first;
}

/* Waits until something changes, or until `until` (UT_NEVER: without end). Called with the lock held. */
static void wait_more(struct views *v, uint64_t until)
{
	struct timespec t = { (time_t)(until / UT_S), (long)(until % UT_S) };

	if (until == UT_NEVER)
		pthread_cond_wait(&v->more, &v->lock);
	else
		pthread_cond_timedwait(&v->more, &v->lock, &t);
}

/* Returns the next wish, or NULL at the end. */
static struct wish *next_wish(struct views *v)
{
	struct wish *w = NULL;

	pthread_mutex_lock(&v->lock);
	while (!v->stop) {
		w = first_due(v);
		if (w && w->due <= ut_now())
			break;
		wait_more(v, w ? w->due : UT_NEVER);
		w = NULL;
	}
	if (v->stop)
		w = NULL;
	if (w)
		ut_list_del(&w->node);
	pthread_mutex_unlock(&v->lock);
	return w;
}

static void report(struct views *v, struct wish *w)
{
	uint64_t one = 1;

	if (!w->ask) {
		free_wish(w);
		return;
	}
	pthread_mutex_lock(&v->lock);
	ut_list_add_tail(&v->done, &w->node);
	pthread_mutex_unlock(&v->lock);
	(void)!write(v->event, &one, sizeof(one));
}

static void *write_all(void *arg)
{
	struct views *v = arg;
	struct wish *w;

	while ((w = next_wish(v))) {
		w->result = dev_node_write(w->path, &w->welcome, w->desc, w->ports, w->n);
		report(v, w);
	}
	return NULL;
}

static int start(struct views *v)
{
	sigset_t all, old;
	int r;

	if (v->runs)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&v->thread, NULL, write_all, v);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	v->runs = !r;
	return -r;
}

/* One that waits for the same path, and that no attachment asks for, is out of date: its turn is the new one's, so that a
 * port that changes for ever is shown as well. Called with the lock held. */
static void drop_former(struct views *v, struct wish *by)
{
	struct wish *w, *next;

	ut_list_each_safe(w, next, &v->waiting, node)
		if (!w->ask && !strcmp(w->path, by->path)) {
			if (w->due < by->due)
				by->due = w->due;
			ut_list_del(&w->node);
			free_wish(w);
		}
}

int views_write(struct views *v, const char *path, const struct att_welcome *node, const char *desc,
		struct dev_node_port *ports, unsigned n, uint64_t ask)
{
	struct wish *w = ut_zalloc(sizeof(*w));
	int r = w ? start(v) : -ENOMEM;

	if (r) {
		free(ports);
		free(w);
		return r;
	}
	snprintf(w->path, sizeof(w->path), "%s", path);
	snprintf(w->desc, sizeof(w->desc), "%s", desc);
	w->welcome = *node;
	w->ports = ports;
	w->n = n;
	w->ask = ask;
	w->due = ask ? 0 : ut_now() + RENEW_NS;
	pthread_mutex_lock(&v->lock);
	drop_former(v, w);
	ut_list_add_tail(&v->waiting, &w->node);
	pthread_cond_signal(&v->more);
	pthread_mutex_unlock(&v->lock);
	return 0;
}

bool views_done(struct views *v, uint64_t *ret_ask, int *ret_result, char path[ATT_PATH_MAX])
{
	struct ut_list *n;
	struct wish *w;
	uint64_t count;

	pthread_mutex_lock(&v->lock);
	n = ut_list_pop(&v->done);
	if (!n)
		(void)!read(v->event, &count, sizeof(count));
	pthread_mutex_unlock(&v->lock);
	if (!n)
		return false;
	w = ut_container(n, struct wish, node);
	*ret_ask = w->ask;
	*ret_result = w->result;
	memcpy(path, w->path, ATT_PATH_MAX);
	free_wish(w);
	return true;
}

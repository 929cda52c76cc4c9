/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Handlers instead of blocking calls. One thread waits for all descriptors that
 * have a handler, and calls the handlers one at a time. A source is busy while its handler
 * runs; a thread that replaces or removes it waits for the end of that call. The handler itself
 * does not wait: its source is freed when the call has returned.
 */
#include "dapple/verbs.h"

#include "abi/dapple/verbs_ops.h"
#include "abi/verbs/vrb.h"
#include "util/alloc.h"
#include "util/export.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

struct source {
	struct ut_list node;
	int fd;
	struct ibv_comp_channel *channel; /* or */
	struct ibv_context *context;
	dpl_comp_handler comp;
	dpl_async_handler async;
	void *arg;
	bool busy, dead;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static struct ut_list sources = UT_LIST_INIT(sources);
static int epoll_fd = -1;
static pthread_t thread;
static pid_t thread_pid; /* a forked child has none of the parent's handlers */

static void call_comp(const struct source *copy)
{
	struct ibv_cq *cq;

	while (!dpl_verbs_ops()->take_comp(copy->channel, &cq)) {
		copy->comp(cq, cq->cq_context, copy->arg);
		dpl_verbs_ops()->ack_comp(cq, 1);
	}
}

static void call_async(const struct source *copy)
{
	struct ibv_async_event e;

	while (!dpl_verbs_ops()->take_async(copy->context, &e)) {
		copy->async(&e, copy->arg);
		dpl_verbs_ops()->ack_async(&e);
	}
}

static struct source *find_fd(int fd)
{
	struct source *s;

	ut_list_each(s, &sources, node)
		if (s->fd == fd)
			return s;
	return NULL;
}

static void serve(int fd)
{
	struct source *s, copy;

	pthread_mutex_lock(&lock);
	s = find_fd(fd);
	if (!s) {
		pthread_mutex_unlock(&lock);
		return;
	}
	s->busy = true;
	copy = *s;
	pthread_mutex_unlock(&lock);

	if (copy.channel)
		call_comp(&copy);
	else
		call_async(&copy);

	pthread_mutex_lock(&lock);
	s->busy = false;
	if (s->dead)
		free(s);
	pthread_cond_broadcast(&idle);
	pthread_mutex_unlock(&lock);
}

static void *run(void *arg)
{
	struct epoll_event e;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	for (;;)
		if (epoll_wait(epoll_fd, &e, 1, -1) == 1)
			serve(e.data.fd);
	return NULL;
}

static int start_thread(void)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

/* lock held. The sources of a parent are not served in its child. Returns 0 or a positive errno. */
static int ensure_thread(void)
{
	int rc;

	if (thread_pid == getpid())
		return 0;
	ut_list_init(&sources);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		return errno;
	rc = start_thread();
	if (rc) {
		close(epoll_fd);
		epoll_fd = -1;
		return rc;
	}
	thread_pid = getpid();
	return 0;
}

/* lock held. Removes the source and, unless its own handler is the caller, returns when the handler does
 * not run any more. */
static void drop(struct source *s)
{
	bool in_handler = pthread_equal(thread, pthread_self());

	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	ut_list_del(&s->node);
	if (s->busy && in_handler) {
		s->dead = true;
		return;
	}
	while (s->busy)
		pthread_cond_wait(&idle, &lock);
	free(s);
}

/* lock held. Returns 0 or a positive errno. */
static int add(const struct source *what)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = what->fd };
	struct source *s = ut_zalloc(sizeof(*s));

	if (!s)
		return ENOMEM;
	*s = *what;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, s->fd, &e)) {
		int rc = errno;

		free(s);
		return rc;
	}
	ut_list_add_tail(&sources, &s->node);
	return 0;
}

static int set(const struct source *what)
{
	struct source *s;
	int rc, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&lock);
	rc = ensure_thread();
	if (!rc) {
		s = find_fd(what->fd);
		if (s)
			drop(s);
		if (what->comp || what->async)
			rc = add(what);
	}
	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(cancel, NULL);
	return rc;
}

UT_EXPORT int dpl_set_comp_handler(struct ibv_comp_channel *channel, dpl_comp_handler handler,
				   void *arg)
{
	const struct source s = {
		.fd = channel->fd,
		.channel = channel,
		.comp = handler,
		.arg = arg,
	};

	if (!dpl_dev(channel->context))
		return errno;
	return set(&s);
}

UT_EXPORT int dpl_set_async_handler(struct ibv_context *context, dpl_async_handler handler,
				    void *arg)
{
	const struct source s = {
		.fd = context->async_fd,
		.context = context,
		.async = handler,
		.arg = arg,
	};

	if (!dpl_dev(context))
		return errno;
	return set(&s);
}

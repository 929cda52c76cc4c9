/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/preload/own.h"

#include "ulp/clock.h"
#include "ulp/preload/own_call.h"
#include "ulp/preload/relay.h"
#include "ulp/preload/sdp_relay.h"
#include "ulp/preload/serve.h"
#include "ulp/sdp/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LEAVE_MS 3000

struct listener {
	struct listener *next;
	struct rsp_request q;
	int fd;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* lists; above the lock of a relay */
static struct sdp_relay *relays;
static struct listener *listeners;
static bool moving;             /* those that are left are before_fork()'s */

/* --- relays --- */

static void set_up(struct sdp_relay *r)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&r->park_lock, NULL);
	pthread_cond_init(&r->turn, &attr);
	pthread_cond_init(&r->park_end, &attr);
	pthread_condattr_destroy(&attr);
	r->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* One that has ended, or a new one; with the lock of the lists. */
static struct sdp_relay *free_relay(void)
{
	struct sdp_relay *r;

	for (r = relays; r; r = r->next) {
		pthread_mutex_lock(&r->lock);
		if (!r->own)
			break;
		pthread_mutex_unlock(&r->lock);
	}
	if (r) {
		pthread_mutex_unlock(&r->lock);
		return r;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	set_up(r);
	r->next = relays;
	relays = r;
	return r;
}

static void begin(struct sdp_relay *r, int un, struct sdp_conn *c)
{
	pthread_mutex_lock(&r->lock);
	sdp_relay_stream(r, un);
	r->c = c;
	r->up_ended = r->down_ended = r->filled = r->full = r->hung = r->fed = r->shared = r->forked = r->leaving = false;
	r->until = 0;
	r->leased_ns = 0;
	r->inode = 0;
	r->blocks = false;
	r->own = true;
	r->name_len = sizeof(r->name);
	if (getsockname(un, (struct sockaddr *)&r->name, &r->name_len))
		r->name_len = 0;
	pthread_mutex_unlock(&r->lock);
}

static struct sdp_relay *new_relay(int un, struct sdp_conn *c)
{
	struct sdp_relay *r;

	pthread_mutex_lock(&lock);
	r = free_relay();
	if (r)
		begin(r, un, c);
	pthread_mutex_unlock(&lock);
	return r;
}

static struct sdp_relay *find(const struct sockaddr_un *un, socklen_t len, int fd)
{
	struct sdp_relay *r;
	struct stat st;
	bool yes = false;

	if (fstat(fd, &st))
		return NULL;
	pthread_mutex_lock(&lock);
	for (r = relays; r && !yes; r = yes ? r : r->next) {
		pthread_mutex_lock(&r->lock);
		yes = r->c && r->name_len == len && !memcmp(&r->name, un, len);
		if (yes)
			r->inode = st.st_ino;
		pthread_mutex_unlock(&r->lock);
	}
	pthread_mutex_unlock(&lock);
	return r;
}

/* --- turns and ends --- */

static void share(struct sdp_relay *r)
{
	pthread_mutex_lock(&r->lock);
	r->shared = true;
	rsp_own_wake(r);
	pthread_mutex_unlock(&r->lock);
}

static void release(void)
{
	if (!atomic_exchange(&rsp_own_leased, false))
		return;
	pthread_mutex_lock(&lock);
	for (struct sdp_relay *r = relays; r; r = r->next) {
		pthread_mutex_lock(&r->lock);
		if (r->leased_ns)
			sdp_relay_release(r);
		pthread_mutex_unlock(&r->lock);
	}
	pthread_mutex_unlock(&lock);
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
	for (struct sdp_relay *r = relays; r; r = r->next)
		if (r->own) {
			r->forked = true;
			share(r);
		}
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	relays = NULL;
	listeners = NULL;
	moving = false;
	rsp_serve_end_listeners(false);
}

/* Waits until the relay has ended. */
static void await_end(struct sdp_relay *r, int64_t until_ns)
{
	struct timespec t = { until_ns / 1000000000, until_ns % 1000000000 };

	pthread_mutex_lock(&r->lock);
	if (r->c && !r->forked) {
		r->leaving = true;
		rsp_own_wake(r);
		while (r->c && !pthread_cond_timedwait(&r->turn, &r->lock, &t))
			;
	}
	pthread_mutex_unlock(&r->lock);
}

static void leave(void)
{
	int64_t until = ulp_now_ns() + LEAVE_MS * (int64_t)1000000;
	struct sdp_relay *r;

	pthread_mutex_lock(&lock);
	r = relays;
	pthread_mutex_unlock(&lock);
	for (; r; r = r->next)
		await_end(r, until);
}

/* --- requests --- */

struct job {
	int sock, fds[2];
	struct rsp_request q;
	struct listener *listener;
};

static struct listener *remember(const struct rsp_request *q, int fd)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->q = *q;
	l->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	pthread_mutex_lock(&lock);
	l->next = listeners;
	listeners = l;
	pthread_mutex_unlock(&lock);
	return l;
}

/* Unless it has moved. */
static void forget(struct listener *l)
{
	struct listener **p;

	pthread_mutex_lock(&lock);
	for (p = &listeners; *p && *p != l; p = &(*p)->next)
		;
	if (moving)
		l = NULL;
	else if (*p)
		*p = l->next;
	else
		l = NULL;
	pthread_mutex_unlock(&lock);
	if (l)
		close(l->fd);
	free(l);
}

static bool next_listener(struct rsp_request *ret, int *ret_fd)
{
	struct listener *l;

	pthread_mutex_lock(&lock);
	l = listeners;
	moving = l != NULL;
	if (l)
		listeners = l->next;
	pthread_mutex_unlock(&lock);
	if (!l)
		return false;
	rsp_serve_end_listeners(true);
	*ret = l->q;
	*ret_fd = l->fd;
	free(l);
	return true;
}

static void *run(void *arg)
{
	struct job *j = arg;

	rsp_serve(j->sock, &j->q, j->fds);
	if (j->listener)
		forget(j->listener);
	free(j);
	return NULL;
}

/* Signals are for the program's threads. */
static int start_job(struct job *j)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = rsp_thread(run, j);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

static int copy_fds(struct job *j, const int *fds, int nr)
{
	for (int i = 0; i < nr; i++) {
		j->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		if (j->fds[i] < 0)
			return -errno;
	}
	return 0;
}

static int serve(int sock, const struct rsp_request *q, const int *fds, int nr)
{
	struct job *j = malloc(sizeof(*j));
	int r;

	if (!j)
		return -ENOMEM;
	*j = (struct job){ sock, { -1, -1 }, *q, NULL };
	r = copy_fds(j, fds, nr);
	if (!r && q->op == RSP_OP_LISTEN)
		j->listener = remember(q, fds[0]);
	if (!r)
		r = start_job(j);
	if (!r)
		return 0;
	for (int i = 0; i < nr && j->fds[i] >= 0; i++)
		close(j->fds[i]);
	if (j->listener)
		forget(j->listener);
	free(j);
	return r;
}

__attribute__((visibility("default")))
const struct rsp_own *rsp_own(void (*begin_thread)(void))
{
	static const struct rsp_own own = {
		.serve = serve, .find = find, .receive = rsp_own_receive, .send = rsp_own_send, .share = share, .leased = &rsp_own_leased, .release = release,
		.before_fork = before_fork, .next_listener = next_listener, .in_child = in_child, .leave = leave,
	};

	rsp_thread_begin = begin_thread;
	rsp_sdp_conf = &sdp_conf_stream;
	rsp_sdp_new = new_relay;
	return &own;
}

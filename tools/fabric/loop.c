/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/sys.h"

#define EVENTS_MAX 64

/* One for each descriptor; found by its number. `serial` tells an event from one of a former owner of the number. */
struct watch {
	loop_fn *fn;	/* NULL: not watched */
	void *arg;
	uint32_t serial;
};

struct loop {
	int epoll;
	struct watch *watches;
	int n;
	uint32_t serial;
	bool is_coarse;		/* no epoll_pwait2() */
};

struct loop *loop_new(void)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll >= 0)
		return l;
	free(l);
	return NULL;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	ut_close(l->epoll);
	free(l->watches);
	free(l);
}

static bool make_room(struct loop *l, int fd)
{
	int n = l->n ? l->n : 16;
	struct watch *more;

	if (fd < l->n)
		return true;
	while (n <= fd)
		n *= 2;
	more = realloc(l->watches, (size_t)n * sizeof(*more));
	if (!more)
		return false;
	memset(more + l->n, 0, (size_t)(n - l->n) * sizeof(*more));
	l->watches = more;
	l->n = n;
	return true;
}

static struct epoll_event event_of(const struct loop *l, int fd, uint32_t events)
{
	return (struct epoll_event){ .events = events,
				     .data.u64 = (uint64_t)l->watches[fd].serial << 32 | (uint32_t)fd };
}

int loop_add(struct loop *l, int fd, uint32_t events, loop_fn *fn, void *arg)
{
	struct epoll_event e;

	if (!make_room(l, fd))
		return -ENOMEM;
	l->watches[fd].serial = ++l->serial;
	e = event_of(l, fd, events);
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) < 0)
		return -errno;
	l->watches[fd].fn = fn;
	l->watches[fd].arg = arg;
	return 0;
}

void loop_set(struct loop *l, int fd, uint32_t events)
{
	struct epoll_event e = event_of(l, fd, events);

	epoll_ctl(l->epoll, EPOLL_CTL_MOD, fd, &e);
}

void loop_del(struct loop *l, int fd)
{
	if (fd < 0 || fd >= l->n || !l->watches[fd].fn)
		return;
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd, NULL);
	l->watches[fd].fn = NULL;
}

/* Rounded up, so that the deadline has passed when the wait ends. */
static int wait_ms(uint64_t left)
{
	uint64_t ms = left / UT_MS + (left % UT_MS != 0);

	return ms > 60000 ? 60000 : (int)ms;
}

/* To the nanosecond where the kernel has epoll_pwait2(2) (Linux 5.11), else to the millisecond. */
static int wait_for(struct loop *l, struct epoll_event events[EVENTS_MAX], uint64_t deadline)
{
	uint64_t now = deadline == UINT64_MAX ? 0 : ut_now(), left = deadline > now ? deadline - now : 0;
	const struct timespec t = { (time_t)(left / UT_S), (long)(left % UT_S) };
	long n = -1;

	if (deadline == UINT64_MAX || !left)
		return epoll_wait(l->epoll, events, EVENTS_MAX, left ? -1 : 0);
	if (!l->is_coarse)
		n = syscall(SYS_epoll_pwait2, l->epoll, events, EVENTS_MAX, &t, NULL, 8);
	if (n < 0 && errno == ENOSYS)
		l->is_coarse = true;
	return l->is_coarse ? epoll_wait(l->epoll, events, EVENTS_MAX, wait_ms(left)) : (int)n;
}

void loop_once(struct loop *l, uint64_t deadline)
{
	struct epoll_event events[EVENTS_MAX];
	int i, n = wait_for(l, events, deadline);

	for (i = 0; i < n; i++) {
		int fd = (int)(uint32_t)events[i].data.u64;
		struct watch *w = &l->watches[fd];

		if (w->fn && w->serial == events[i].data.u64 >> 32)
			w->fn(w->arg, events[i].events);
	}
}

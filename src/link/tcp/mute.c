/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/tcp/mute.h"

#include "util/clock.h"
#include "util/fault_calls.h"
#include "util/heap.h"
#include "util/syscall.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#define AGAIN (10 * UT_MS) /* until the next try to return, when there was no memory for it */

void tcp_mute_init(struct tcp_place *p)
{
	ut_mutex_init(&p->muting);
	ut_lock(&p->muting);
	ut_list_init(&p->muted);
	p->again_fd = -1;
	ut_unlock(&p->muting);
	p->again = TCP_K_AGAIN;
}

void tcp_mute_fini(struct tcp_place *p) UT_NO_TSA
{
	ut_close_fd(&p->again_fd);
	ut_mutex_fini(&p->muting);
}

/* No stream is muted before there is a timer for its return. */
static bool has_timer(struct tcp_place *p) UT_REQUIRES(p->muting)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = &p->again };

	if (p->again_fd >= 0)
		return true;
	p->again_fd = ut_timerfd();
	if (p->again_fd >= 0 && ut_epoll_add(p->epfd, p->again_fd, &e) < 0)
		ut_close_fd(&p->again_fd);
	return p->again_fd >= 0;
}

static void set_timer(struct tcp_place *p, uint64_t ns) UT_REQUIRES(p->muting)
{
	struct itimerspec t = { .it_value.tv_nsec = (long)ns };

	timerfd_settime(p->again_fd, 0, &t, NULL);
}

static void end(struct tcp_place *p, struct tcp_stream *s) UT_REQUIRES(p->muting)
{
	(void)p;
	ut_list_del(&s->muted_node);
	atomic_store_explicit(&s->muted, false, memory_order_relaxed);
}

/* The set is level-triggered: bytes that came meanwhile show. */
static void resume(struct tcp_place *p, struct tcp_stream *s) UT_REQUIRES(p->muting)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = s };

	if (ut_epoll_add(p->epfd, s->fd, &e) < 0)
		set_timer(p, AGAIN);
	else
		end(p, s);
}

static void resume_all(struct tcp_place *p) UT_REQUIRES(p->muting)
{
	struct tcp_stream *s, *t;

	ut_list_each_safe(s, t, &p->muted, muted_node)
		resume(p, s);
}

void tcp_mute(struct tcp_stream *s)
{
	struct tcp_place *p = tcp_place_of(s);
	int keep = errno;

	s->reads = 0;
	if (atomic_load_explicit(&s->muted, memory_order_relaxed) || s->mask != EPOLLIN || p->look_only ||
	    ut_list_empty(&s->polled_node))
		return;
	ut_lock(&p->muting);
	if (p->app_polls && has_timer(p) && epoll_ctl(p->epfd, EPOLL_CTL_DEL, s->fd, NULL) == 0) {
		ut_list_add_tail(&p->muted, &s->muted_node);
		atomic_store_explicit(&s->muted, true, memory_order_relaxed);
	}
	ut_unlock(&p->muting);
	errno = keep;
}

void tcp_return(struct tcp_stream *s)
{
	struct tcp_place *p = tcp_place_of(s);
	int keep = errno;

	ut_lock(&p->muting);
	if (!ut_list_empty(&s->muted_node))
		resume(p, s);
	ut_unlock(&p->muting);
	errno = keep;
}

void tcp_return_all(struct tcp_place *p)
{
	int keep = errno;

	ut_lock(&p->muting);
	resume_all(p);
	ut_unlock(&p->muting);
	errno = keep;
}

void tcp_end_muted(struct tcp_stream *s)
{
	struct tcp_place *p = tcp_place_of(s);

	ut_lock(&p->muting);
	if (!ut_list_empty(&s->muted_node)) {
		end(p, s);
		s->mask = 0;
	}
	ut_unlock(&p->muting);
}

void tcp_mute_again(struct tcp_place *p)
{
	int keep = errno;

	ut_lock(&p->muting);
	set_timer(p, 0); /* it is readable until it is set */
	resume_all(p);
	ut_unlock(&p->muting);
	errno = keep;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/tcp/tcp.h"

#include "link/tcp/listen.h"
#include "link/tcp/mute.h"
#include "link/tcp/poll.h"
#include "link/tcp/bytes.h"
#include "link/tcp/sock.h"
#include "link/tcp/stream.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/syscall.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#define LEAVE_MS 200 /* how long leave() waits for bytes to be acknowledged */

/* Returns true if bytes sent are not at the peer's host yet, where a RST of this end could no
 * longer destroy them. */
static bool under_way(struct tcp_place *p)
{
	struct tcp_stream *s;

	ut_list_each(s, &p->drains, node)
		if (tcp_sock_unacked(s->fd))
			return true;
	return false;
}

static void drain_all(struct tcp_place *p)
{
	struct tcp_stream *s, *t;

	ut_list_each_safe(s, t, &p->drains, node)
		tcp_drain(s);
}

static void leave(struct link_streams *l)
{
	struct tcp_place *p = tcp_of(l);
	struct timespec ms = { 0, (long)UT_MS };
	struct tcp_stream *s;

	while ((s = ut_list_first(&p->streams, struct tcp_stream, node)))
		tcp_close(&s->base, false);
	for (int i = 0; i < LEAVE_MS && under_way(p); i++) {
		UT_SYS(SYS_ppoll, NULL, 0, &ms, NULL, 8);
		drain_all(p);
	}
}

static void fini(struct link_streams *l)
{
	struct tcp_place *p = tcp_of(l);
	struct tcp_listener *n;

	while ((n = ut_list_first(&p->listeners, struct tcp_listener, node)))
		tcp_unbind(&n->base);
	leave(l);
	tcp_drain_expired(p, true);
	tcp_reap(p);
	tcp_mute_fini(p);
	ut_close_fd(&p->epfd);
	ut_stage_fini(&p->stage);
	free(p);
}

static void forget(struct link_streams *l)
{
	struct tcp_place *p = tcp_of(l);
	struct ut_list *all[] = { &p->streams, &p->drains };
	struct tcp_listener *n;
	struct tcp_stream *s;

	for (int i = 0; i < 2; i++)
		ut_list_each(s, all[i], node)
			ut_close_fd(&s->fd);
	ut_list_each(n, &p->listeners, node)
		ut_close_fd(&n->fd);
	tcp_mute_fini(p);
	ut_close_fd(&p->epfd);
	/* Its pages were not inherited (MADV_DONTFORK), its descriptor was. */
	ut_close_fd(&p->stage.fd);
}

static const struct link_streams_ops ops = {
	.bind = tcp_bind,
	.listen = tcp_listen,
	.unbind = tcp_unbind,
	.connect = tcp_connect,
	.adopt = tcp_adopt,
	.send = tcp_send,
	.room = tcp_room,
	.local = link_streams_no_local,
	.hurry = link_streams_no_hurry,
	.reserve = link_streams_no_reserve,
	.commit = link_streams_no_commit,
	.mss = tcp_mss,
	.drained = tcp_drained,
	.take = tcp_take,
	.pause = tcp_pause,
	.shutdown = tcp_shutdown,
	.close = tcp_close,
	.read = tcp_read,
	.poll = tcp_poll,
	.peek = tcp_peek,
	.is_quiet = tcp_is_quiet,
	.sleep = tcp_sleep,
	.deadline = tcp_deadline,
	.fd = tcp_fd,
	.watch = tcp_watch,
	.unwatch = tcp_unwatch,
	.leave = leave,
	.forget = forget,
	.fini = fini,
};

static void init_lists(struct tcp_place *p)
{
	struct ut_list *all[] = { &p->streams, &p->drains,  &p->dead, &p->listeners,
				  &p->dead_listeners, &p->polled, &p->todo, &p->unclaimed,
				  &p->over, &p->in_flight };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		ut_list_init(all[i]);
}

int tcp_open(uint32_t ifindex, struct link_streams **ret)
{
	struct tcp_place *p = ut_zalloc(sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->base.ops = &ops;
	p->base.rx_stage = &p->stage;
	p->ifindex = ifindex;
	init_lists(p);
	tcp_mute_init(p);
	atomic_init(&p->sleeping, true);
	p->epfd = ut_fault() ? -ENFILE : (int)UT_SYS(SYS_epoll_create1, EPOLL_CLOEXEC);
	r = p->epfd < 0 ? p->epfd : ut_stage_init(&p->stage, TCP_STAGE_BYTES);
	if (r < 0) {
		tcp_mute_fini(p);
		ut_close_fd(&p->epfd);
		free(p);
		return r;
	}
	*ret = &p->base;
	return 0;
}

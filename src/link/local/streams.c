/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The slots of link_streams_ops: forwarded to the lower place, or to stream.c for streams that left the wire. */
#include "link/local/streams.h"

#include "link/local/agree.h"
#include "link/local/wakefd.h"
#include "link/local/stream.h"
#include "util/alloc.h"
#include "util/heap.h"
#include "util/syscall.h"

#include <stdlib.h>
#include <sys/eventfd.h>

static const struct link_streams_ops *lower_ops(const struct local_stream *s)
{
	return local_place_of(s)->ops;
}

/* --- ports --- */

static void accepted(struct link_listener *lower, struct link_stream *ls, uint64_t now)
{
	struct local_listener *l = lower->user;
	struct local_place *p = local_of(l->base.place);
	struct local_stream *s = local_stream_new(p);

	if (!s) {
		p->ops->close(ls, true);
		return;
	}
	local_stream_put(s, ls, true);
	l->base.user_ops->accepted(&l->base, &s->base, now);
	local_stream_find_users(p);
}

static const struct link_listener_user lower_listener = { .accepted = accepted };

static struct local_listener *listener_of(struct link_listener *l)
{
	return ut_container(l, struct local_listener, base);
}

static int do_bind(struct link_streams *l, const struct link_end *local, bool reuse, bool v6only,
		   struct link_listener **ret)
{
	struct local_place *p = local_of(l);
	struct local_listener *n = ut_zalloc(sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	r = p->ops->bind(p->lower, local, reuse, v6only, &n->lower);
	if (r < 0) {
		free(n);
		return r;
	}
	n->lower->user_ops = &lower_listener;
	n->lower->user = n;
	n->base.place = l;
	n->base.local = n->lower->local;
	ut_list_add_tail(&p->listeners, &n->node);
	*ret = &n->base;
	return 0;
}

static int do_listen(struct link_listener *l, int backlog)
{
	struct local_listener *n = listener_of(l);
	int r = local_of(l->place)->ops->listen(n->lower, backlog);

	n->listening = r == 0;
	return r;
}

/* The lower one is freed. The listener's own memory goes when poll() returns: the caller may be in
 * accepted(). */
static void listener_over(struct local_listener *n)
{
	n->listening = false;
	ut_list_del(&n->node);
	ut_list_add_tail(&local_of(n->base.place)->dead_listeners, &n->node);
}

static void do_unbind(struct link_listener *l)
{
	struct local_listener *n = listener_of(l);
	struct local_place *p = local_of(l->place);

	p->ops->unbind(n->lower);
	listener_over(n);
	local_rdv_close_unused(p);
}

/* --- streams --- */

static int do_connect(struct link_streams *l, struct link_listener *from,
		      const struct link_end *local, const struct link_end *remote, int tos,
		      struct link_stream **ret)
{
	struct local_place *p = local_of(l);
	struct local_stream *s = local_stream_new(p);
	struct link_stream *lower;
	int r;

	if (!s)
		return -ENOMEM;
	r = p->ops->connect(p->lower, from ? listener_of(from)->lower : NULL, local, remote, tos,
			    &lower);
	if (r < 0) {
		free(s);
		return r;
	}
	if (from)
		listener_over(listener_of(from));
	local_stream_put(s, lower, false);
	*ret = &s->base;
	return 0;
}

static int do_adopt(struct link_streams *l, int fd, struct link_stream **ret)
{
	struct local_place *p = local_of(l);
	struct local_stream *s = local_stream_new(p);
	struct link_stream *lower;
	int r;

	if (!s)
		return -ENOMEM;
	r = p->ops->adopt(p->lower, fd, &lower);
	if (r < 0) {
		free(s);
		return r;
	}
	local_stream_put(s, lower, true);
	s->handed_over = true;
	*ret = &s->base;
	return 0;
}

static ssize_t do_send(struct link_stream *l, const void *data, size_t len)
{
	struct local_stream *s = local_stream_of(l);

	if (!s->lower)
		return -EPIPE;
	if (!local_agree_may_send(s))
		return -EAGAIN;
	if (s->way == LOCAL_W_SHM)
		return local_stream_send(s, data, len);
	return lower_ops(s)->send(s->lower, data, len);
}

static size_t room(struct link_stream *l)
{
	struct local_stream *s = local_stream_of(l);

	if (!s->lower || !local_agree_may_send(s))
		return 0;
	return s->way == LOCAL_W_SHM ? local_stream_room(s) : lower_ops(s)->room(s->lower);
}

static uint8_t *reserve(struct link_stream *l, size_t len)
{
	struct local_stream *s = local_stream_of(l);

	if (!s->lower)
		return NULL;
	return s->way == LOCAL_W_SHM ? local_stream_reserve(s, len)
				     : lower_ops(s)->reserve(s->lower, len);
}

static void commit(struct link_stream *l, size_t len)
{
	struct local_stream *s = local_stream_of(l);

	if (!s->lower)
		return;
	if (s->way == LOCAL_W_SHM)
		local_stream_commit(s, len);
	else
		lower_ops(s)->commit(s->lower, len);
}

static uint32_t mss(struct link_stream *l)
{
	struct local_stream *s = local_stream_of(l);

	return s->way == LOCAL_W_SHM || !s->lower ? LOCAL_SHM_MSS : lower_ops(s)->mss(s->lower);
}

static bool drained(struct link_stream *l)
{
	struct local_stream *s = local_stream_of(l);

	if (!s->lower)
		return true;
	return s->way == LOCAL_W_SHM ? local_stream_drained(s) : lower_ops(s)->drained(s->lower);
}

static bool take(struct link_stream *l, size_t off, const struct iovec *iov, int n, size_t len)
{
	struct local_stream *s = local_stream_of(l);

	return s->way != LOCAL_W_SHM && s->lower &&
	       lower_ops(s)->take(s->lower, off, iov, n, len);
}

static void do_pause(struct link_stream *l, bool on)
{
	struct local_stream *s = local_stream_of(l);

	if (s->paused == on || !s->lower)
		return;
	s->paused = on;
	if (s->way != LOCAL_W_SHM)
		lower_ops(s)->pause(s->lower, on);
	else if (!on)
		local_stream_again(s);
}

static void do_shutdown(struct link_stream *l)
{
	struct local_stream *s = local_stream_of(l);

	if (s->lower)
		lower_ops(s)->shutdown(s->lower);
}

static void do_close(struct link_stream *l, bool abort)
{
	local_stream_close(local_stream_of(l), abort);
}

static int do_read(struct link_stream *l)
{
	struct local_stream *s = local_stream_of(l);

	return s->lower ? lower_ops(s)->read(s->lower) : 0;
}

/* --- poll --- */

/* The lower place has looked at its streams, so only these are left to be looked at before an end
 * is told. */
static int tell_ends(struct local_place *p)
{
	int done = local_stream_run(&p->todo) + local_stream_look(p, true);

	return done + local_stream_run(&p->over);
}

static int do_poll(struct link_streams *l, uint64_t now)
{
	struct local_place *p = local_of(l);
	int done = 0;

	p->now = now;
	if (l->woken)
		local_wakefd_taken(p);
	if (!ut_list_empty(&p->userless))
		local_stream_find_users(p);
	if (!ut_list_empty(&p->todo))
		done += local_stream_run(&p->todo);
	if (!ut_list_empty(&p->polled))
		done += local_stream_look(p, false);
	p->lower->cheap = l->cheap;
	p->lower->rare = l->rare || !ut_list_empty(&p->polled);
	p->lower->found = l->found || done;
	done += p->ops->poll(p->lower, now);
	if (!ut_list_empty(&p->over))
		done += tell_ends(p);
	local_agree_expired(p);
	local_stream_settle(p);
	local_stream_reap(p);
	return done;
}

static bool is_due(const struct local_place *p)
{
	return !ut_list_empty(&p->todo) || !ut_list_empty(&p->over);
}

static int peek(struct link_streams *l)
{
	struct local_place *p = local_of(l);

	l->asked = false;
	if (is_due(p))
		return -EAGAIN;
	if (local_stream_sleeping(p))
		return l->woken ? local_stream_serve_woken(p) : -EAGAIN;
	if (ut_list_empty(&p->polled)) {
		p->lower->cheap = l->cheap;
		l->asked = true;
		return p->ops->peek(p->lower);
	}
	return p->ops->is_quiet(p->lower) ? local_stream_look(p, false) : -EAGAIN;
}

static bool is_quiet(struct link_streams *l)
{
	struct local_place *p = local_of(l);

	return !is_due(p) && ut_list_empty(&p->polled) && p->ops->is_quiet(p->lower);
}

static void do_sleep(struct link_streams *l, bool on, bool look)
{
	struct local_place *p = local_of(l);
	uint64_t one = 1;

	atomic_store(&p->sleeping, on);
	p->ops->sleep(p->lower, on, look);
	if (on && look && atomic_load(&p->n_shm))
		UT_SYS(SYS_write, p->wake.fd, &one, sizeof(one));
}

/* poll() does the rest. */
static int woken(struct link_watch *w, uint64_t now)
{
	uint64_t n;

	(void)now;
	UT_SYS(SYS_read, w->fd, &n, sizeof(n));
	return 0;
}

static uint64_t deadline(struct link_streams *l)
{
	struct local_place *p = local_of(l);
	uint64_t lower = p->ops->deadline(p->lower), ours = local_rdv_deadline(p);
	struct local_stream *s;

	if (is_due(p))
		return 0;
	ut_list_each(s, &p->userless, idle_node)
		if (s->base.user_ops)
			return 0;
	return ours < lower ? ours : lower;
}

static int set_fd(struct link_streams *l)
{
	struct local_place *p = local_of(l);

	return p->ops->fd(p->lower);
}

static int watch(struct link_streams *l, struct link_watch *w)
{
	struct local_place *p = local_of(l);

	return p->ops->watch(p->lower, w);
}

static void unwatch(struct link_streams *l, struct link_watch *w)
{
	struct local_place *p = local_of(l);

	p->ops->unwatch(p->lower, w);
}

/* --- the place --- */

static void leave(struct link_streams *l)
{
	struct local_place *p = local_of(l);
	struct local_stream *s;

	while ((s = ut_list_first(&p->streams, struct local_stream, node)))
		local_stream_close(s, false);
	p->ops->leave(p->lower);
}

static void forget(struct link_streams *l)
{
	struct local_place *p = local_of(l);

	local_rdv_forget(p);
	local_wakefd_forget(p);
	ut_close_fd(&p->wake.fd);
	p->ops->forget(p->lower);
}

static void fini(struct link_streams *l)
{
	struct local_place *p = local_of(l);
	struct local_listener *n;

	while ((n = ut_list_first(&p->listeners, struct local_listener, node)))
		do_unbind(&n->base);
	leave(l);
	local_rdv_fini(p);
	local_wakefd_fini(p);
	p->ops->unwatch(p->lower, &p->wake);
	ut_close_fd(&p->wake.fd);
	p->ops->fini(p->lower);
	local_stream_reap(p);
	free(p);
}

static const struct link_streams_ops ops = {
	.bind = do_bind,
	.listen = do_listen,
	.unbind = do_unbind,
	.connect = do_connect,
	.adopt = do_adopt,
	.send = do_send,
	.room = room,
	.local = local_agree,
	.hurry = local_agree_hurry,
	.reserve = reserve,
	.commit = commit,
	.mss = mss,
	.drained = drained,
	.take = take,
	.pause = do_pause,
	.shutdown = do_shutdown,
	.close = do_close,
	.read = do_read,
	.poll = do_poll,
	.peek = peek,
	.is_quiet = is_quiet,
	.sleep = do_sleep,
	.deadline = deadline,
	.fd = set_fd,
	.watch = watch,
	.unwatch = unwatch,
	.leave = leave,
	.forget = forget,
	.fini = fini,
};

static void init_lists(struct local_place *p)
{
	struct ut_list *all[] = { &p->streams, &p->dead, &p->listeners, &p->dead_listeners,
				  &p->todo, &p->userless, &p->over, &p->polled, &p->on_wake_fd, &p->peer_wake_fds,
				  &p->rdv_listeners, &p->dead_rdv_listeners, &p->offers,
				  &p->timed, &p->untimed, &p->dead_rendezvous };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		ut_list_init(all[i]);
}

static int open_wake(struct local_place *p)
{
	int r;

	p->wake.ready = woken;
	p->wake.fd = (int)UT_SYS(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake.fd < 0)
		return p->wake.fd;
	r = p->ops->watch(p->lower, &p->wake);
	if (r < 0)
		ut_close_fd(&p->wake.fd);
	return r;
}

int local_streams_open(struct link_streams *lower, unsigned how, struct link_streams **ret)
{
	struct local_place *p = ut_zalloc(sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->base.ops = &ops;
	p->base.rx_stage = lower->rx_stage;
	p->lower = lower;
	p->ops = lower->ops;
	p->how = how;
	atomic_init(&p->sleeping, true);
	init_lists(p);
	r = local_rdv_init(p);
	if (r == 0)
		r = open_wake(p);
	if (r < 0) {
		free(p);
		return r;
	}
	local_wakefd_open(p);
	*ret = &p->base;
	return 0;
}

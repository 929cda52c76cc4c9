/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "support/pipes.h"

#include "support/check.h"
#include "util/heap.h"

struct pipe_listener {
	struct link_listener l;
	struct ut_list node;
	bool listening;
};

static struct pipe_place *place_of(struct link_streams *s)
{
	return ut_container(s, struct pipe_place, s);
}

static bool fails(struct pipes *net)
{
	return net->failing && --net->failing == 0;
}

static struct pipe_listener *listener_at(struct pipe_place *p, uint16_t port)
{
	struct pipe_listener *l;

	ut_list_each(l, &p->listeners, node)
		if (l->l.local.port == port)
			return l;
	return NULL;
}

static int op_bind(struct link_streams *s, const struct link_end *local, bool reuse, bool v6only,
		   struct link_listener **ret)
{
	struct pipe_place *p = place_of(s);
	struct pipe_listener *l;

	if (fails(p->net))
		return p->net->failure;
	if (local->port && listener_at(p, local->port))
		return -EADDRINUSE;
	if (memcmp(local->addr, p->addr, 16))
		return -EADDRNOTAVAIL;
	l = calloc(1, sizeof(*l));
	CHECK(l);
	l->l.place = s;
	l->l.local = *local;
	if (!local->port)
		l->l.local.port = p->next_port++;
	ut_list_add_tail(&p->listeners, &l->node);
	*ret = &l->l;
	return 0;
}

static int op_listen(struct link_listener *l, int backlog)
{
	CHECK(l->user_ops || !backlog);
	ut_container(l, struct pipe_listener, l)->listening = true;
	return 0;
}

static struct pipe_stream *stream_new(struct pipe_place *p)
{
	struct pipe_stream *s = calloc(1, sizeof(*s));

	CHECK(s);
	s->s.place = &p->s;
	s->room = p->net->room ? p->net->room : SIZE_MAX;
	ut_list_add_tail(&p->streams, &s->node);
	p->net->live++;
	return s;
}

static void end_of(struct pipe_stream *s, bool reset)
{
	struct pipe_stream *t = s->mate;

	if (!t)
		return;
	if (reset) {
		t->error = ECONNRESET;
		t->in_len = t->offered = 0;
	}
	t->fin = true;
	t->mate = NULL;
	s->mate = NULL;
}

static void op_close(struct link_stream *ls, bool abort)
{
	struct pipe_stream *s = pipe_of(ls);

	CHECK(!s->dead);
	s->dead = true;
	s->s.user_ops = NULL;
	place_of(ls->place)->net->live--;
	end_of(s, abort);
}

/* As a host does: a stream that was not told of yet is reset. */
static void op_unbind(struct link_listener *l)
{
	struct pipe_listener *x = ut_container(l, struct pipe_listener, l);
	struct pipe_place *p = place_of(l->place);
	struct pipe_stream *s;

	ut_list_each(s, &p->streams, node)
		if (s->fresh && s->from == l && !s->dead)
			op_close(&s->s, true);
	ut_list_del(&x->node);
	free(x);
}

static struct pipe_place *place_at(struct pipes *net, const uint8_t addr[16])
{
	for (int i = 0; i < net->n; i++)
		if (!memcmp(net->place[i].addr, addr, 16))
			return &net->place[i];
	return NULL;
}

static void meet(struct pipe_stream *s, const struct link_end *remote)
{
	struct pipe_place *there = place_at(place_of(s->s.place)->net, remote->addr);
	struct pipe_listener *l = there ? listener_at(there, remote->port) : NULL;
	struct pipe_stream *t;

	if (!l || !l->listening) {
		s->error = ECONNREFUSED;
		return;
	}
	t = stream_new(there);
	t->s.local = *remote;
	t->s.remote = s->s.local;
	t->fresh = true;
	t->from = &l->l;
	t->mate = s;
	s->mate = t;
	s->connecting = true;
}

static int op_connect(struct link_streams *ls, struct link_listener *from,
		      const struct link_end *local, const struct link_end *remote, int tos,
		      struct link_stream **ret)
{
	struct pipe_place *p = place_of(ls);
	struct pipe_stream *s;

	if (fails(p->net))
		return p->net->failure;
	s = stream_new(p);
	s->s.local = from ? from->local : *local;
	if (!from) {
		CHECK(!local->port);
		s->s.local.port = p->next_port++;
	}
	s->s.remote = *remote;
	if (from)
		op_unbind(from);
	if (remote->addr[15] != PIPES_SILENT)
		meet(s, remote);
	*ret = &s->s;
	return 0;
}

static int op_adopt(struct link_streams *p, int fd, struct link_stream **ret)
{
	return -EBADF;
}

/* Room for more bytes behind those that wait. */
static void grow(struct pipe_stream *t, size_t more)
{
	size_t start = t->buf ? (size_t)(t->in - t->buf) : 0;

	if (start + t->in_len + more > t->buf_len) {
		if (start)
			memmove(t->buf, t->in, t->in_len);
		start = 0;
		if (t->in_len + more > t->buf_len / 2) {
			t->buf_len = 2 * (t->in_len + more) + 4096;
			t->buf = realloc(t->buf, t->buf_len);
			CHECK(t->buf);
		}
	}
	t->in = t->buf + start;
}

void pipe_put(struct pipe_stream *s, const void *data, size_t len)
{
	struct pipe_stream *t = s->mate;

	if (!t || !len)
		return;
	grow(t, len);
	memcpy(t->in + t->in_len, data, len);
	t->in_len += len;
}

void pipe_end(struct pipe_stream *s, bool reset)
{
	end_of(s, reset);
}

static void do_harm(struct pipes *net, struct pipe_stream *t, size_t len)
{
	if (t && net->harmed > net->passed && net->harmed <= net->passed + len)
		t->in[t->in_len - len + (net->harmed - net->passed) - 1] ^= net->harm;
}

/* The sender does not know that its bytes no longer arrive; it hears of the end as the peer does. */
static void deliver(struct pipe_stream *s, const void *data, size_t len)
{
	struct pipes *net = place_of(s->s.place)->net;
	struct pipe_stream *t = s->mate;
	bool mine = place_of(s->s.place) == &net->place[net->from];

	if (mine && net->last && net->passed + len >= net->last) {
		pipe_put(s, data, net->last - net->passed);
		net->last = 0;
		end_of(s, net->reset);
		if (t) {
			s->fin = true;
			s->error = net->reset ? ECONNRESET : 0;
		}
		return;
	}
	pipe_put(s, data, len);
	if (mine) {
		do_harm(net, t, len);
		net->passed += len;
	}
}

static size_t room_of(const struct pipe_stream *s)
{
	size_t window = place_of(s->s.place)->net->window, used = s->mate ? s->mate->in_len : 0;
	size_t left = window > used ? window - used : 0;

	return window && s->mate && left < s->room ? left : s->room;
}

static ssize_t op_send(struct link_stream *ls, const void *data, size_t len)
{
	struct pipe_stream *s = pipe_of(ls);
	size_t room = room_of(s);

	CHECK(!s->dead && !s->shut && len);
	if (fails(place_of(ls->place)->net)) {
		s->fin = true;
		s->error = -place_of(ls->place)->net->failure;
		return place_of(ls->place)->net->failure;
	}
	if (s->error)
		return -s->error;
	s->wants_room |= len > room;
	if (!room)
		return -EAGAIN;
	if (len > room)
		len = room;
	if (s->room != SIZE_MAX)
		s->room -= len;
	deliver(s, data, len);
	s->sent += len;
	if (ls->whole) {
		s->apart = s->sent;
		s->n_apart++;
	}
	return (ssize_t)len;
}

static size_t op_room(struct link_stream *ls)
{
	struct pipe_stream *s = pipe_of(ls);

	s->wants_room |= !room_of(s);
	return room_of(s);
}

static uint32_t op_mss(struct link_stream *s)
{
	return place_of(s->place)->net->mss;
}

static bool op_drained(struct link_stream *s)
{
	return !pipe_of(s)->mate || !pipe_of(s)->mate->in_len;
}

static void op_pause(struct link_stream *s, bool on)
{
	CHECK(!on);
}

static void op_shutdown(struct link_stream *ls)
{
	struct pipe_stream *s = pipe_of(ls);

	CHECK(!s->dead && !s->shut);
	s->shut = true;
	if (s->mate)
		s->mate->fin = true;
}

/* --- poll --- */

static uint64_t pipes_now;

static size_t arriving(struct pipes *net, size_t more)
{
	size_t n = net->cut && net->ragged ? 1 + ut_rng_below(&net->rng, (uint32_t)net->cut)
					   : net->cut;

	return n && more > n ? n : more;
}

/* In the stage, if there is one, and never at the same place of it. */
static const uint8_t *present(struct pipe_stream *s, size_t len, size_t *ret_off)
{
	struct pipe_place *p = place_of(s->s.place);

	*ret_off = 0;
	if (!p->stage.base)
		return s->in;
	*ret_off = ut_rng_below(&p->net->rng, 4096);
	CHECK(*ret_off + len <= p->stage.size);
	memcpy(p->stage.base + *ret_off, s->in, len);
	return p->stage.base + *ret_off;
}

static void taken(struct pipe_stream *s, size_t n)
{
	s->in += n;
	s->in_len -= n;
	s->offered -= n;
}

/* Memory that is gone afterwards; its old content may have been anything all the time. */
static size_t show_local(struct pipe_stream *s, size_t len)
{
	uint8_t *data = malloc(len);
	size_t n;

	CHECK(data);
	memcpy(data, s->in, len);
	n = s->s.user_ops->received_shm(&s->s, data, len, pipes_now);
	free(data);
	return n;
}

static int show(struct pipe_stream *s)
{
	size_t more = s->in_len - s->offered, most = PIPES_STAGE - 4096, off, n;
	const struct link_stream_user *user;

	if (!more && s->told)
		return 0;
	s->offered += arriving(place_of(s->s.place)->net, more);
	while (s->offered && !s->dead) {
		size_t len = s->offered < most ? s->offered : most;

		user = s->s.user_ops;
		if (s->s.shm) {
			n = show_local(s, len);
		} else {
			const uint8_t *data = present(s, len, &off);

			n = user->received(&s->s, data, off, len, pipes_now);
		}
		CHECK(n <= len);
		CHECK_MSG(n || len < LINK_STREAM_KEEP, "%zu bytes and no frame among them", len);
		if (s->in_len) /* else the end took them */
			taken(s, n);
		if (s->s.user_ops == user && len < most)
			break;
	}
	return more > 0;
}

static bool has_news(const struct pipe_stream *s)
{
	return s->in_len > s->offered || ((s->fin || s->error) && !s->told) ||
	       (s->wants_room && room_of(s));
}

static int serve(struct pipe_stream *s)
{
	struct pipes *net = place_of(s->s.place)->net;

	if (s->fresh && !s->dead) {
		s->fresh = false;
		if (s->from->user_ops)
			s->from->user_ops->accepted(s->from, &s->s, pipes_now);
		return 1;
	}
	if (!s->s.user_ops || s->dead)
		return 0;
	if (s->connecting) {
		s->connecting = false;
		s->s.user_ops->connected(&s->s, pipes_now);
		return 1;
	}
	if (net->lazy && has_news(s) && ut_rng_below(&net->rng, 1000) < net->lazy)
		return 1;
	if (s->in_len > s->offered && show(s))
		return 1;
	if ((s->fin || s->error) && !s->told) {
		s->told = true;
		s->s.user_ops->closed(&s->s, s->error, pipes_now);
		return 1;
	}
	if (s->wants_room && room_of(s)) {
		s->wants_room = false;
		s->s.user_ops->writable(&s->s, pipes_now);
		return 1;
	}
	return 0;
}

static void reap(struct pipe_place *p)
{
	struct pipe_stream *s, *tmp;

	ut_list_each_safe(s, tmp, &p->streams, node) {
		if (!s->dead)
			continue;
		ut_list_del(&s->node);
		free(s->buf);
		free(s);
	}
}

static int op_poll(struct link_streams *ls, uint64_t now)
{
	struct pipe_place *p = place_of(ls);
	struct pipe_stream *s;
	int did = 0;

	pipes_now = now;
	ut_list_each(s, &p->streams, node) /* new ones go to the end, dead ones stay till reap() */
		did += serve(s);
	reap(p);
	return did;
}

static uint64_t op_deadline(struct link_streams *p)
{
	return UT_NEVER;
}

static int op_fd(struct link_streams *p)
{
	return -1;
}

static void op_fini(struct link_streams *ls)
{
	struct pipe_place *p = place_of(ls);
	struct pipe_listener *l, *tmp;
	struct pipe_stream *s;

	ut_list_each(s, &p->streams, node)
		if (!s->dead)
			op_close(&s->s, false);
	reap(p);
	ut_list_each_safe(l, tmp, &p->listeners, node)
		op_unbind(&l->l);
	if (p->stage.base)
		ut_stage_fini(&p->stage);
}

/* All bytes lie in the stage; a user that asks this way gets them this way. */
static bool op_take(struct link_stream *s, size_t off, const struct iovec *iov, int n, size_t len)
{
	return ut_stage_scatter(s->place->rx_stage, off, iov, n) == (ssize_t)len;
}

static uint8_t local_out[256 * 1024];
static size_t local_asked;

static uint8_t *op_reserve(struct link_stream *s, size_t len)
{
	struct pipe_stream *p = pipe_of(s);
	bool can = s->shm && !p->error && !place_of(s->place)->net->failing && room_of(p) >= len;

	local_asked = len;
	return can && len <= sizeof(local_out) ? local_out : NULL;
}

static void op_commit(struct link_stream *s, size_t len)
{
	CHECK(len <= local_asked && op_send(s, local_out, len) == (ssize_t)len);
}

static int no_read(struct link_stream *s)
{
	(void)s;
	return 0;
}

static bool no_quiet(struct link_streams *p)
{
	(void)p;
	return false;
}

static void no_sleep(struct link_streams *p, bool on, bool look)
{
	(void)p;
	(void)on;
	(void)look;
}

static int no_watch(struct link_streams *p, struct link_watch *w)
{
	(void)p;
	(void)w;
	return -EOPNOTSUPP;
}

static void no_unwatch(struct link_streams *p, struct link_watch *w)
{
	(void)p;
	(void)w;
}

static void no_end(struct link_streams *p)
{
	(void)p;
}

static int no_peek(struct link_streams *p)
{
	(void)p;
	return -EAGAIN;
}

static const struct link_streams_ops ops = {
	.local = link_streams_no_local, .hurry = link_streams_no_hurry, .reserve = op_reserve,
	.commit = op_commit, .read = no_read, .peek = no_peek,
	.is_quiet = no_quiet, .sleep = no_sleep,
	.watch = no_watch, .unwatch = no_unwatch,
	.leave = no_end, .forget = no_end,
	.bind = op_bind, .listen = op_listen, .unbind = op_unbind, .connect = op_connect,
	.adopt = op_adopt, .send = op_send, .room = op_room, .mss = op_mss,
	.drained = op_drained, .take = op_take, .pause = op_pause, .shutdown = op_shutdown,
	.close = op_close, .poll = op_poll, .deadline = op_deadline, .fd = op_fd, .fini = op_fini,
};

void pipes_open(struct pipes *net, int places)
{
	memset(net, 0, sizeof(*net));
	net->n = places;
	net->mss = 1448;
	for (int i = 0; i < places; i++) {
		struct pipe_place *p = &net->place[i];

		p->net = net;
		p->s.ops = &ops;
		p->addr[10] = p->addr[11] = 0xff;
		p->addr[12] = 10;
		p->addr[15] = (uint8_t)(i + 1);
		p->next_port = 40000;
		ut_list_init(&p->streams);
		ut_list_init(&p->listeners);
	}
}

void pipes_stages(struct pipes *net)
{
	for (int i = 0; i < net->n; i++) {
		struct pipe_place *p = &net->place[i];

		CHECK(ut_stage_init(&p->stage, PIPES_STAGE) == 0);
		p->s.rx_stage = &p->stage;
	}
}

void pipes_close(struct pipes *net)
{
	for (int i = 0; i < net->n; i++)
		op_fini(&net->place[i].s);
}

struct pipe_stream *pipe_connect(struct pipe_place *from, const struct link_end *to)
{
	struct link_end local = { .port = 0 };
	struct link_stream *s = NULL;

	memcpy(local.addr, from->addr, 16);
	CHECK(op_connect(&from->s, NULL, &local, to, -1, &s) == 0);
	return pipe_of(s);
}

struct pipe_stream *pipe_accept(struct pipe_place *at)
{
	struct pipe_stream *s;

	ut_list_each(s, &at->streams, node) {
		if (s->dead || !s->from)
			continue;
		s->from = NULL;
		s->fresh = false;
		return s;
	}
	return NULL;
}

void pipe_pair(struct pipe_place *a, struct pipe_place *b, struct link_stream **ra,
	       struct link_stream **rb)
{
	struct pipe_stream *s = stream_new(a), *t = stream_new(b);

	memcpy(s->s.local.addr, a->addr, 16);
	s->s.local.port = a->next_port++;
	memcpy(t->s.local.addr, b->addr, 16);
	t->s.local.port = b->next_port++;
	s->s.remote = t->s.local;
	t->s.remote = s->s.local;
	s->mate = t;
	t->mate = s;
	*ra = &s->s;
	*rb = &t->s;
}

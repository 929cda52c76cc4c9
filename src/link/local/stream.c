/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each stream has a lower one and is its user. The lower stream has no user as long as this one has
 * none, so that bytes stay where they are; it is paused when this one is, unless bytes go by shared
 * memory: then it carries wake-ups and the end, and is read at any time.
 */
#include "link/local/stream.h"

#include "link/local/agree.h"
#include "link/local/wakefd.h"
#include "util/alloc.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- events of the lower stream --- */

static void wait_for_user(struct local_stream *s)
{
	if (s->way != LOCAL_W_SHM)
		s->lower->user_ops = NULL;
	if (ut_list_empty(&s->idle_node))
		ut_list_add_tail(&local_place_of(s)->userless, &s->idle_node);
}

/* Bytes of the wire have come. Returns how many the user has consumed. */
static size_t show(struct local_stream *s, const uint8_t *data, size_t off, size_t len,
		   uint64_t now)
{
	size_t used = 0;

	while (used < len && local_may_read(s)) {
		const struct link_stream_user *ops = s->base.user_ops;
		void *user = s->base.user;

		/* A peer process that sends this by the wire has chosen the wire. */
		if (s->way != LOCAL_W_WIRE)
			local_agree_wire(s);
		used += ops->received(&s->base, data + used, off + used, len - used, now);
		if (!s->lower)
			return used;
		s->lower->want = s->base.want;
		if (ops == s->base.user_ops && user == s->base.user)
			break;
	}
	if (!s->base.user_ops)
		wait_for_user(s);
	return used;
}

static size_t received(struct link_stream *lower, const uint8_t *data, size_t off, size_t len,
		       uint64_t now)
{
	struct local_stream *s = lower->user;

	/* The first byte of a peer process that has this end's segment: a wake-up, or it has chosen
	 * the wire. */
	if (s->way == LOCAL_W_ANSWERED)
		local_agree_decide(s);
	if (s->way != LOCAL_W_SHM)
		return show(s, data, off, len, now);
	local_stream_woken(s);
	return len;
}

/* Of a lower place that uses shared memory itself. */
static size_t received_shm(struct link_stream *lower, const uint8_t *data, size_t len, uint64_t now)
{
	struct local_stream *s = lower->user;

	return local_may_read(s) ? s->base.user_ops->received_shm(&s->base, data, len, now) : 0;
}

static void writable(struct link_stream *lower, uint64_t now)
{
	struct local_stream *s = lower->user;

	if (s->way == LOCAL_W_SHM)
		local_stream_writable(s);
	else if (s->way == LOCAL_W_ASKED || s->way == LOCAL_W_ANSWERED)
		s->blocked = true;
	else if (s->base.user_ops)
		s->base.user_ops->writable(&s->base, now);
}

static void connected(struct link_stream *lower, uint64_t now)
{
	struct local_stream *s = lower->user;

	s->open = true;
	s->base.local = lower->local;
	s->base.remote = lower->remote;
	if (s->base.user_ops)
		s->base.user_ops->connected(&s->base, now);
}

static void closed(struct link_stream *lower, int error, uint64_t now)
{
	struct local_stream *s = lower->user;

	(void)now;
	if (s->way == LOCAL_W_ANSWERED)
		local_agree_decide(s);
	if (s->way == LOCAL_W_SHM)
		local_stream_fin(s, error);
	else
		local_stream_over(s, error);
}

static const struct link_stream_user lower_user = {
	.received = received, .received_shm = received_shm, .writable = writable, .connected = connected, .closed = closed,
};

/* --- life --- */

struct local_stream *local_stream_new(struct local_place *p)
{
	struct local_stream *s = ut_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->base.place = &p->base;
	ut_list_init(&s->node);
	ut_list_init(&s->todo_node);
	ut_list_init(&s->idle_node);
	ut_list_init(&s->offer_node);
	return s;
}

void local_stream_put(struct local_stream *s, struct link_stream *lower, bool open)
{
	struct local_place *p = local_place_of(s);

	s->lower = lower;
	s->open = open;
	s->base.local = lower->local;
	s->base.remote = lower->remote;
	lower->user = s;
	ut_list_add_tail(&p->streams, &s->node);
	wait_for_user(s);
}

/* Its memory is freed when poll() returns: the caller may be reading it. */
void local_stream_close(struct local_stream *s, bool abort)
{
	struct local_place *p = local_place_of(s);
	struct link_stream *lower = s->lower;

	if (!lower)
		return;
	local_agree_end(s);
	ut_list_del(&s->todo_node);
	ut_list_del(&s->idle_node);
	ut_list_del(&s->node);
	ut_list_add_tail(&p->dead, &s->node);
	s->base.user_ops = NULL;
	s->lower = NULL;
	p->ops->close(lower, abort);
}

void local_stream_reap(struct local_place *p)
{
	struct ut_list *n;

	while ((n = ut_list_pop(&p->dead))) {
		struct local_stream *s = ut_container(n, struct local_stream, node);

		local_agree_free(s);
		free(s);
	}
	while ((n = ut_list_pop(&p->dead_listeners)))
		free(ut_container(n, struct local_listener, node));
	local_rdv_reap(p);
}

void local_stream_find_users(struct local_place *p)
{
	struct local_stream *s, *next;

	ut_list_each_safe(s, next, &p->userless, idle_node) {
		if (!s->base.user_ops)
			continue;
		ut_list_del(&s->idle_node);
		s->lower->user_ops = &lower_user;
		if (s->way == LOCAL_W_SHM || s->over)
			local_stream_todo(s);
	}
}

/* --- streams that have work without an event --- */

void local_stream_todo(struct local_stream *s)
{
	if (ut_list_empty(&s->todo_node))
		ut_list_add_tail(&local_place_of(s)->todo, &s->todo_node);
}

void local_stream_tell_closed(struct local_stream *s, int error)
{
	s->over = true;
	s->error = error;
	if (!s->base.user_ops) {
		wait_for_user(s);
		return;
	}
	if (s->told)
		return;
	s->told = true;
	s->base.user_ops->closed(&s->base, error, local_place_of(s)->now);
}

/*
 * An end is told when all other streams have been looked at. A peer that closes one connection
 * after it began another one is then seen in that order, as programs expect that count connections
 * as they come and go.
 */
void local_stream_over(struct local_stream *s, int error)
{
	local_agree_wire(s);
	s->over = true;
	s->error = error;
	/* What is to be done of it anyway is no reason to tell it sooner. */
	ut_list_del(&s->todo_node);
	ut_list_add_tail(&local_place_of(s)->over, &s->todo_node);
}

static void run_one(struct local_stream *s)
{
	if (s->over && !s->told)
		local_stream_tell_closed(s, s->error);
	if (s->lower && s->way == LOCAL_W_SHM) {
		local_stream_serve(s);
	} else if (s->lower && s->way == LOCAL_W_WIRE && s->blocked && s->base.user_ops) {
		s->blocked = false;
		s->base.user_ops->writable(&s->base, local_place_of(s)->now);
	}
}

int local_stream_run(struct ut_list *todo)
{
	struct ut_list mine = UT_LIST_INIT(mine);
	struct ut_list *n;
	int done = 0;

	/* Streams that join the list meanwhile wait for the next call. */
	while ((n = ut_list_pop(todo)))
		ut_list_add_tail(&mine, n);
	for (; (n = ut_list_pop(&mine)); done++)
		run_one(ut_container(n, struct local_stream, todo_node));
	return done;
}

/* --- the bytes of a stream that has left the wire --- */

/*
 * Streams that have left the wire: their bytes go through a pair of rings (host/shm/pipe.h). A wake-up is a write to
 * the sleeper's wake fd (wakefd.h), of few sleepers, or a byte on the lower stream: no stream needs another descriptor, the
 * owner sleeps on the same set, and the kernel reports which of a thousand streams has a wake-up.
 *
 * Streams that were busy lately are in the poll set and looked at by poll(), in turns where there
 * are many; they sleep only when the owner does. The others sleep each by itself, and wake-ups are
 * sent to them.
 */

#define SHOW_BYTES (72u << 10) /* bytes shown in one call, so that the peer gets room back meanwhile */
#define ROOM_LEAST (72u << 10) /* less counts as no room: an FPDU fits as a whole */
#define POLLED_MOST (1u << 16) /* empty looks until a stream leaves the poll set, if it is one of
                                * few */
#define POLLED_NEW 64u         /* ... that is new: of a thousand new streams most send one message */
#define TURN 64u               /* streams per look */

/* Sends a wake-up to a peer that sleeps so (SHM_PIPE_*). A byte without room is sent again by writable(); without a peer, no
 * process sleeps. */
static void wake_peer(struct local_stream *s, unsigned asleep)
{
	if (!(asleep & SHM_PIPE_WAKE_FD) || !local_wakefd_write(s->shm))
		s->shm->wake_due = local_place_of(s)->ops->send(s->lower, "", 1) == -EAGAIN;
}

static bool has_news(const struct local_stream *s)
{
	return local_may_read(s) && shm_pipe_end(&s->shm->pipe) != s->shm->seen;
}

static bool has_room(const struct local_stream *s)
{
	return s->blocked && shm_pipe_room(&s->shm->pipe, ROOM_LEAST) >= ROOM_LEAST;
}

/* --- the poll set --- */

/* The peer process sends it wake-ups from now on; bytes that have come are looked for once more. */
static void go_to_sleep(struct local_stream *s)
{
	shm_pipe_sleep(&s->shm->pipe, SHM_PIPE_NEWS | (s->blocked ? SHM_PIPE_ROOM : 0u) | local_wakefd_attend(s));
	if (has_news(s) || has_room(s))
		local_stream_todo(s);
}

static void wake_up(struct local_shm *n)
{
	local_wakefd_leave(n);
	shm_pipe_wake(&n->pipe);
}

void local_stream_poll_remove(struct local_stream *s)
{
	struct local_shm *n = s->shm;

	if (ut_list_empty(&n->polled_node))
		return;
	ut_list_del(&n->polled_node);
	local_place_of(s)->n_polled--;
}

static void poll_add(struct local_stream *s)
{
	struct local_place *p = local_place_of(s);
	struct local_shm *n = s->shm;

	n->polled_from = n->polled_from < POLLED_MOST ? 2 * n->polled_from + POLLED_NEW : POLLED_MOST;
	n->polled = n->polled_from;
	if (!ut_list_empty(&n->polled_node))
		return;
	ut_list_add_tail(&p->polled, &n->polled_node);
	p->n_polled++;
}

static bool is_still_polled(struct local_shm *n, uint32_t by)
{
	n->polled -= n->polled < by ? n->polled : by;
	return n->polled;
}

/* Among many streams each leaves sooner, so that all empty looks together cost the same. */
static int look_at(struct local_place *p, struct local_stream **v, unsigned k)
{
	uint32_t by = 1 + p->n_polled / TURN;
	int done = 0;

	for (unsigned i = 0; i < k; i++) {
		int did;

		if (!v[i]->lower || ut_list_empty(&v[i]->shm->polled_node))
			continue;
		did = local_stream_serve(v[i]);
		done += did;
		if (!did && v[i]->lower && !is_still_polled(v[i]->shm, by)) {
			local_stream_poll_remove(v[i]);
			go_to_sleep(v[i]);
		}
	}
	return done;
}

/* Looks at the next streams. A callback may close or remove any of them. */
static unsigned whose_turn(struct local_place *p, struct local_stream *v[TURN])
{
	struct local_shm *n;
	unsigned k = 0;

	ut_list_each(n, &p->polled, polled_node) {
		if (k == TURN)
			break;
		v[k++] = n->s;
	}
	for (unsigned i = 0; k < p->n_polled && i < k; i++) {
		ut_list_del(&v[i]->shm->polled_node);
		ut_list_add_tail(&p->polled, &v[i]->shm->polled_node);
	}
	return k;
}

int local_stream_look(struct local_place *p, bool all)
{
	struct local_stream *v[TURN];
	unsigned left = all ? p->n_polled : 1, k;
	int done = 0;

	for (; left; left -= k < left ? k : left) {
		k = whose_turn(p, v);
		if (!k)
			break;
		done += look_at(p, v, k);
	}
	return done;
}

void local_stream_settle(struct local_place *p)
{
	struct local_shm *n;

	if (!local_stream_sleeping(p))
		return;
	ut_list_each(n, &p->polled, polled_node)
		if (!shm_pipe_sleeps(&n->pipe))
			go_to_sleep(n->s);
}

/* --- out --- */

/* The owner may sleep already when this returns: a stream that waits for room reports it at once. */
static void wait_for_room(struct local_stream *s)
{
	s->blocked = true;
	if (local_stream_sleeping(local_place_of(s)) || shm_pipe_sleeps(&s->shm->pipe))
		go_to_sleep(s);
}

ssize_t local_stream_send(struct local_stream *s, const void *data, size_t len)
{
	struct shm_pipe *p = &s->shm->pipe;
	size_t room = shm_pipe_room(p, len), n = len < room ? len : room;
	unsigned asleep;

	if (s->shm->fin && s->error)
		return -EPIPE;
	if (n < len)
		wait_for_room(s);
	if (!n)
		return -EAGAIN;
	shm_pipe_begin(p);
	memcpy(shm_pipe_at(p), data, n);
	asleep = shm_pipe_commit(p, n);
	if (asleep)
		wake_peer(s, asleep);
	return (ssize_t)n;
}

size_t local_stream_room(struct local_stream *s)
{
	size_t room = shm_pipe_room(&s->shm->pipe, ROOM_LEAST);

	if (s->blocked)
		return 0;
	if (room >= ROOM_LEAST)
		return room;
	wait_for_room(s);
	return 0;
}

uint8_t *local_stream_reserve(struct local_stream *s, size_t len)
{
	if (s->blocked || shm_pipe_room(&s->shm->pipe, len) < len)
		return NULL;
	shm_pipe_begin(&s->shm->pipe);
	return shm_pipe_at(&s->shm->pipe);
}

void local_stream_commit(struct local_stream *s, size_t len)
{
	unsigned asleep = shm_pipe_commit(&s->shm->pipe, len);

	if (asleep)
		wake_peer(s, asleep);
}

bool local_stream_drained(struct local_stream *s)
{
	return shm_pipe_room(&s->shm->pipe, SHM_PIPE_BYTES) == SHM_PIPE_BYTES;
}

/* --- in --- */

void local_stream_begin(struct local_stream *s)
{
	s->lower->seldom = true;
	poll_add(s);
	local_stream_todo(s);
}

void local_stream_again(struct local_stream *s)
{
	s->shm->seen = s->shm->pipe.head;
	local_stream_todo(s);
}

/* Shows the bytes up to `end`, a piece at a time. */
static void show_up_to(struct local_stream *s, uint64_t end)
{
	struct local_shm *n = s->shm;
	bool stuck = false;

	while (n->pipe.head != end && local_may_read(s)) {
		const struct link_stream_user *ops = s->base.user_ops;
		size_t len = (size_t)(end - n->pipe.head), used;
		unsigned asleep;

		len = len < SHOW_BYTES ? len : SHOW_BYTES;
		used = ops->received_shm(&s->base, shm_pipe_in(&n->pipe), len, local_place_of(s)->now);
		if (!s->lower)
			return;
		asleep = used ? shm_pipe_consume(&n->pipe, used) : 0;
		if (asleep)
			wake_peer(s, asleep);
		if (!used && ops == s->base.user_ops) {
			stuck = len >= LINK_STREAM_KEEP && !s->paused;
			break;
		}
	}
	n->seen = end;
	if (stuck)
		local_stream_tell_closed(s, EMSGSIZE);
}

static int read_ring(struct local_stream *s)
{
	uint64_t end = shm_pipe_end(&s->shm->pipe);

	if (!local_may_read(s) || end == s->shm->seen)
		return 0;
	if (shm_pipe_sane(&s->shm->pipe, end)) {
		show_up_to(s, end);
	} else {
		ut_warn("connection with port %u of this host: the peer process's ring has an impossible "
			"position: the connection ends; start the peer's program again", s->base.remote.port);
		local_stream_over(s, EPROTO);
	}
	return 1;
}

static int tell_room(struct local_stream *s)
{
	if (!s->lower || !has_room(s))
		return 0;
	s->blocked = false;
	if (s->base.user_ops)
		s->base.user_ops->writable(&s->base, local_place_of(s)->now);
	return 1;
}

/* The end is told after all bytes that came before, or at once to a user that does not read and
 * cannot send either. */
static bool is_over(const struct local_stream *s)
{
	if (!s->lower || !s->shm->fin || s->over || !s->base.user_ops)
		return false;
	return s->paused ? s->blocked && s->error : !has_news(s);
}

/* The wake-up for the bytes just seen is here, or comes soon: it would end the next sleep. */
static void read_wakes(struct local_stream *s)
{
	if (local_wakefd_is_attended(s->shm)) {
		local_wakefd_leave(s->shm);
		local_wakefd_take(local_place_of(s));
		return;
	}
	s->shm->reading = true;
	local_place_of(s)->ops->read(s->lower);
	s->shm->reading = false;
}

int local_stream_serve(struct local_stream *s)
{
	struct local_place *p = local_place_of(s);
	struct local_shm *n = s->shm;
	bool slept = shm_pipe_sleeps(&n->pipe);
	int done = 0;

	if (has_news(s) || has_room(s)) {
		if (slept && local_stream_sleeping(p))
			read_wakes(s);
		wake_up(n);
		poll_add(s);
		done = read_ring(s) + tell_room(s);
	} else if (slept && !ut_list_empty(&n->polled_node) && !local_stream_sleeping(p)) {
		wake_up(n);
	}
	if (s->lower && !s->base.user_ops && ut_list_empty(&s->idle_node))
		ut_list_add_tail(&p->userless, &s->idle_node);
	if (is_over(s)) {
		local_stream_over(s, s->error);
		done++;
	}
	return done;
}

int local_stream_serve_woken(struct local_place *p)
{
	struct local_shm *n;

	ut_list_each(n, &p->on_wake_fd, wake_fd_node)
		if (has_news(n->s)) {
			local_stream_stir(n->s);
			return local_stream_serve(n->s);
		}
	return -EAGAIN;
}

/* A late wake-up, for bytes that were seen before this sleep, was nevertheless sent for this sleep:
 * no other will be sent for it, so the sleep is over. */
void local_stream_stir(struct local_stream *s)
{
	wake_up(s->shm);
	poll_add(s);
}

void local_stream_woken(struct local_stream *s)
{
	local_stream_stir(s);
	if (!s->shm->reading)
		local_stream_serve(s);
}

void local_stream_writable(struct local_stream *s)
{
	if (s->shm->wake_due)
		wake_peer(s, 0);
}

/* The end waits until all bytes before it have been shown. */
void local_stream_fin(struct local_stream *s, int error)
{
	s->shm->fin = true;
	s->error = error;
	local_stream_serve(s);
}

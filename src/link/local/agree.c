/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How the two ends of a connection within one host leave the wire, without a byte of it changed. The
 * passive end has a rendezvous listener: an abstract unix socket that is named after the address and
 * port it listens on, opened before it answers the Request. The active end, when it has the Reply and
 * before its first byte, connects there:
 *
 *     active                                          passive
 *     connect, uid?                          ---->    uid?
 *     HELLO    the 4-tuple, its segment      ---->    is there such a connection?    OFFERED -> ANSWERED
 *     ASKED    <----  its segment
 *     open = 1, end of the rendezvous        ---->    open?                          SHM
 *     SHM      its first byte goes by the ring
 *
 * The name proves the network namespace, the kernel the user (SO_PEERCRED), the 4-tuple that both are
 * ends of one connection. The active end alone decides, and is bound to nothing until it has set
 * `open`, so it may choose the wire at any time before: there is no listener, it belongs to another user,
 * there is no answer within the time limit (a forked child keeps the name of a dead program, or the peer
 * process is stopped). The passive end, which may not send before it has received, knows the way
 * when the rendezvous ends, or when a byte comes by the wire while `open` is not set. Where it may send
 * first, its first byte closes the offer, and an active end that comes too late is refused.
 */
#include "link/local/agree.h"

#include "link/local/rendezvous.h"
#include "link/local/shm.h"
#include "link/local/stream.h"
#include "util/alloc.h"
#include "util/syscall.h"

#include <stdlib.h>
#include <string.h>

#define SHM_MOST 1024 /* streams of a place that have a segment */

/* --- both ends --- */

static bool is_full(const struct local_place *p)
{
	return atomic_load_explicit(&p->n_shm, memory_order_relaxed) >= SHM_MOST;
}

/* Returns the segment's descriptor, to be closed, or -errno. */
static int segment_new(struct local_stream *s)
{
	struct local_shm *n = ut_zalloc(sizeof(*n));
	int fd;

	if (!n)
		return -ENOMEM;
	fd = shm_pipe_make(&n->pipe);
	if (fd < 0) {
		free(n);
		return fd;
	}
	ut_list_init(&n->polled_node);
	n->s = s;
	s->shm = n;
	atomic_fetch_add_explicit(&local_place_of(s)->n_shm, 1, memory_order_relaxed);
	return fd;
}

void local_agree_free(struct local_stream *s)
{
	struct local_shm *n = s->shm;

	if (s->way == LOCAL_W_OFFERED)
		local_rdv_offer_over(s);
	s->way = LOCAL_W_WIRE;
	if (!n)
		return;
	if (n->rendezvous)
		local_rdv_over(n->rendezvous);
	s->shm = NULL;
	shm_pipe_fini(&n->pipe);
	free(n);
	atomic_fetch_sub_explicit(&local_place_of(s)->n_shm, 1, memory_order_relaxed);
}

/* A callback on the stack may be looking at the memory of a stream in use: that goes with the stream. */
void local_agree_end(struct local_stream *s)
{
	if (s->way == LOCAL_W_SHM)
		local_shm_poll_remove(s);
	else
		local_agree_free(s);
}

void local_agree_wire(struct local_stream *s)
{
	if (s->way == LOCAL_W_WIRE || s->way == LOCAL_W_SHM)
		return;
	local_agree_free(s);
	if (s->blocked)
		local_stream_todo(s);
}

static void to_shm(struct local_stream *s)
{
	struct local_rendezvous *c = s->shm->rendezvous;

	s->way = LOCAL_W_SHM;
	s->base.shm = true;
	if (c)
		local_rdv_over(c);
	if (s->paused)
		local_place_of(s)->ops->pause(s->lower, false);
	local_shm_begin(s);
}

/* --- the active end --- */

static void ask(struct local_stream *s)
{
	struct local_hello h = { .magic = LOCAL_HELLO_MAGIC, .from_port = s->base.local.port,
				 .to_port = s->base.remote.port };
	struct local_place *p = local_place_of(s);
	int fd = local_rdv_connect(p, &s->base.remote), segment;

	if (fd < 0)
		return;
	segment = segment_new(s);
	memcpy(h.from, s->base.local.addr, 16);
	memcpy(h.to, s->base.remote.addr, 16);
	if (segment >= 0 && local_rdv_tell(fd, &h, segment) == 0)
		s->shm->rendezvous = local_rdv_new(p, s, fd);
	ut_close_fd(&segment);
	if (s->shm && s->shm->rendezvous) {
		s->way = LOCAL_W_ASKED;
		return;
	}
	ut_close_fd(&fd);
	local_agree_free(s);
}

static int answered(struct local_rendezvous *c)
{
	struct local_stream *s = c->s;
	struct local_hello h;
	int fd = local_rdv_hear(c->watch.fd, &h);

	if (fd == -EAGAIN)
		return 0;
	if (fd >= 0 && shm_pipe_join(&s->shm->pipe, fd) == 0) {
		atomic_store_explicit(&s->shm->pipe.own->open, 1, memory_order_release);
		to_shm(s);
	} else {
		local_agree_wire(s);
	}
	ut_close_fd(&fd);
	return 1;
}

/* --- the passive end --- */

/* From here on the peer process decides: it has our segment. */
static int answer(struct local_rendezvous *c, struct local_stream *s, int theirs)
{
	struct local_hello h = { .magic = LOCAL_HELLO_MAGIC };
	int segment = segment_new(s), r = segment;

	if (segment < 0)
		return r;
	r = shm_pipe_join(&s->shm->pipe, theirs);
	if (r == 0)
		r = local_rdv_tell(c->watch.fd, &h, segment);
	ut_close_fd(&segment);
	return r;
}

static void take_hello(struct local_rendezvous *c, const struct local_hello *h, int segment)
{
	struct local_stream *s = is_full(c->place) ? NULL : local_rdv_offered(c->place, h);

	if (!s) {
		local_rdv_over(c);
		return;
	}
	if (answer(c, s, segment) < 0) {
		local_agree_wire(s);
		local_rdv_over(c);
		return;
	}
	local_rdv_offer_over(s);
	s->way = LOCAL_W_ANSWERED;
	s->shm->rendezvous = c;
	local_rdv_belongs(c, s);
}

void local_agree_decide(struct local_stream *s)
{
	if (atomic_load_explicit(&s->shm->pipe.peer->open, memory_order_acquire))
		to_shm(s);
	else
		local_agree_wire(s);
}

/* Its first byte is there already: what the peer did afterwards must not be told before it. */
static void decided(struct local_stream *s)
{
	local_agree_decide(s);
	if (s->way == LOCAL_W_SHM)
		local_shm_serve(s);
}

int local_agree_ready(struct link_watch *w, uint64_t now)
{
	struct local_rendezvous *c = ut_container(w, struct local_rendezvous, watch);
	struct local_stream *s = c->s;
	struct local_hello h;
	int fd;

	(void)now;
	if (w->fd < 0)
		return 0;
	if (s && s->way == LOCAL_W_ASKED)
		return answered(c);
	fd = local_rdv_hear(w->fd, &h);
	if (fd == -EAGAIN)
		return 0;
	if (s)
		decided(s);
	else if (fd >= 0)
		take_hello(c, &h, fd);
	else
		local_rdv_over(c);
	if (fd >= 0)
		ut_close_fd(&fd);
	return 1;
}

void local_agree_expired(struct local_place *p)
{
	struct local_rendezvous *c;

	while ((c = local_rdv_expired(p))) {
		if (c->s)
			local_agree_wire(c->s);
		else
			local_rdv_over(c);
	}
}

/* --- for the user of the stream --- */

bool local_agree(struct link_stream *l, bool active)
{
	struct local_stream *s = local_stream_of(l);
	struct local_place *p = local_place_of(s);

	if (s->way != LOCAL_W_WIRE || !s->lower || !s->open || s->over || is_full(p) ||
	    !(p->how & (s->handed_over ? LOCAL_HANDED_OVER : LOCAL_CONNECTED)))
		return false;
	if (active) {
		ask(s);
	} else if (local_rdv_offer(s)) {
		s->way = LOCAL_W_OFFERED;
		s->offered_by = s->base.user_ops;
	}
	s->blocked |= s->way == LOCAL_W_ASKED;
	return s->way == LOCAL_W_ASKED;
}

/* An active end that has asked is bound to nothing yet; a passive one that has answered is. */
void local_agree_hurry(struct link_stream *l)
{
	struct local_stream *s = local_stream_of(l);

	if (!s->lower || s->way != LOCAL_W_ASKED)
		return;
	s->blocked = false;
	local_agree_wire(s);
}

bool local_agree_may_send(struct local_stream *s)
{
	if (s->way == LOCAL_W_OFFERED && s->base.user_ops != s->offered_by)
		local_agree_wire(s);
	if (s->way != LOCAL_W_ASKED && s->way != LOCAL_W_ANSWERED)
		return true;
	s->blocked = true;
	return false;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How the two ends of a TCP connection within one host leave the wire, without a byte of it changed.
 * The passive end has a door: an abstract unix socket that is named after the address and port it
 * listens on, opened before it answers the Request. The active end, when it has the Reply and before
 * its first byte, knocks there:
 *
 *     active                                      passive
 *     CONNECT  uid?                     ---->     uid?
 *     HELLO    the 4-tuple, its segment ---->     is there such a connection?    OFFERED -> SHOWN
 *     ASKED    <----  its segment
 *     open = 1, end of the rendezvous         ---->     open?                          NEAR
 *     NEAR: its first byte goes by the ring
 *
 * The name proves the network namespace, the kernel the user (SO_PEERCRED), the 4-tuple that both are
 * ends of one connection. Who decides is the active end alone, and it is bound to nothing until it
 * has set `open`, so that it may give up whenever it likes: nobody has the name, another user has it,
 * no answer within TCP_LOCAL_TIMEOUT (a forked child keeps the name of a dead program, or the peer is
 * stopped) - the wire. The passive end, which may not speak before it is spoken to, knows the way
 * when the rendezvous ends, or when a byte comes by TCP while `open` is not set. Where it may speak first,
 * its first byte closes the offer, and who comes too late is sent away.
 */
#include "link/tcp/local.h"

#include "link/sys.h"
#include "util/alloc.h"

#include <stdlib.h>
#include <string.h>

/* --- both ends --- */

static bool has_place(const struct tcp_link *p)
{
	return atomic_load_explicit(&p->n_local, memory_order_relaxed) < TCP_LOCAL_MOST;
}

/* Returns the segment's descriptor, to be closed, or -errno. */
static int local_new(struct tcp_stream *s)
{
	struct tcp_local *n = ut_zalloc(sizeof(*n));
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
	atomic_fetch_add_explicit(&tcp_link_of(s)->n_local, 1, memory_order_relaxed);
	return fd;
}

void tcp_local_free(struct tcp_stream *s)
{
	struct tcp_local *n = s->shm;

	if (s->way == TCP_W_OFFERED)
		tcp_offer_over(s);
	s->way = TCP_W_WIRE;
	if (!n)
		return;
	if (n->rendezvous)
		tcp_rendezvous_over(n->rendezvous);
	s->shm = NULL;
	shm_pipe_fini(&n->pipe);
	free(n);
	atomic_fetch_sub_explicit(&tcp_link_of(s)->n_local, 1, memory_order_relaxed);
}

void tcp_to_wire(struct tcp_stream *s)
{
	bool waited = s->way == TCP_W_ASKED || s->way == TCP_W_ANSWERED;

	if (s->way == TCP_W_WIRE || s->way == TCP_W_LOCAL)
		return;
	tcp_local_free(s);
	if (waited && s->blocked)
		tcp_watch(s);
}

static void to_local(struct tcp_stream *s)
{
	struct tcp_rendezvous *c = s->shm->rendezvous;

	s->way = TCP_W_LOCAL;
	s->base.shm = true;
	if (c)
		tcp_rendezvous_over(c);
	tcp_local_begin(s);
}

/* --- the active end --- */

static int connect_rendezvous(struct tcp_link *p, const struct link_end *at)
{
	struct sockaddr_un sun;
	socklen_t n = tcp_rdv_listener_name(at, &sun);
	int fd = tcp_unix_socket();
	long r;

	if (fd < 0)
		return fd;
	r = LINK_SYS(SYS_connect, fd, &sun, n);
	if (r == 0 && tcp_is_one_of_us(p, fd))
		return fd;
	link_sys_close(&fd);
	return r < 0 ? (int)r : -EPERM;
}

static void ask(struct tcp_stream *s)
{
	struct tcp_hello h = { .magic = TCP_HELLO_MAGIC, .from_port = s->base.local.port,
			   .to_port = s->base.remote.port };
	struct tcp_link *p = tcp_link_of(s);
	int fd = connect_rendezvous(p, &s->base.remote), segment;

	if (fd < 0)
		return;
	segment = local_new(s);
	memcpy(h.from, s->base.local.addr, 16);
	memcpy(h.to, s->base.remote.addr, 16);
	if (segment >= 0 && tcp_tell(fd, &h, segment) == 0)
		s->shm->rendezvous = tcp_rendezvous_new(p, s, fd);
	link_sys_close(&segment);
	if (s->shm && s->shm->rendezvous) {
		s->way = TCP_W_ASKED;
		return;
	}
	link_sys_close(&fd);
	tcp_local_free(s);
}

static int answered(struct tcp_rendezvous *c)
{
	struct tcp_stream *s = c->s;
	struct tcp_hello h;
	int fd = tcp_hear(c->fd, &h);

	if (fd == -EAGAIN)
		return 0;
	if (fd >= 0 && shm_pipe_join(&s->shm->pipe, fd) == 0) {
		atomic_store_explicit(&s->shm->pipe.own->open, 1, memory_order_release);
		to_local(s);
	} else {
		tcp_to_wire(s);
	}
	link_sys_close(&fd);
	return 1;
}

/* --- the passive end --- */

/* Who was shown a segment is waited for: s is its own now. */
static int show_segment(struct tcp_rendezvous *c, struct tcp_stream *s, int theirs)
{
	struct tcp_hello h = { .magic = TCP_HELLO_MAGIC };
	int segment = local_new(s), r = segment;

	if (segment < 0)
		return r;
	r = shm_pipe_join(&s->shm->pipe, theirs);
	if (r == 0)
		r = tcp_tell(c->fd, &h, segment);
	link_sys_close(&segment);
	return r;
}

static void take_hello(struct tcp_rendezvous *c, const struct tcp_hello *h, int segment)
{
	struct tcp_link *p = c->place;
	struct tcp_stream *s = has_place(p) ? tcp_offered(p, h) : NULL;

	if (!s) {
		tcp_rendezvous_over(c);
		return;
	}
	if (show_segment(c, s, segment) < 0) {
		tcp_to_wire(s);
		tcp_rendezvous_over(c);
		return;
	}
	tcp_offer_over(s);
	s->way = TCP_W_ANSWERED;
	p->n_rendezvous--;
	c->s = s;
	s->shm->rendezvous = c;
	tcp_rendezvous_keep(c);
}

/* Its silence is not ours to break: until it has decided, a byte on TCP may be a wake. */
void tcp_decide(struct tcp_stream *s)
{
	if (atomic_load_explicit(&s->shm->pipe.peer->open, memory_order_acquire))
		to_local(s);
	else
		tcp_to_wire(s);
}

/* Its first byte is there already: what the peer did afterwards is not to be heard before it. */
static void decided(struct tcp_stream *s)
{
	tcp_decide(s);
	if (s->way == TCP_W_LOCAL)
		tcp_local_serve(s);
}

int tcp_rendezvous_event(struct tcp_rendezvous *c)
{
	struct tcp_stream *s = c->s;
	struct tcp_hello h;
	int fd;

	if (c->fd < 0)
		return 0;
	if (c->s && c->s->way == TCP_W_ASKED)
		return answered(c);
	fd = tcp_hear(c->fd, &h);
	if (fd == -EAGAIN)
		return 0;
	if (s)
		decided(s);
	else if (fd >= 0)
		take_hello(c, &h, fd);
	else
		tcp_rendezvous_over(c);
	if (fd >= 0)
		link_sys_close(&fd);
	return 1;
}

/* --- the place --- */

bool tcp_local(struct link_stream *l, bool active)
{
	struct tcp_stream *s = tcp_stream_of(l);
	struct tcp_link *p = tcp_link_of(s);

	if (!p->local || s->way != TCP_W_WIRE || s->state != TCP_S_OPEN || s->rx_over || !has_place(p) ||
	    (s->handed_over && !(p->local & TCP_LOCAL_HANDED_OVER)))
		return false;
	if (active)
		ask(s);
	else
		tcp_offer(s);
	s->blocked |= s->way == TCP_W_ASKED;
	return s->way == TCP_W_ASKED;
}

/* Who has asked is bound to nothing yet; who has shown its segment is. */
void tcp_hurry(struct link_stream *l)
{
	struct tcp_stream *s = tcp_stream_of(l);

	if (s->state != TCP_S_OPEN || s->way != TCP_W_ASKED)
		return;
	s->blocked = false;
	tcp_to_wire(s);
}

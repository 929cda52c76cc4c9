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

#include "host/layout.h"
#include "link/local/wakefd.h"
#include "link/local/stream.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/ip.h"
#include "util/rights.h"
#include "util/syscall.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

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
	n->pipe.own->wake_fd = local_place_of(s)->wake_fd_id;
	ut_list_init(&n->wake_fd_node);
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
	local_wakefd_drop(n);
	shm_pipe_fini(&n->pipe);
	free(n);
	atomic_fetch_sub_explicit(&local_place_of(s)->n_shm, 1, memory_order_relaxed);
}

/* A stream in use keeps its segment until the stream goes: a callback on the stack may be reading
 * it. */
void local_agree_end(struct local_stream *s)
{
	if (s->way != LOCAL_W_SHM) {
		local_agree_free(s);
		return;
	}
	local_stream_poll_remove(s);
	local_wakefd_leave(s->shm);
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
	local_stream_begin(s);
}

static uint32_t our_magic(void)
{
	return LOCAL_HELLO_MAGIC + host_layout;
}

static void say_unequal(const uint8_t addr[16], unsigned port, const struct local_hello *h)
{
	char text[INET6_ADDRSTRLEN], who[INET6_ADDRSTRLEN + 32];

	snprintf(who, sizeof(who), "the process at %s port %u", ut_ip_text(addr, text), port);
	host_layout_say(who, h->magic - LOCAL_HELLO_MAGIC, "TCP");
}

/* --- the active end --- */

static void ask(struct local_stream *s)
{
	struct local_hello h = { .magic = our_magic(), .from_port = s->base.local.port,
				 .to_port = s->base.remote.port };
	struct local_place *p = local_place_of(s);
	int fd = local_rdv_connect(p, &s->base.remote), segment;

	if (fd < 0)
		return;
	segment = segment_new(s);
	memcpy(h.from, s->base.local.addr, 16);
	memcpy(h.to, s->base.remote.addr, 16);
	if (segment >= 0 && local_rdv_tell(fd, &h, segment, p->wake_fd.fd) == 0)
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
	int wake_fd, fd = local_rdv_hear(c->watch.fd, &h, &wake_fd);

	if (fd == -EAGAIN)
		return 0;
	if (fd >= 0 && shm_pipe_join(&s->shm->pipe, fd) == 0) {
		local_wakefd_keep(s, wake_fd, c->watch.fd);
		wake_fd = -1;
		atomic_store_explicit(&s->shm->pipe.own->open, 1, memory_order_release);
		to_shm(s);
	} else {
		if (fd == -EPROTONOSUPPORT)
			say_unequal(s->base.remote.addr, s->base.remote.port, &h);
		local_agree_wire(s);
	}
	ut_close_fd(&wake_fd);
	ut_close_fd(&fd);
	return 1;
}

/* --- the passive end --- */

/* From here on the peer process decides: it has this end's segment. *wake_fd is the peer's, and -1 when it is kept. */
static int answer(struct local_rendezvous *c, struct local_stream *s, int theirs, int *wake_fd)
{
	struct local_hello h = { .magic = our_magic() };
	int segment = segment_new(s), r = segment;

	if (segment < 0)
		return r;
	r = shm_pipe_join(&s->shm->pipe, theirs);
	if (r == 0) {
		local_wakefd_keep(s, *wake_fd, c->watch.fd);
		*wake_fd = -1;
		r = local_rdv_tell(c->watch.fd, &h, segment, local_place_of(s)->wake_fd.fd);
	}
	ut_close_fd(&segment);
	return r;
}

static void take_hello(struct local_rendezvous *c, const struct local_hello *h, int segment, int *wake_fd)
{
	struct local_stream *s = is_full(c->place) ? NULL : local_rdv_offered(c->place, h);

	if (!s) {
		local_rdv_over(c);
		return;
	}
	if (answer(c, s, segment, wake_fd) < 0) {
		local_agree_wire(s);
		local_rdv_over(c);
		return;
	}
	local_rdv_offer_over(s);
	s->way = LOCAL_W_ANSWERED;
	s->shm->rendezvous = c;
	local_rdv_belongs(c, s);
}

/* The answer, which names our layout, refuses. */
static void refuse_unequal(struct local_rendezvous *c, const struct local_hello *h)
{
	struct local_hello back = { .magic = our_magic() };

	say_unequal(h->from, h->from_port, h);
	local_rdv_tell(c->watch.fd, &back, -1, -1);
	local_rdv_over(c);
}

void local_agree_decide(struct local_stream *s)
{
	if (atomic_load_explicit(&s->shm->pipe.peer->open, memory_order_acquire))
		to_shm(s);
	else
		local_agree_wire(s);
}

/* The peer's first byte has arrived: it precedes anything the peer did afterwards. */
static void decided(struct local_stream *s)
{
	local_agree_decide(s);
	if (s->way == LOCAL_W_SHM)
		local_stream_serve(s);
}

int local_agree_ready(struct link_watch *w, uint64_t now)
{
	struct local_rendezvous *c = ut_container(w, struct local_rendezvous, watch);
	struct local_stream *s = c->s;
	struct local_hello h;
	int fd, wake_fd;

	(void)now;
	if (w->fd < 0)
		return 0;
	if (s && s->way == LOCAL_W_ASKED)
		return answered(c);
	fd = local_rdv_hear(w->fd, &h, &wake_fd);
	if (fd == -EAGAIN)
		return 0;
	if (s)
		decided(s);
	else if (fd >= 0)
		take_hello(c, &h, fd, &wake_fd);
	else if (fd == -EPROTONOSUPPORT)
		refuse_unequal(c, &h);
	else
		local_rdv_over(c);
	ut_close_fd(&wake_fd);
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

/* --- the calls of the stream's user --- */

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

/* An active end that has asked is bound to nothing yet; a passive one that has answered is bound. */
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

/* --- rendezvous connections --- */

/*
 * Rendezvous connections, by which the two ends agree: unix sockets in the set of the lower place,
 * messages of one shape with a descriptor each, and a time limit for the answer. The process at the
 * other end may send anything, or nothing.
 *
 * A listener exists for each local address and port, as long as a stream is offered there or a port
 * listens.
 */

#define ANSWER_NS 300000000ull /* time limit of an answer; after it the stream takes the wire */
#define STRANGERS_MOST 256     /* connections that have not named their stream yet */
#define ACCEPTS 64             /* accepted in one poll() */

/* --- names and processes --- */

static socklen_t name_of(const struct link_end *e, struct sockaddr_un *ret)
{
	char *at = ret->sun_path + 1;
	int n = snprintf(at, sizeof(ret->sun_path) - 1, "dapple-iw/");

	memset(ret->sun_path, 0, 1);
	ret->sun_family = AF_UNIX;
	for (int i = 0; i < 16; i++)
		n += snprintf(at + n, sizeof(ret->sun_path) - 1 - (size_t)n, "%02x", e->addr[i]);
	n += snprintf(at + n, sizeof(ret->sun_path) - 1 - (size_t)n, "/%u", e->port);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int socket_new(void)
{
	return (int)UT_SYS(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Credentials as peer processes see them: getuid() differs between user namespaces. */
int local_rdv_init(struct local_place *p)
{
	struct ucred c = { 0 };
	socklen_t n = sizeof(c);
	int sv[2];
	long r = UT_SYS(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv);

	if (r < 0)
		return (int)r;
	r = UT_SYS(SYS_getsockopt, sv[0], SOL_SOCKET, SO_PEERCRED, &c, &n);
	ut_close_fd(&sv[0]);
	ut_close_fd(&sv[1]);
	p->uid = c.uid;
	p->pid = c.pid;
	return (int)r;
}

/* Another user is a stranger. Within one process the host's TCP stack has no other thread to wake. */
static bool is_one_of_us(const struct local_place *p, int fd)
{
	struct ucred c = { 0 };
	socklen_t n = sizeof(c);

	if (UT_SYS(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &c, &n) < 0)
		return false;
	return c.uid == p->uid && (c.pid != p->pid || (p->how & LOCAL_SELF));
}

/* --- messages --- */

int local_rdv_tell(int fd, const struct local_hello *h, int segment, int wake_fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	const int fds[2] = { segment, wake_fd };
	unsigned n = segment < 0 ? 0 : wake_fd < 0 ? 1 : 2;
	struct iovec iov = { (void *)h, sizeof(*h) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	long r;

	if (n) {
		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		ut_rights_put(&m, fds, n);
	}
	r = UT_SYS(SYS_sendmsg, fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	return r < 0 ? (int)r : 0;
}

int local_rdv_hear(int fd, struct local_hello *h, int *ret_wake_fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
	struct iovec iov = { h, sizeof(*h) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	long r = UT_SYS(SYS_recvmsg, fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int fds[2] = { -1, -1 };

	*ret_wake_fd = -1;
	if (r < 0)
		return (int)r;
	ut_rights_take(&m, fds, 2);
	if (r == (long)sizeof(*h) && h->magic == our_magic() && fds[0] >= 0) {
		*ret_wake_fd = fds[1];
		return fds[0];
	}
	ut_close_fd(&fds[0]);
	ut_close_fd(&fds[1]);
	return r == (long)sizeof(*h) && h->magic != our_magic() && h->magic - LOCAL_HELLO_MAGIC < LOCAL_HELLO_MAGICS
		       ? -EPROTONOSUPPORT : -EPROTO;
}

/* --- connections --- */

int local_rdv_connect(struct local_place *p, const struct link_end *at)
{
	struct sockaddr_un sun;
	socklen_t n = name_of(at, &sun);
	int fd = socket_new();
	long r;

	if (fd < 0)
		return fd;
	r = UT_SYS(SYS_connect, fd, &sun, n);
	if (r == 0 && is_one_of_us(p, fd))
		return fd;
	ut_close_fd(&fd);
	return r < 0 ? (int)r : -EPERM;
}

struct local_rendezvous *local_rdv_new(struct local_place *p, struct local_stream *s, int fd)
{
	struct local_rendezvous *c = ut_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct local_rendezvous){ .watch = { .fd = fd, .ready = local_agree_ready }, .place = p, .s = s,
					.until = ut_now() + ANSWER_NS };
	if (p->ops->watch(p->lower, &c->watch) < 0) {
		free(c);
		return NULL;
	}
	ut_list_add_tail(&p->timed, &c->node);
	p->n_strangers += !s;
	return c;
}

/* An event of this round may still name the connection. */
void local_rdv_over(struct local_rendezvous *c)
{
	struct local_place *p = c->place;

	if (c->watch.fd < 0)
		return;
	p->ops->unwatch(p->lower, &c->watch);
	ut_close_fd(&c->watch.fd);
	p->n_strangers -= !c->s;
	if (c->s)
		c->s->shm->rendezvous = NULL;
	c->s = NULL;
	ut_list_del(&c->node);
	ut_list_add_tail(&p->dead_rendezvous, &c->node);
}

void local_rdv_belongs(struct local_rendezvous *c, struct local_stream *s)
{
	c->place->n_strangers--;
	c->s = s;
	ut_list_del(&c->node);
	ut_list_add_tail(&c->place->untimed, &c->node);
}

struct local_rendezvous *local_rdv_expired(struct local_place *p)
{
	struct local_rendezvous *c = ut_list_first(&p->timed, struct local_rendezvous, node);

	return c && c->until <= p->now ? c : NULL;
}

uint64_t local_rdv_deadline(struct local_place *p)
{
	struct local_rendezvous *c = ut_list_first(&p->timed, struct local_rendezvous, node);

	return c ? c->until : UT_NEVER;
}

/* --- listeners --- */

static bool same_end(const struct link_end *a, const struct link_end *b)
{
	return a->port == b->port && !memcmp(a->addr, b->addr, 16);
}

static struct local_rdv_listener *find(struct local_place *p, const struct link_end *e)
{
	struct local_rdv_listener *d;

	ut_list_each(d, &p->rdv_listeners, node)
		if (same_end(&d->local, e))
			return d;
	return NULL;
}

static int ready(struct link_watch *w, uint64_t now)
{
	struct local_rdv_listener *d = ut_container(w, struct local_rdv_listener, watch);
	struct local_place *p = d->place;
	int done = 0;

	for (int i = 0; i < ACCEPTS && w->fd >= 0; i++) {
		int fd = (int)UT_SYS(SYS_accept4, w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct local_rendezvous *c = NULL;

		if (fd < 0)
			break;
		if (p->n_strangers < STRANGERS_MOST && is_one_of_us(p, fd))
			c = local_rdv_new(p, NULL, fd);
		if (c)
			local_agree_ready(&c->watch, now);
		else
			ut_close_fd(&fd);
		done++;
	}
	return done;
}

static struct local_rdv_listener *open_at(struct local_place *p, const struct link_end *e)
{
	struct local_rdv_listener *d = ut_zalloc(sizeof(*d));
	struct sockaddr_un sun;
	socklen_t n = name_of(e, &sun);
	int fd;

	if (!d)
		return NULL;
	fd = socket_new();
	*d = (struct local_rdv_listener){ .watch = { .fd = fd, .ready = ready }, .place = p, .local = *e };
	if (fd >= 0 && UT_SYS(SYS_bind, fd, &sun, n) == 0 &&
	    UT_SYS(SYS_listen, fd, SOMAXCONN) == 0 && p->ops->watch(p->lower, &d->watch) == 0) {
		ut_list_add_tail(&p->rdv_listeners, &d->node);
		return d;
	}
	ut_close_fd(&fd);
	free(d);
	return NULL;
}

/* An event of this round may still name the listener. */
static void close_one(struct local_rdv_listener *d)
{
	struct local_place *p = d->place;

	p->ops->unwatch(p->lower, &d->watch);
	ut_close_fd(&d->watch.fd);
	ut_list_del(&d->node);
	ut_list_add_tail(&p->dead_rdv_listeners, &d->node);
}

/* A port that listens will offer more streams. */
static bool has_port(struct local_place *p, const struct link_end *e)
{
	struct local_listener *l;

	ut_list_each(l, &p->listeners, node)
		if (l->listening && l->base.local.port == e->port &&
		    (ut_ip_is_any(l->base.local.addr) || same_end(&l->base.local, e)))
			return true;
	return false;
}

void local_rdv_close_unused(struct local_place *p)
{
	struct local_rdv_listener *d, *next;

	ut_list_each_safe(d, next, &p->rdv_listeners, node)
		if (!d->offers && !has_port(p, &d->local))
			close_one(d);
}

bool local_rdv_offer(struct local_stream *s)
{
	struct local_place *p = local_place_of(s);
	struct local_rdv_listener *d = find(p, &s->base.local);

	if (!d)
		d = open_at(p, &s->base.local);
	if (!d)
		return false;
	d->offers++;
	ut_list_add_tail(&p->offers, &s->offer_node);
	return true;
}

void local_rdv_offer_over(struct local_stream *s)
{
	struct local_rdv_listener *d = find(local_place_of(s), &s->base.local);

	ut_list_del(&s->offer_node);
	if (d && --d->offers == 0 && !has_port(d->place, &d->local))
		close_one(d);
}

struct local_stream *local_rdv_offered(struct local_place *p, const struct local_hello *h)
{
	struct local_stream *s;
	struct link_end from = { .port = h->from_port }, to = { .port = h->to_port };

	memcpy(from.addr, h->from, 16);
	memcpy(to.addr, h->to, 16);
	/* The newest streams are asked for first. */
	for (struct ut_list *n = p->offers.prev; n != &p->offers; n = n->prev) {
		s = ut_container(n, struct local_stream, offer_node);
		if (same_end(&s->base.remote, &from) && same_end(&s->base.local, &to))
			return s;
	}
	return NULL;
}

/* --- the place --- */

void local_rdv_reap(struct local_place *p)
{
	struct ut_list *n;

	while ((n = ut_list_pop(&p->dead_rendezvous)))
		free(ut_container(n, struct local_rendezvous, node));
	while ((n = ut_list_pop(&p->dead_rdv_listeners)))
		free(ut_container(n, struct local_rdv_listener, node));
}

/* The place's streams are freed already. */
void local_rdv_fini(struct local_place *p)
{
	struct local_rendezvous *c;
	struct local_rdv_listener *d;

	while ((c = ut_list_first(&p->timed, struct local_rendezvous, node)))
		local_rdv_over(c);
	while ((d = ut_list_first(&p->rdv_listeners, struct local_rdv_listener, node)))
		close_one(d);
}

void local_rdv_forget(struct local_place *p)
{
	struct ut_list *all[] = { &p->timed, &p->untimed };
	struct local_rendezvous *c;
	struct local_rdv_listener *d;

	for (int i = 0; i < 2; i++)
		ut_list_each(c, all[i], node)
			ut_close_fd(&c->watch.fd);
	ut_list_each(d, &p->rdv_listeners, node)
		ut_close_fd(&d->watch.fd);
}

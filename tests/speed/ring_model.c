/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ring and its sleeping reader, in every interleaving (explore.h): the sources of host/shm
 * themselves, and the link's own recv(), over a real epoll set and a real wake.
 *
 *	one sleeper	a writer; a reader that blocks as wait() does
 *	the thread	a reader that goes to sleep right after it found something
 *	two drivers	an application takes over from that thread and leaves again
 *
 * by datagrams, by messages that are looked at in place meanwhile, by quiet ones, and on a ring
 * that is full and wraps.
 *
 * Each record arrives once and in order, and no reader sleeps while one waits. Without fences, or
 * without a second look after the call, the search must find how a wake-up is lost.
 */
#include "model_atomics.h"

#define ut_barrier_host mc_fence_all
#include "host/shm/channel.h"

#include "support/shims/shm_ring.c"
#undef MASK
struct shm_channel;
void look_again(struct shm_channel *c);
#define shm_channel_settle look_again /* so that a model can leave it away */
#include "support/shims/shm_channel.c"
#undef shm_channel_settle
#include "host/shm/inlet.h"
#include "link/local/datagrams.h"
#include "link/udp/state.h"

#include "support/check.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>

/* Time stands still, or no state could be come back to. */
int __wrap_clock_gettime(clockid_t which, struct timespec *ret);
int __wrap_clock_gettime(clockid_t which, struct timespec *ret)
{
	(void)which;
	*ret = (struct timespec){ .tv_nsec = 1 };
	return 0;
}

/* Linked in place of syscall(): a system call of the link is a step of its own. */
long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, ...);
long __wrap_syscall(long nr, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	mc_point("system call");
	return mc_note(__real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]));
}

#define MOST 4 /* records */

static struct {
	struct link *l;
	struct udp_link *u;
	struct shm_chan *ch;
	struct shm_peer_rx rx;
	struct shm_peer_tx tx;
	struct shm_chan writer; /* counts only */
	struct shm_ring *ring;
	struct shm_consumer *consumer;
	/* the scenario */
	uint32_t bytes;
	unsigned records, before; /* so many are there at the beginning */
	bool message, forgets;
	bool inlets; /* the reader looks into the rings first, without poll() */
	bool quiet, mute; /* a sleeping reader is woken once for all, or never */
	bool polls;       /* the reader says that it polls, and executes the fences of the writer, */
	bool starts_polling; /* from the beginning */
	uint64_t start;
	/* the events so far */
	unsigned got;
	bool locked, watched;
} w;

void shm_channel_settle(struct shm_channel *c);
void shm_channel_settle(struct shm_channel *c)
{
	if (!w.forgets)
		look_again(c);
}

static bool readable(void)
{
	struct pollfd p = { .fd = w.u->host.epfd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static bool has_moved(void)
{
	return w.consumer->head != w.tx.ring.head;
}

/* --- the writer --- */

static void write_one(unsigned i)
{
	struct shm_record *at;
	enum shm_put why;
	uint64_t skip;

	while (!(at = shm_reserve(&w.tx.ring, w.bytes, &skip, &why))) {
		mc_must(why == SHM_FULL, "the reader is gone");
		if (mc_inside())
			mc_until(has_moved, "waits for room");
	}
	*at = (struct shm_record){ .bytes = w.bytes, .seg = w.message ? 0 : (uint16_t)w.bytes };
	if (w.message)
		at->header[0] = (uint8_t)i;
	else
		at->sport = (uint16_t)i;
	if (w.quiet && mc_inside()) {
		shm_finish(&w.tx.ring, at, skip);
		shm_no_notify(&w.tx.ring);
	} else {
		shm_peer_result(&w.writer, &w.tx, shm_commit(&w.tx.ring, at, skip));
	}
}

static void writer(void)
{
	for (unsigned i = w.before; i < w.records; i++)
		write_one(i);
	if (w.quiet && !w.mute)
		shm_peer_result(&w.writer, &w.tx, shm_publish(&w.tx.ring));
}

/* --- the reader --- */

static void took(unsigned what)
{
	mc_must(what == w.got, "lost, doubled or out of order");
	w.got++;
}

/* As the fast path of proto/ib, which makes no round. */
static int read_inlets(void)
{
	struct shm_channel *c = &w.ch->base;
	struct shm_inlets in;
	const uint8_t *at;
	uint32_t bytes;
	int n = 0;

	if (!shm_inlets_are_open(c) || !c->ops->inlets(c, &in))
		return 0;
	for (unsigned i = shm_inlets_next(&in, 0); i < in.n; i = shm_inlets_next(&in, i + 1)) {
		while (shm_waiting(in.v[i].ring) && (at = shm_inlet_take(&in.v[i], &bytes))) {
			took(at[0]);
			n++;
		}
		shm_inlet_release(&in.v[i]);
	}
	shm_inlets_end(c, n);
	return n;
}

/* As device/kind/transport.c: messages, then datagrams. */
static int round_of_progress(void)
{
	struct shm_channel *c = &w.ch->base;
	struct shm_message m[2];
	struct link_rx v[2];
	int n = w.inlets ? read_inlets() : 0, k;

	if (n)
		return n;
	n = c->ops->poll(c, m, 2);
	mc_must(!n || w.message, "another kind of record");
	for (int i = 0; i < n; i++)
		took(m[i].data[0]);
	c->ops->release(c);
	w.l->local_news = n > 0;
	k = w.l->ops->recv(w.l, v, 2);
	mc_must(!k || !w.message, "another kind of record");
	for (int i = 0; i < k; i++)
		took(v[i].sport);
	return n + k;
}

/* As device/progress/wait.c: it says that it sleeps, makes a round of progress, and blocks. */
static void sleeper(void)
{
	w.l->ops->sleep(w.l, true, false);
	while (w.got < w.records)
		if (!round_of_progress() && w.got < w.records)
			mc_until(readable, "sleeps");
}

/* --- two drivers, as in device/progress/driver.c --- */

static bool is_free(void)
{
	return !w.locked;
}

static void locked_round(void)
{
	mc_until(is_free, "takes the lock");
	w.locked = true;
	round_of_progress();
	w.locked = false;
}

static bool must_look(void)
{
	return w.got == w.records || (w.watched && readable());
}

static void background(void)
{
	for (;;) {
		mc_until(must_look, "sleeps, if it is not reported");
		if (w.got == w.records)
			return;
		locked_round();
	}
}

static void application(void)
{
	mc_point("is not reported to the thread any more");
	w.watched = false;
	w.l->ops->sleep(w.l, false, false);
	locked_round();
	mc_point("is reported to the thread again");
	w.watched = true;
	w.l->ops->sleep(w.l, true, true);
}

/* --- the world --- */

static void reset(void)
{
	struct shm_chan *n = w.ch;
	struct epoll_event ev[8];
	uint64_t drop;

	while (read(n->wake.fd, &drop, sizeof(drop)) > 0)
		;
	while (epoll_wait(w.u->host.epfd, ev, 8, 0) > 0)
		;
	w.got = 0;
	w.locked = false;
	w.watched = true;
	n->base.warm = 0;
	n->base.held = false;
	n->page->on = w.polls && w.starts_polling ? SHM_POLLS : SHM_ASLEEP;
	n->awake = w.polls ? SHM_CHAN_POLLS - 1 : 0; /* it says so after its first batch */
	w.u->calls = w.u->empties = w.u->rx_slot = 0;
	w.u->looked = 0;
	w.u->sleeping = true;
	w.u->carry = (struct udp_carry){ 0 };
	w.ring->tail = w.consumer->head = w.start;
	w.rx.ring = (struct shm_rx){ .ring = w.ring, .consumer = w.consumer, .head = w.start,
				     .seen = w.start };
	w.tx.ring = (struct shm_tx){ .ring = w.ring, .consumer = w.consumer, .page = n->page,
				     .tail = w.start, .head = w.start, .published = w.start, .fenced_by_peer = w.polls };
	w.tx.since = 0;
	for (unsigned i = 0; i < w.before; i++)
		write_one(i);
	while (epoll_wait(w.u->host.epfd, ev, 8, 0) > 0)
		; /* whoever begins looks first */
}

/* The state that two drivers share, and the kernel's. */
static uint64_t state(void)
{
	return (uint64_t)w.got << 40 | (uint64_t)w.locked << 39 | (uint64_t)w.watched << 38 |
	       (uint64_t)readable() << 37 | (uint64_t)w.rx.ring.held << 36 |
	       (uint64_t)w.ch->base.held << 35 | (uint64_t)(w.ch->base.warm > 0) << 34 |
	       (w.rx.ring.seen - w.start) / SHM_LINE << 16 |
	       (w.rx.ring.head - w.start) / SHM_LINE;
}

static bool all_came(void)
{
	return w.got == w.records;
}

static uint16_t free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, n) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&a, &n) == 0 && close(fd) == 0);
	return ntohs(a.sin_port);
}

static void make_world(void)
{
	struct shm_channel *c;

	ut_barrier_has_host(); /* asked once, outside the search: later answers make no system call */
	CHECK(udp_open(free_port(), &w.l) == 0);
	w.u = udp_of(w.l);
	CHECK(shm_channel_open(&w.u->host, &c) == 0 && local_datagrams_open(w.l, c, &w.l) == 0);
	shm_channel_messages(c, false);
	w.ch = shm_chan_of(c);
	w.ring = aligned_alloc(4096, SHM_RING_SEG + 4096 - SHM_RING_SEG % 4096);
	w.consumer = aligned_alloc(SHM_LINE, sizeof(*w.consumer));
	CHECK(w.ring && w.consumer);
	memset(w.consumer, 0, sizeof(*w.consumer));
	shm_ring_init(w.ring);
	ut_list_add_tail(&w.ch->rx, &w.rx.node);
	w.tx.wake.fd = w.ch->wake.fd;
	mc_watch(&w.ring->tail, sizeof(w.ring->tail), "tail");
	mc_watch(&w.consumer->head, sizeof(w.consumer->head), "head");
	mc_watch(&w.ch->page->on, sizeof(w.ch->page->on), "page");
}

static const struct mc_model one = {
	"one sleeper", 2, { writer, sleeper }, reset, state, all_came
};
static const struct mc_model thread = {
	"the thread", 2, { writer, background }, reset, state, all_came
};
static const struct mc_model two = {
	"two drivers", 3, { writer, background, application }, reset, state, all_came
};

static void search(const struct mc_model *m, const char *what, bool want)
{
	unsigned long states;
	bool good = mc_explore(m, want, &states);

	printf("# %s, %s: %lu states, %s\n", m->name, what, states,
	       good ? "all end well" : "a way that does not");
	fflush(stdout);
	CHECK(good == want);
}

int main(int argc, char **argv)
{
	bool full = argc > 1;

	make_world();
	w.bytes = 32;
	for (int i = 0; i < 2; i++) {
		w.message = i;
		w.records = full ? 3 : 2;
		search(&one, i ? "messages that are held" : "datagrams", true);
		search(&thread, i ? "messages that are held" : "datagrams", true);
		/* With a second record two drivers had not walked all ways in seven minutes. */
		w.records = 1;
		search(&two, i ? "messages that are held" : "datagrams", true);
	}
	w.inlets = true;
	w.records = full ? 3 : 2;
	search(&one, "messages that are read where they lie", true);
	search(&thread, "messages that are read where they lie", true);
	w.inlets = false;
	w.records = 1;
	w.polls = w.starts_polling = true;
	search(&one, "a reader that has polled", true);
	w.starts_polling = false;
	if (ut_barrier_has_host()) /* or none says so */
		search(&two, "drivers that say so when they poll", true);
	w.polls = false;
	w.quiet = true;
	w.records = 2;
	search(&one, "quiet messages", true);
	search(&thread, "quiet messages", true);
	w.mute = true;
	search(&one, "quiet messages without a notification", false);
	w.quiet = w.mute = false;
	w.bytes = SHM_MESSAGE_MAX;
	w.start = SHM_RING_BYTES - 4 * SHM_LINE;
	w.records = MOST;
	w.before = full ? MOST - 2 : MOST - 1;
	search(&one, "a ring that is full, and wraps", true);
	/* Does it find the records? */
	w.records = 2;
	w.before = 0;
	w.bytes = 32;
	mc_no_fences = true;
	search(&one, "without fences", false);
	w.polls = w.starts_polling = true;
	search(&one, "a reader that has polled, without the fences that it lends", false);
	w.polls = w.starts_polling = false;
	mc_no_fences = false;
	w.forgets = true;
	search(&thread, "without a second look", false);
	return 0;
}

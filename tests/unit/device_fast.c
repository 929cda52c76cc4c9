/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Polls, posts and wake-ups that make no round of progress: when they are allowed, and that a whole round comes
 * in time for what they leave - acknowledgements, timers, sockets. A fake machine counts; no thread
 * and no clock takes part, so every count is exact.
 */
#include "device/adapter.h"
#include "device/process.h"
#include "device/progress/fast.h"
#include "device/progress/round.h"
#include "engine/pending.h"
#include "engine/qp.h"
#include "support/check.h"
#include "util/clock.h"
#include "util/heap.h"

#include <errno.h>
#include <stdlib.h>

static struct dev_adapter *a;
static struct ut_stage stage = UT_STAGE_INIT;

/* The machine's answers, and the calls that reached it. */
static int gives; /* things per fast(), or -EAGAIN */
static bool wants_whole, acks, takes_posts;
static int looks, wholes, flushes, quietly, batches;
static uint64_t deadline;
/* Requests that are executed directly, once an acknowledgement was seen; receive() and fast() see it. */
static bool can_alone, unseen;
static int received, direct;
static uint32_t brings; /* packets per receive() */

static int fast(struct eng_dev *dev, bool *ret_whole)
{
	looks++;
	*ret_whole = wants_whole;
	unseen &= gives < 0;
	return gives;
}

static enum proto_posted post(struct eng_qp *qp, unsigned how, uint64_t now)
{
	CHECK(how & PROTO_POST_BY_APP);
	if (can_alone && unseen && (how & PROTO_POST_ACKS))
		return PROTO_AFTER_ACKS;
	if (can_alone && !unseen) {
		direct++;
		return PROTO_EXECUTED;
	}
	if (!(how & PROTO_POST_SEND))
		return PROTO_NEEDS_ROUND;
	batches += !!(how & PROTO_POST_BATCH);
	return takes_posts ? PROTO_SENT : PROTO_NEEDS_ROUND;
}

static int nows, nows_more;

static enum proto_posted post_now(struct eng_qp *qp, const struct ibv_send_wr *wr, unsigned how)
{
	if (can_alone)
		return PROTO_EXECUTED;
	if (!takes_posts || !(how & PROTO_POST_SEND))
		return PROTO_NEEDS_ROUND;
	nows++;
	nows_more += !!(how & PROTO_POST_BATCH);
	return PROTO_SENT;
}

static int receive(struct dev_adapter *ad, uint64_t now, bool cheap)
{
	received++;
	unseen = false;
	eng_dev_held(&ad->dev);
	ad->dev.counters[ENG_C_rx_pkts] += brings;
	return (int)brings;
}

static int transmit(struct eng_dev *dev, uint64_t now, enum eng_acks how)
{
	wholes++;
	if (how == ENG_ACKS_NOW) {
		flushes += acks;
		acks = false;
	}
	return 0;
}

static bool acks_pending(struct eng_dev *dev)
{
	return acks;
}

static void acknowledge(struct eng_dev *dev, enum eng_acks how)
{
	flushes += acks;
	quietly += acks && how == ENG_ACKS_QUIETLY;
	acks = false;
}

static bool is_busy;

static bool busy(struct eng_dev *dev)
{
	return is_busy;
}

#define HELD_UP 20000u

static uint64_t held_up(struct eng_dev *dev)
{
	return HELD_UP;
}

static uint64_t next(struct eng_dev *dev)
{
	return deadline;
}

DEV_OVERLAY(static const struct dev_machine machine, DEV_DEFAULT_MACHINE,
	.fast = fast, .post = post, .post_now = post_now,
	.receive = receive, .transmit = transmit, .acks_pending = acks_pending, .acknowledge = acknowledge,
	.busy = busy, .deadline = next, .held_up = held_up);

static void kick(struct eng_qp *qp)
{
	(void)qp;
}

static const struct eng_dev_ops ops = {
	.progress = dev_progress, .post_fast = dev_post_fast, .post_now = dev_post_now, .poll = dev_poll,
};
static const struct eng_proto_ops proto = { .name = "fake", .qp_kick = kick };

/* An adapter whose application polls, right behind a whole round that left nothing to do. */
static void fresh(void)
{
	a = calloc(1, sizeof(*a));
	CHECK(a && eng_dev_init(&a->dev, "fake", &ops, &proto, 1) == 0);
	a->dev.device = a;
	a->machine = &machine;
	a->dev.process = dev_process_number;
	a->stage = &stage;
	a->wired = true;
	dev_driver_init(&a->driver);
	atomic_store(&a->driver.current, DEV_DRIVER_APP);
	gives = -EAGAIN;
	wants_whole = acks = false;
	takes_posts = true;
	deadline = UT_NEVER;
	brings = 0;
	CHECK(eng_dev_poll(&a->dev, NULL, NULL) == 0);
	gives = looks = wholes = flushes = quietly = received = nows = nows_more = 0;
}

static void drop(void)
{
	eng_dev_fini(&a->dev);
	dev_driver_fini(&a->driver);
	free(a);
}

static bool poll_is_whole(void)
{
	int before = wholes;

	eng_dev_poll(&a->dev, NULL, NULL);
	CHECK(wholes - before <= 1);
	return wholes != before;
}

static int polls_until_whole(void)
{
	int n = 0;

	while (!poll_is_whole())
		CHECK(++n < 1000);
	return n;
}

static void empty_polls_of(void)
{
	fresh();
	atomic_store(&a->yielding.idle_polls, -2 * DEV_ROUND_EVERY); /* no yield is due, which makes a round as well */
	CHECK(polls_until_whole() == DEV_ROUND_EVERY && looks == DEV_ROUND_EVERY);
	drop();
}

/* A program that polls seldom makes a round of the first poll behind each tick: what the last one found out about pages is
 * as old as a tick at most. */
static void tick(void)
{
	fresh();
	CHECK(!poll_is_whole());
	atomic_fetch_add(&a->driver.ticks, 1);
	CHECK(poll_is_whole() && !poll_is_whole());
	drop();
}

static void messages(void)
{
	fresh();
	gives = 16;
	CHECK(polls_until_whole() == DEV_ROUND_EVERY / 16);
	gives = 1;
	CHECK(polls_until_whole() == DEV_ROUND_EVERY);
	wants_whole = true; /* an unusual one */
	CHECK(polls_until_whole() == 0);
	drop();
}

static void acknowledgements(void)
{
	fresh();
	gives = 1;
	acks = true;
	CHECK(!poll_is_whole());
	gives = 0; /* programs look at their other queue before they answer */
	for (int i = 0; i < 4; i++)
		CHECK(!flushes && !poll_is_whole());
	CHECK(flushes == 1 && !a->delayed_ack.penalty); /* by itself, without a round */
	gives = 1;
	acks = true;
	CHECK(!poll_is_whole());
	atomic_fetch_add(&a->driver.ticks, 1); /* the application was elsewhere */
	gives = 0;
	CHECK(poll_is_whole() && a->delayed_ack.penalty);
	CHECK(poll_is_whole()); /* it does not work like that now */
	drop();
}

static bool posts_now(void)
{
	struct eng_qp qp = { 0 };
	struct ibv_send_wr wr = { 0 };
	bool done;

	ut_lock(&a->dev.lock);
	done = dev_post_now(&a->dev, &qp, &wr);
	ut_unlock(&a->dev.lock);
	return done;
}

/* A requester that posts on and on is acknowledged while messages still come. */
static void acknowledgements_on_the_way(void)
{
	fresh();
	gives = 1;
	for (int i = 0; i < 40; i++) {
		acks = true;
		CHECK(!poll_is_whole() && flushes == (i + 1) / 16);
	}
	gives = 16;
	acks = true;
	CHECK(!poll_is_whole() && flushes == 3);
	gives = 1; /* where each is answered, the answer carries it */
	for (int i = 0; i < 30; i++) {
		acks = true;
		CHECK(!poll_is_whole());
		acks = false;
		CHECK(posts_now() && flushes == 3);
	}
	drop();
}

/* Where nothing but messages of the host has come for long, rounds are seldom. */
static void local_alone(void)
{
	fresh();
	a->rounds.local = DEV_ROUNDS_LOCAL;
	atomic_store(&a->yielding.idle_polls, -4 * DEV_ROUND_SELDOM);
	gives = 0;
	while (!poll_is_whole())
		;
	CHECK(looks == DEV_ROUND_EVERY);
	looks = 0;
	while (!poll_is_whole())
		CHECK(looks <= DEV_ROUND_SELDOM);
	CHECK(looks == DEV_ROUND_SELDOM);
	a->rounds.local = 0; /* the round has found something else */
	poll_is_whole();
	atomic_fetch_add(&a->driver.ticks, 1);
	CHECK(poll_is_whole() && polls_until_whole() == DEV_ROUND_EVERY);
	drop();
}

/* The tick judges a program by its last poll, so that is known also while all polls are fast ones; likewise its last post. */
static void seen_by_the_clock(void)
{
	fresh();
	gives = 0;
	a->driver.last_poll = a->driver.last_round = 0;
	atomic_store(&a->yielding.idle_polls, -DEV_ROUND_EVERY);
	for (int i = 0; i < 64; i++)
		CHECK(!poll_is_whole());
	CHECK(a->driver.last_poll && a->driver.last_round == a->driver.last_poll);
	drop();
	fresh();
	a->driver.last_poll = a->driver.last_round = 0;
	gives = 64;
	CHECK(!poll_is_whole() && a->driver.last_poll);
	drop();
	fresh();
	a->driver.last_poll = a->driver.last_round = 0;
	for (int i = 0; i < 64; i++)
		CHECK(posts_now());
	CHECK(!a->driver.last_poll && a->driver.last_round);
	drop();
}

/* The adapter has nothing for long; then the thread finds something elsewhere. No yield is due, which makes a round as well. */
static void become_idle(void)
{
	for (int i = 0; i < DEV_ROUNDS_IDLE; i++) {
		atomic_store(&a->yielding.idle_polls, -4 * DEV_ROUND_EVERY);
		poll_is_whole();
	}
	dev_turn.idle = 0;
	atomic_store(&a->yielding.idle_polls, -4 * DEV_ROUND_EVERY);
}

/* A poll of an adapter that has had nothing for long, beside one that has: one in DEV_ASIDE_LOOKS is a round. */
static void stands_aside(void)
{
	int n = 0;

	fresh();
	gives = -EAGAIN;
	dev_turn.idle = DEV_ASIDE_POLLS;
	for (int i = 0; i < DEV_ROUNDS_IDLE; i++) {
		atomic_store(&a->yielding.idle_polls, -4 * DEV_ROUND_EVERY);
		CHECK(poll_is_whole());
	}
	CHECK(poll_is_whole());
	dev_turn.idle = 0; /* the thread has found something elsewhere */
	for (int i = 0; i < 4 * DEV_ASIDE_LOOKS; i++) {
		atomic_store(&a->yielding.idle_polls, -4 * DEV_ROUND_EVERY);
		n += poll_is_whole();
	}
	CHECK_MSG(n == 4, "%d rounds", n);
	atomic_fetch_add(&a->driver.ticks, 1);
	CHECK(poll_is_whole() && !poll_is_whole());
	CHECK(posts_now());
	for (int i = 0; i < 8; i++) /* an answer may come */
		CHECK(poll_is_whole());
	become_idle();
	CHECK(!poll_is_whole());
	brings = 1; /* the background thread finds something: from here on each poll is one */
	ut_lock(&a->dev.lock);
	CHECK(dev_run(a, DEV_BY_THREAD) == 1);
	ut_unlock(&a->dev.lock);
	brings = 0;
	dev_turn.idle = 0;
	for (int i = 0; i < 8; i++)
		CHECK(poll_is_whole());
	become_idle();
	brings = 1; /* or a poll does */
	while (!poll_is_whole())
		CHECK(++n < 2 * DEV_ASIDE_LOOKS);
	brings = 0;
	dev_turn.idle = 0;
	for (int i = 0; i < 8; i++)
		CHECK(poll_is_whole());
	drop();
}

static void tick_finds_packets(uint64_t now)
{
	ut_lock(&dev_process_lock);
	ut_lock(&a->driver.lock);
	atomic_store(&a->driver.current, DEV_DRIVER_APP);
	a->driver.ticking = true;
	a->driver.next_tick = now;
	ut_unlock(&a->driver.lock);
	atomic_store(&a->driver.beat, true);
	dev_driver_serve(a, now, false);
	ut_unlock(&dev_process_lock);
}

/* Polls at that time. Returns true if some of them make the program the driver. */
static bool is_trusted(uint64_t now)
{
	ut_lock(&a->dev.lock);
	a->driver.polls = 0;
	dev_driver_polled(a, now);
	a->driver.last_poll = a->driver.last_round = 0;
	ut_unlock(&a->dev.lock);
	return a->driver.polls_to_drive == DEV_POLLS_TO_DRIVE;
}

/* A program that leaves packets unread is not trusted for a time, which doubles. */
static void wary(void)
{
	uint64_t now = UT_S, ns = 50 * UT_MS;

	fresh();
	a->driver.last_poll = a->driver.last_round = 0;
	brings = 1;
	for (int round = 0; round < 12; round++, now += ns, ns = ns * 2 < 10 * UT_S ? ns * 2 : 10 * UT_S) {
		for (int i = 0; i < 3; i++) {
			CHECK(is_trusted(now));
			tick_finds_packets(now);
		}
		CHECK(!is_trusted(now) && !is_trusted(now + ns - 1) && is_trusted(now + ns));
	}
	brings = 0; /* it polls for a second */
	for (int i = 0; i < 1024; i++)
		tick_finds_packets(now);
	brings = 1;
	for (int i = 0; i < 3; i++)
		tick_finds_packets(now);
	CHECK(!is_trusted(now) && !is_trusted(now + 50 * UT_MS - 1) && is_trusted(now + 50 * UT_MS));
	drop();
}

static void posted_now(void)
{
	int n = 0;

	fresh();
	while (posts_now())
		n++;
	CHECK(n == DEV_ROUND_EVERY && nows == n && nows_more == n - 17 && !wholes);
	CHECK(poll_is_whole());
	gives = 0;
	CHECK(!poll_is_whole() && posts_now() && nows_more == n - 17);
	can_alone = true; /* no batch, and no part of the messages until the next round */
	for (int i = 0; i < DEV_ROUND_EVERY; i++)
		CHECK(posts_now());
	can_alone = false;
	CHECK(posts_now() && nows_more == n - 17);
	takes_posts = false;
	CHECK(!posts_now());
	takes_posts = true;
	a->coalescing.since = 1;
	CHECK(!posts_now()); /* it would overtake what waits */
	a->coalescing.since = 0;
	atomic_store(&a->driver.waiters, 1); /* it sleeps on its own descriptor, and does not lead */
	CHECK(posts_now());
	atomic_store(&a->driver.waiters, 0);
	atomic_fetch_add(&a->driver.ticks, 1);
	CHECK(!posts_now() && poll_is_whole() && posts_now());
	atomic_store(&a->driver.current, DEV_DRIVER_THREAD);
	CHECK(!posts_now());
	can_alone = true;
	CHECK(posts_now());
	can_alone = false;
	drop();
}

/* With any driver, and after a look at the received packets if only that is missing. */
static void done_alone(void)
{
	struct eng_qp qp = { 0 };

	fresh();
	ut_list_init(&qp.pending);
	can_alone = true;
	direct = received = 0;
	atomic_store(&a->driver.current, DEV_DRIVER_THREAD);
	eng_dev_kick(&a->dev, &qp);
	CHECK(direct == 1 && !wholes && !looks && !received);
	unseen = true;
	eng_dev_kick(&a->dev, &qp);
	CHECK(direct == 2 && looks == 1 && !received && !wholes);
	unseen = true;
	gives = -EAGAIN; /* something else came, too */
	eng_dev_kick(&a->dev, &qp);
	CHECK(direct == 3 && looks == 2 && received == 1 && wholes == 1);
	unseen = acks = true;
	gives = 1; /* a message that wants an answer */
	eng_dev_kick(&a->dev, &qp);
	CHECK(direct == 4 && looks == 3 && wholes == 2);
	can_alone = false;
	eng_dev_kick(&a->dev, &qp);
	CHECK(direct == 4 && looks == 3 && wholes == 3); /* a round for it */
	drop();
}

static void not_allowed(void)
{
	struct eng_qp qp = { 0 };

	fresh();
	atomic_store(&a->driver.current, DEV_DRIVER_THREAD);
	CHECK(poll_is_whole());
	atomic_store(&a->driver.current, DEV_DRIVER_APP);
	CHECK(!poll_is_whole());
	atomic_store(&a->driver.waiters, 1);
	CHECK(!poll_is_whole());
	atomic_store(&a->driver.waiters, 0);
	gives = -EAGAIN; /* something else than messages */
	CHECK(poll_is_whole());
	gives = 0;
	CHECK(!poll_is_whole());
	ut_list_init(&qp.pending);
	eng_dev_mark(&a->dev, &qp);
	CHECK(poll_is_whole() && !poll_is_whole());
	deadline = 1; /* long past */
	CHECK(polls_until_whole() <= DEV_ROUND_EVERY && poll_is_whole() && poll_is_whole());
	deadline = UT_NEVER;
	CHECK(poll_is_whole() && !poll_is_whole());
	drop();
}

static void posts(void)
{
	struct eng_qp qp = { 0 };
	int n = 0;

	fresh();
	ut_list_init(&qp.pending);
	while (!wholes) {
		eng_dev_kick(&a->dev, &qp);
		n++;
	}
	CHECK(n == DEV_ROUND_EVERY + 1 && batches == DEV_ROUND_EVERY - 17);
	batches = 0;
	gives = 0;
	CHECK(!poll_is_whole()); /* after which a thread waits for the result of a post */
	eng_dev_kick(&a->dev, &qp);
	CHECK(!batches);
	wholes = 0;
	takes_posts = false;
	wholes = 0;
	eng_dev_kick(&a->dev, &qp);
	CHECK(wholes == 1 && ut_list_empty(&qp.pending));
	drop();
}

static int wake(enum dev_look look)
{
	int done;

	ut_lock(&a->dev.lock);
	done = dev_run_look(a, DEV_BY_WAITER, look);
	eng_dev_unlock(&a->dev);
	return done;
}

/* A leader of waits: the round before it sleeps is whole, that behind it takes what it was woken for. */
static void woken(void)
{
	fresh();
	atomic_store(&a->driver.current, DEV_DRIVER_WAITER);
	atomic_store(&a->driver.waiters, 1);
	gives = 1;
	CHECK(wake(DEV_LOOK_CHEAP) == 0 && wholes == 1 && !looks);
	acks = true;
	stage.pages_checked_at = 1; /* it has slept for long */
	CHECK(wake(DEV_LOOK_WOKEN) == 1 && wholes == 1 && looks == 1 && flushes == 1 && quietly == 1);
	CHECK(stage.pages_checked_at > 1);
	gives = 0; /* something else */
	CHECK(wake(DEV_LOOK_WOKEN) == 0 && wholes == 2 && received == 2);
	gives = -EAGAIN;
	CHECK(wake(DEV_LOOK_WOKEN) == 0 && wholes == 3 && received == 3);
	gives = 1;
	wants_whole = true; /* an unusual one, which is not taken in twice */
	CHECK(wake(DEV_LOOK_WOKEN) == 1 && wholes == 4 && received == 3);
	wants_whole = false;
	atomic_store(&a->driver.waiters, 2); /* the others' events are to be raised, too */
	CHECK(wake(DEV_LOOK_WOKEN) == 0 && wholes == 5);
	atomic_store(&a->driver.waiters, 1);
	CHECK(wake(DEV_LOOK_WOKEN) == 1 && wholes == 5);
	deadline = 1; /* long past: found by this round */
	CHECK(wake(DEV_LOOK) == 0 && wholes == 6 && wake(DEV_LOOK_WOKEN) == 0 && wholes == 7);
	drop();
}

/* The partner was there, right behind a yield: that is on one processor. */
static void backoff(void)
{
	fresh();
	for (int i = 0; i < 10; i++) {
		atomic_store(&a->yielding.idle_polls, 1);
		atomic_store(&a->yielding.met, true);
		dev_polled(&a->dev, 1, NULL);
		dev_polled(&a->dev, 1, NULL); /* what came together with it */
	}
	CHECK(atomic_load(&a->yielding.backoff) == 5);
	gives = 0;
	for (int i = 0; i < 5; i++)
		poll_is_whole();
	CHECK(atomic_load(&a->yielding.idle_polls) <= DEV_POLL_WEIGHT); /* it has given way: five polls with a round count as much */
	for (int i = 0; i < 10; i++) {
		atomic_store(&a->yielding.idle_polls, 1);
		atomic_store(&a->yielding.met, false);
		dev_polled(&a->dev, 1, NULL);
	}
	CHECK(atomic_load(&a->yielding.backoff) == 0);
	drop();
}

/* Work that a full ring holds back: the thread sleeps meanwhile, a program that polls tries again at once. */
static void a_full_ring(void)
{
	uint64_t before = ut_now();

	fresh();
	is_busy = true;
	ut_lock(&a->dev.lock);
	dev_run(a, DEV_BY_THREAD);
	CHECK(atomic_load(&a->driver.deadline) >= before + HELD_UP && !a->rounds.quiescent);
	dev_run(a, DEV_BY_APP);
	CHECK(atomic_load(&a->driver.deadline) <= ut_now() && !a->rounds.quiescent);
	ut_unlock(&a->dev.lock);
	is_busy = false;
	drop();
}

int main(void)
{
	stage.pages_checked_at = 1;
	empty_polls_of();
	tick();
	messages();
	acknowledgements();
	acknowledgements_on_the_way();
	local_alone();
	seen_by_the_clock();
	stands_aside();
	wary();
	posted_now();
	not_allowed();
	done_alone();
	posts();
	woken();
	backoff();
	a_full_ring();
	return 0;
}

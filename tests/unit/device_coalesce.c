/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Posted requests that wait for the application's next call (device/progress/deferred.h): when they may, how long, and what a
 * wait that gained nothing costs. A fake machine says whether it can wait; the times are the test's own.
 */
#include "device/adapter.h"
#include "device/process.h"
#include "device/progress/deferred.h"
#include "engine/pending.h"
#include "engine/qp.h"
#include "support/check.h"

#include <stdlib.h>

static struct dev_adapter *a;
static struct ut_stage stage = UT_STAGE_INIT;

/* The machine's answers, and what it was asked. */
static bool can, more, in_batch;

static bool may_coalesce(struct eng_dev *dev, bool batch)
{
	in_batch = batch;
	return can;
}

static bool coalesce_more(struct eng_qp *qp)
{
	return more;
}

DEV_OVERLAY(static const struct dev_machine machine, DEV_DEFAULT_MACHINE,
	.may_coalesce = may_coalesce, .coalesce_more = coalesce_more);

static const struct eng_dev_ops ops = { .progress = NULL };
static const struct eng_proto_ops proto = { .name = "fake" };

static void fresh(void)
{
	a = calloc(1, sizeof(*a));
	CHECK(a && eng_dev_init(&a->dev, "fake", &ops, &proto, 1) == 0);
	a->dev.device = a;
	a->machine = &machine;
	a->dev.process = dev_process_number;
	a->stage = &stage;
	dev_driver_init(&a->driver);
	atomic_store(&a->driver.current, DEV_DRIVER_APP);
	can = more = true;
}

static void drop(void)
{
	eng_dev_fini(&a->dev);
	dev_driver_fini(&a->driver);
	free(a);
}

static bool coalesce(uint64_t now, bool for_posts)
{
	bool waits;

	ut_lock(&a->dev.lock);
	waits = dev_coalesce(a, now, for_posts);
	ut_unlock(&a->dev.lock);
	CHECK(waits == (a->coalescing.since != 0));
	return waits;
}

static bool join(void)
{
	struct eng_qp qp = { 0 };
	bool joins;

	ut_lock(&a->dev.lock);
	joins = dev_coalesce_join(a, &qp);
	ut_unlock(&a->dev.lock);
	return joins;
}

/* Posted requests alone wait, from the first post on, and the next round that is not for posts takes it along. */
static void waits(void)
{
	fresh();
	CHECK(!coalesce(1000, false) && !join());
	CHECK(coalesce(2000, true) && a->coalescing.since == 2000);
	CHECK(coalesce(3000, true) && a->coalescing.since == 2000 && join());
	CHECK(a->coalescing.posts == 1);
	CHECK(!coalesce(4000, false) && !join() && !a->coalescing.penalty);
	can = false; /* nothing that would take it along is on its way */
	CHECK(!coalesce(5000, true));
	drop();
}

/* One that the tick of the background thread, another thread that sleeps, other work or the machine forbids needs a round. */
static void joins(void)
{
	struct eng_qp qp = { 0 }, *popped;

	fresh();
	CHECK(coalesce(1000, true) && join());
	more = false; /* its train is full */
	CHECK(!join());
	more = true;
	atomic_fetch_add(&a->driver.ticks, 1);
	CHECK(!join());
	CHECK(!coalesce(2000, false) && coalesce(3000, true) && join());
	atomic_store(&a->driver.waiters, 1);
	CHECK(!join() && !coalesce(4000, true));
	atomic_store(&a->driver.waiters, 0);
	CHECK(coalesce(5000, true) && join());
	ut_list_init(&qp.pending);
	eng_dev_mark(&a->dev, &qp);
	CHECK(!join());
	ut_lock(&a->dev.lock);
	popped = eng_dev_pop_pending(&a->dev);
	ut_unlock(&a->dev.lock);
	CHECK(popped == &qp && join());
	drop();
}

/* The application's next call came late: so many posts leave at once, one by one. */
static void penalty(void)
{
	uint64_t late = 1000 + DEV_COALESCE_NS + 1;

	fresh();
	CHECK(coalesce(1000, true));
	CHECK(coalesce(1000 + DEV_COALESCE_NS, true)); /* just in time */
	CHECK(!coalesce(late, false) && a->coalescing.penalty == DEV_COALESCE_PENALTY);
	for (unsigned i = 1; i < DEV_COALESCE_PENALTY; i++) {
		CHECK(!coalesce(late, true) && a->coalescing.penalty == DEV_COALESCE_PENALTY - i);
		CHECK(!coalesce(late, false)); /* a poll pays nothing */
	}
	CHECK(coalesce(late, true) && !a->coalescing.penalty);
	/* So does a post that came late. */
	CHECK(!coalesce(late + DEV_COALESCE_NS + 1, true) && a->coalescing.penalty == DEV_COALESCE_PENALTY);
	drop();
}

/* A program that posts many before one poll: its posts wait for the batch, however long that takes. */
static void batches(void)
{
	fresh();
	for (int i = 0; i <= DEV_POSTS_BATCH; i++) {
		CHECK(!dev_posts_in_batch(&a->coalescing) && coalesce(1000, true) && !in_batch);
		dev_posts_count(&a->coalescing, &a->driver);
	}
	CHECK(dev_posts_in_batch(&a->coalescing) && atomic_load(&a->driver.beat));
	CHECK(coalesce(1000 + 2 * DEV_COALESCE_NS, true) && in_batch && !a->coalescing.penalty);
	/* The poll that ends it is late as any other. */
	dev_posts_end(&a->coalescing);
	CHECK(!dev_posts_in_batch(&a->coalescing) && a->coalescing.batch);
	CHECK(!coalesce(1000 + 2 * DEV_COALESCE_NS, false) && a->coalescing.penalty);
	/* The posts behind that poll count as a batch from the first one on, until fewer than that come before a poll. */
	a->coalescing.penalty = 0;
	CHECK(coalesce(200000, true) && in_batch);
	dev_posts_count(&a->coalescing, &a->driver);
	dev_posts_end(&a->coalescing);
	CHECK(!coalesce(200000, false) && coalesce(200000, true) && !in_batch);
	drop();
}

int main(void)
{
	waits();
	joins();
	penalty();
	batches();
	return 0;
}

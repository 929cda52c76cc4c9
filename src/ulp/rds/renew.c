/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/renew.h"

#include "ulp/clock.h"
#include "ulp/rds/say.h"
#include "ulp/rds/standby.h"

#include <string.h>
#include <sys/epoll.h>

#define LEAST_MS 1000                   /* between two of them */

static struct {
	struct rds_node *node;
	struct rds_watch watch;         /* the end of the standby */
	struct rds_timer timer;
	int64_t not_before;
	bool has_ended;                 /* the standby */
	bool has_said;
} the;

/* There is a standby, or its end is seen at once. Without memory for the watch it is tried again. */
static void watch(void)
{
	int fd = rds_standby_fd();

	the.watch.fd = fd;
	if (fd < 0 || rds_watch_add(&the.node->loop, &the.watch))
		rds_timer_set(&the.node->loop, &the.timer, LEAST_MS);
}

static void say(int r)
{
	if (r && !the.has_said)
		rds_say("RDS carrier: no standby can be started (%s): if the carrier is killed, too, sockets end and "
			"messages are lost; have more processes allowed (ulimit -u), or end some", strerror(-r));
	the.has_said = r != 0;
}

static void renew(void)
{
	the.not_before = ulp_now_ms() + LEAST_MS;
	the.has_ended = false;
	say(rds_standby_renew(the.node->maps_fd));
}

/* A standby that is there, though it is not watched, must stay: without the socket pair it would take over beside this owner. */
static void due(struct rds_timer *t)
{
	if (the.has_ended || rds_standby_fd() < 0)
		renew();
	watch();
}

static void ended(struct rds_watch *w, uint32_t events)
{
	int64_t left = the.not_before - ulp_now_ms();

	rds_watch_forget(&the.node->loop, w);
	the.has_ended = true;
	rds_timer_set(&the.node->loop, &the.timer, left > 0 ? (int)left : 0);
}

void rds_renew_begin(struct rds_node *n)
{
	the.node = n;
	the.watch = (struct rds_watch){ -1, EPOLLIN, ended };
	rds_timer_init(&the.timer, due);
	watch();
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Records of both ends of a packet: it is given once, whichever ring is read first and however late the other end is. */
#include "sources.h"

#include "observe/ring.h"
#include "support/check.h"
#include "util/clock.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SENDER, RECEIVER, ENDS };

static struct sources *sources;
static struct obs_ring ring[ENDS];
static int session[ENDS];
static unsigned given[ENDS], timed; /* records of each end; of them with the other end's time */

static void began(struct source *src, void *arg)
{
	(*(int *)arg)++;
}

static void open_both(void)
{
	const struct obs_config cfg = { .ring_bytes = OBS_RING_LEAST };
	int begun = 0;

	sources = sources_new(&cfg);
	for (int i = 0; i < ENDS; i++) {
		int fd[2], r = obs_ring_make(&ring[i], OBS_RING_LEAST, i == SENDER ? "sender" : "receiver");

		CHECK(r >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd) == 0);
		CHECK(sources_add(sources, fd[0]) == 0 && obs_session_pass(fd[1], r) == 0);
		close(r);
		session[i] = fd[1];
	}
	sources_serve(sources, began, &begun);
	CHECK(begun == ENDS);
	given[SENDER] = given[RECEIVER] = timed = 0;
}

static void close_both(void)
{
	for (int i = 0; i < ENDS; i++) {
		close(session[i]);
		obs_ring_free(&ring[i]);
	}
	sources_free(sources);
}

static void put(int end, uint32_t packet)
{
	uint8_t bytes[64] = { 0 };
	const struct iovec v = { bytes, sizeof(bytes) };
	const struct obs_record h = { .kind = OBS_DATAGRAM, .way = OBS_WIRE, .out = end == SENDER, .time = obs_ring_now(&ring[end]),
				      .len = sizeof(bytes), .have = sizeof(bytes), .flow = { .src = { 1 }, .dst = { 2 } } };

	memcpy(bytes, &packet, sizeof(packet));
	obs_ring_put(&ring[end], &h, &v, 1);
}

static void count(struct source *src, const struct source_entry *e, void *arg)
{
	given[strcmp(src->adapter, "sender") ? RECEIVER : SENDER]++;
	timed += e->peer != NULL;
}

static void look(bool all)
{
	while (sources_read(sources, 1000))
		;
	sources_give(sources, all, count, NULL);
}

/* Records that wait for the other end, until they are given. */
static void until_given(unsigned n)
{
	uint64_t end = ut_now() + 10 * UT_S;

	while (given[SENDER] + given[RECEIVER] < n && ut_now() < end)
		look(false);
	CHECK(given[SENDER] + given[RECEIVER] == n);
}

static void in_time(void)
{
	open_both();
	for (uint32_t i = 0; i < 100; i++)
		put(i % 2 ? SENDER : RECEIVER, i / 2);
	for (uint32_t i = 0; i < 100; i++)
		put(i % 2 ? RECEIVER : SENDER, i / 2);
	look(true);
	CHECK(given[SENDER] == 100 && given[RECEIVER] == 0 && timed == 100);
	close_both();
}

static void late(void)
{
	for (int first = 0; first < ENDS; first++) {
		open_both();
		for (uint32_t i = 0; i < 100; i++)
			put(first, i);
		until_given(100);
		for (uint32_t i = 0; i < 100; i++)
			put(!first, i);
		look(true);
		CHECK(given[first] == 100 && given[!first] == 0 && timed == 0);
		close_both();
	}
}

/* What one end alone has recorded: lost packets, and those that the network has doubled. */
static void one_end(void)
{
	open_both();
	put(SENDER, 1);
	until_given(1);
	/* The same once more, which arrives; the record that waits comes before the one that was given. */
	put(SENDER, 1);
	put(RECEIVER, 1);
	look(true);
	CHECK(given[SENDER] == 2 && given[RECEIVER] == 0 && timed == 1);
	put(SENDER, 2);
	for (int i = 0; i < 3; i++)
		put(RECEIVER, 2);
	look(true);
	CHECK(given[SENDER] == 3 && given[RECEIVER] == 2 && timed == 2);
	close_both();
}

/* More that were given without the other end than are remembered. */
static void many(void)
{
	enum { N = 200000, PART = 200 };

	open_both();
	for (uint32_t i = 0; i < N; i++) {
		put(SENDER, i);
		if (i % PART == PART - 1)
			look(true);
	}
	CHECK(given[SENDER] == N);
	put(RECEIVER, 0);
	put(RECEIVER, N - 1);
	look(true);
	CHECK(given[RECEIVER] == 1 && timed == 0);
	close_both();
}

int main(void)
{
	in_time();
	late();
	one_end();
	many();
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ring between two processes: every record arrives once, whole and in order, whatever its size;
 * a receiver that sleeps is always woken, with delays injected at each step; and a hostile sender's
 * bytes are refused without a read past any end.
 */
#include "host/shm/ring.h"
#include "host/shm/segment.h"
#include "support/check.h"
#include "util/rng.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORDS 60000u
#define SLEEPY 40000u

struct pair {
	struct shm_ring *ring;
	struct shm_consumer *consumer;
	struct shm_page *page;
	struct shm_tx tx;
	struct shm_rx rx;
	int wake_fd;
	uint64_t seed;
	uint32_t count, largest;
	bool sleepy;
};

static void pair_make(struct pair *p)
{
	int fd[3];

	fd[0] = shm_seg_make("test-ring", SHM_RING_SEG, (void **)&p->ring);
	fd[1] = shm_seg_make("test-consumer", sizeof(*p->consumer), (void **)&p->consumer);
	fd[2] = shm_seg_make("test-page", sizeof(*p->page), (void **)&p->page);
	for (int i = 0; i < 3; i++) {
		CHECK(fd[i] >= 0);
		close(fd[i]);
	}
	shm_ring_init(p->ring);
	CHECK(shm_ring_valid(p->ring, SHM_RING_SEG));
	p->tx = (struct shm_tx){ .ring = p->ring, .consumer = p->consumer, .page = p->page };
	p->rx = (struct shm_rx){ .ring = p->ring, .consumer = p->consumer };
	p->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	CHECK(p->wake_fd >= 0);
}

static void pair_end(struct pair *p)
{
	close(p->wake_fd);
	shm_seg_unmap(p->ring, SHM_RING_SEG);
	shm_seg_unmap(p->consumer, sizeof(*p->consumer));
	shm_seg_unmap(p->page, sizeof(*p->page));
}

/* Now and then the other side gets far ahead, or the processor. */
static void dawdle(struct ut_rng *r)
{
	uint32_t x = ut_rng_below(r, 64);

	if (x == 0)
		sched_yield();
	else if (x < 4)
		for (volatile unsigned i = 0; i < 2000 * x; i++)
			;
}

static uint32_t size_of(struct ut_rng *r, uint32_t largest)
{
	return ut_rng_below(r, 8) ? 1 + ut_rng_below(r, 256) : 1 + ut_rng_below(r, largest);
}

static void *send_all(void *arg)
{
	struct pair *p = arg;
	struct ut_rng sizes = { p->seed }, dice = { p->seed + 1 };
	uint8_t *buf = malloc(SHM_PAYLOAD_MAX);
	uint64_t one = 1;

	CHECK(buf);
	for (uint32_t i = 0; i < p->count; i++) {
		struct shm_record h = { .bytes = size_of(&sizes, p->largest), .seg = 1,
					.sport = (uint16_t)i };
		enum shm_put r;

		memset(buf, (int)(i * 7 + 1), h.bytes);
		while ((r = shm_put(&p->tx, &h, buf)) == SHM_FULL)
			sched_yield();
		CHECK(r == SHM_PUT || r == SHM_PUT_WAKE);
		if (r == SHM_PUT_WAKE)
			CHECK(write(p->wake_fd, &one, sizeof(one)) == sizeof(one));
		dawdle(&dice);
	}
	free(buf);
	return NULL;
}

/* As the thread that drives a link sleeps: it says so, looks once more, and blocks. */
static void sleep_until_woken(struct pair *p, struct ut_rng *dice)
{
	struct pollfd f = { .fd = p->wake_fd, .events = POLLIN };
	uint64_t n;

	atomic_store(&p->page->on, 1);
	dawdle(dice);
	atomic_thread_fence(memory_order_seq_cst);
	if (!shm_waiting(&p->rx)) {
		CHECK_MSG(poll(&f, 1, 20000) == 1, "the writer did not wake the reader; seed %llu",
			  (unsigned long long)p->seed);
		CHECK(read(p->wake_fd, &n, sizeof(n)) == sizeof(n));
	}
	atomic_store(&p->page->on, 0);
}

/* The oldest record: returns 1, *h and its payload in buf, 0 if the ring is empty, or -EPROTO. */
static int get(struct shm_rx *r, struct shm_record *h, void *buf, size_t room)
{
	int got = shm_peek(r, h);

	if (got <= 0)
		return got;
	if (h->bytes > room)
		return -EPROTO;
	shm_take(r, h, buf);
	return 1;
}

static void receive_all(struct pair *p)
{
	struct ut_rng sizes = { p->seed }, dice = { p->seed + 2 };
	uint8_t *buf = malloc(SHM_PAYLOAD_MAX);
	struct shm_record h;

	CHECK(buf);
	for (uint32_t i = 0; i < p->count; i++) {
		uint32_t want = size_of(&sizes, p->largest);
		int r;

		while (!(r = get(&p->rx, &h, buf, SHM_PAYLOAD_MAX))) {
			if (p->sleepy)
				sleep_until_woken(p, &dice);
			else
				sched_yield();
		}
		CHECK_MSG(r == 1 && h.bytes == want && h.sport == (uint16_t)i, "record %u, seed %llu",
			  i, (unsigned long long)p->seed);
		for (uint32_t k = 0; k < want; k++)
			CHECK(buf[k] == (uint8_t)(i * 7 + 1));
		dawdle(&dice);
	}
	CHECK(get(&p->rx, &h, buf, SHM_PAYLOAD_MAX) == 0);
	free(buf);
}

static void stream(uint64_t seed, uint32_t count, uint32_t largest, bool sleepy)
{
	struct pair p = { .seed = seed, .count = count, .largest = largest,
			  .sleepy = sleepy };
	pthread_t t;

	pair_make(&p);
	printf("seed %llu\n", (unsigned long long)p.seed);
	CHECK(pthread_create(&t, NULL, send_all, &p) == 0);
	receive_all(&p);
	CHECK(pthread_join(t, NULL) == 0);
	pair_end(&p);
}

static void full_and_gone(void)
{
	struct pair p = { 0 };
	struct shm_record h = { .bytes = 1000, .seg = 1000 };
	uint8_t buf[1000] = { 0 };
	unsigned n = 0;

	pair_make(&p);
	while (shm_put(&p.tx, &h, buf) != SHM_FULL)
		n++;
	CHECK(n == SHM_RING_BYTES / 1088);
	CHECK(get(&p.rx, &h, buf, sizeof(buf)) == 1 && h.bytes == 1000);
	CHECK(shm_put(&p.tx, &h, buf) == SHM_PUT);
	atomic_store(&p.consumer->gone, 1);
	CHECK(shm_put(&p.tx, &h, buf) == SHM_GONE);
	pair_end(&p);
}

/* Bytes that a hostile writer may store: each is an error, and nothing outside the ring is
 * touched (under ASan). */
static void liars(void)
{
	static const struct {
		uint32_t bytes;
		uint64_t tail;
	} lies[] = {
		{ 100, SHM_RING_BYTES + 64 }, /* more than there is */
		{ 100, 65 },                   /* no whole lines */
		{ SHM_PAYLOAD_MAX + 1, SHM_RING_BYTES },
		{ UINT32_MAX - 1, SHM_RING_BYTES },
		{ 1000, 64 },                  /* longer than the bytes written */
		{ SHM_WRAP, 64 },              /* wraps into nothing */
	};
	uint8_t *buf = malloc(SHM_PAYLOAD_MAX);
	struct shm_record h;

	CHECK(buf);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct pair p = { 0 };

		pair_make(&p);
		h = (struct shm_record){ .bytes = lies[i].bytes, .seg = 1 };
		memcpy(p.ring->data, &h, sizeof(h));
		atomic_store(&p.ring->tail, lies[i].tail);
		CHECK_MSG(get(&p.rx, &h, buf, SHM_PAYLOAD_MAX) == -EPROTO, "lie %zu", i);
		pair_end(&p);
	}
	free(buf);
}

/* A head that lies gives the receiver no room that it has not. */
static void lying_head(void)
{
	struct pair p = { 0 };
	struct shm_record h = { .bytes = 60000, .seg = 60000 };
	uint8_t *buf = calloc(1, 60000);

	CHECK(buf);
	pair_make(&p);
	while (shm_put(&p.tx, &h, buf) != SHM_FULL)
		;
	atomic_store(&p.consumer->head, UINT64_MAX / 2);
	CHECK(shm_put(&p.tx, &h, buf) == SHM_FULL);
	pair_end(&p);
	free(buf);
}

static void put_message(struct pair *p, uint32_t bytes, bool datagram)
{
	enum shm_put why;
	uint64_t skip;
	struct shm_record *at = shm_reserve(&p->tx, bytes, &skip, &why);

	CHECK(at);
	*at = (struct shm_record){ .bytes = bytes, .seg = datagram };
	memset(at->header, 'n', SHM_HEADER_BYTES);
	memset(at + 1, 'd', bytes);
	shm_commit(&p->tx, at, skip);
}

static void drain(struct pair *p)
{
	struct shm_record h;

	while (shm_peek(&p->rx, &h) > 0)
		shm_hold(&p->rx, &h);
	shm_release(&p->rx);
}

/* One small message alone, and nothing else. Interleavings are the model's, tests/speed. */
static void inline_slots(void)
{
	static const struct {
		uint32_t bytes;
		bool datagram, twice, good;
	} v[] = {
		{ 8, false, false, true }, { 0, false, false, true }, { 9, false, false, false },
		{ 8, true, false, false }, { 8, false, true, false },
	};
	struct pair p = { 0 };
	const uint8_t *at;
	uint32_t n;

	pair_make(&p);
	CHECK(!shm_take_inline(&p.rx, &n));
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		put_message(&p, v[i].bytes, v[i].datagram);
		if (v[i].twice)
			put_message(&p, v[i].bytes, v[i].datagram);
		at = shm_take_inline(&p.rx, &n);
		CHECK(!at == !v[i].good);
		if (at)
			CHECK(n == v[i].bytes && at[0] == 'n' && (!n || at[SHM_HEADER_BYTES] == 'd') &&
			      !shm_take_inline(&p.rx, &n) && !shm_waiting(&p.rx));
		drain(&p);
		CHECK(!shm_waiting(&p.rx) && shm_taken(&p.tx) == p.tx.tail);
	}
	put_message(&p, 8, false);
	p.ring->extra = SHM_INLINE_DATA + 1; /* a liar */
	CHECK(!shm_take_inline(&p.rx, &n));
	pair_end(&p);
}

/* Messages in place, of any size and any number; what is no message is left to shm_peek(). */
static void next_ones(void)
{
	static const uint32_t sizes[] = { 0, 8, 16, 17, 64, 4096, SHM_MESSAGE_MAX };
	struct pair p = { 0 };
	uint32_t n = 0;

	pair_make(&p);
	CHECK(!shm_take_next(&p.rx, &n));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		put_message(&p, sizes[i], false);
	put_message(&p, 8, true);
	CHECK(shm_waiting(&p.rx));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const uint8_t *at = shm_take_next(&p.rx, &n);

		CHECK(at && n == sizes[i] && at[0] == 'n' && (!n || (at[SHM_HEADER_BYTES] == 'd' && at[SHM_HEADER_BYTES + n - 1] == 'd')));
		CHECK(shm_taken(&p.tx) == 0); /* held */
	}
	CHECK(shm_waiting(&p.rx) && !shm_take_next(&p.rx, &n)); /* a datagram */
	shm_release(&p.rx);
	CHECK(shm_taken(&p.tx) == p.rx.head && p.rx.head < p.tx.tail);
	pair_end(&p);
}

/* Around the end of the ring the reader comes behind the record that says so by shm_peek() alone. */
static void next_at_the_end(void)
{
	struct pair p = { 0 };
	struct shm_record h;
	uint32_t n, odd = 0;

	pair_make(&p);
	for (int i = 0; i < 3000; i++) {
		put_message(&p, 1000, false);
		CHECK(shm_waiting(&p.rx));
		if (!shm_take_next(&p.rx, &n)) {
			odd++;
			CHECK(shm_peek(&p.rx, &h) == 1 && h.bytes == 1000);
			shm_hold(&p.rx, &h);
		} else {
			CHECK(n == 1000);
		}
		shm_release(&p.rx);
		CHECK(!shm_waiting(&p.rx));
	}
	CHECK(odd >= 2 && odd < 4);
	pair_end(&p);
}

/* Nothing behind the tail, the end of the ring or the longest message is handed out. */
static void next_liars(void)
{
	const struct {
		uint64_t tail, at;
		uint32_t bytes;
	} v[] = {
		{ 64, 0, 17 },                                  /* longer than what is written */
		{ 64, 0, UINT32_MAX - 100 }, { 64, 0, SHM_WRAP }, /* no length at all */
		{ SHM_RING_BYTES, 0, SHM_MESSAGE_MAX + 1 },
		{ 63, 0, 0 }, { SHM_RING_BYTES + 64, 0, 0 },   /* no tail */
		{ SHM_RING_BYTES, SHM_RING_BYTES - 64, 80 },    /* beyond the end */
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct pair p = { 0 };
		uint32_t n;

		pair_make(&p);
		p.rx.head = p.rx.seen = v[i].at;
		((struct shm_record *)(void *)(p.ring->data + v[i].at))->bytes = v[i].bytes;
		atomic_store(&p.ring->tail, v[i].at + v[i].tail);
		CHECK(shm_waiting(&p.rx) && !shm_take_next(&p.rx, &n) && p.rx.head == v[i].at && !p.rx.held);
		pair_end(&p);
	}
}

/* Takes the oldest message, gives its room back, and names the executed messages in the other ring. */
static void take_one(struct pair *p, struct pair *back, bool executed)
{
	uint32_t n;

	CHECK(shm_waiting(&p->rx) && (shm_take_next(&p->rx, &n) || shm_take_odd(&p->rx, &n)));
	if (executed)
		shm_release_executed(&p->rx);
	else
		shm_release(&p->rx);
	shm_say_executed(&back->tx, &p->rx);
}

/* The ring back names the messages that were executed as they came, and no others: what a round took between them begins anew. It leaves the
 * inline slot as it is. */
static void executed(void)
{
	struct pair p = { 0 }, back = { 0 };
	uint64_t end[5], before = 0;
	uint32_t n;

	pair_make(&p);
	pair_make(&back);
	for (unsigned i = 0; i < 5; i++) {
		put_message(&p, 40, false);
		end[i] = p.tx.tail;
	}
	put_message(&back, 8, false);
	for (unsigned i = 0; i < 5; i++)
		CHECK(!shm_is_executed(&back.rx, 0, end[i]));
	take_one(&p, &back, true);
	take_one(&p, &back, true);
	CHECK(!shm_is_executed(&back.rx, 0, 0) && shm_is_executed(&back.rx, 0, end[0]) && shm_is_executed(&back.rx, 0, end[1]) &&
	      !shm_is_executed(&back.rx, 0, end[2]));
	CHECK(shm_take_inline(&back.rx, &n) && n == 8);
	take_one(&p, &back, false);
	CHECK(!shm_is_executed(&back.rx, 0, end[1]) && !shm_is_executed(&back.rx, 0, end[2]));
	take_one(&p, &back, true);
	CHECK(!shm_is_executed(&back.rx, 0, end[2]) && shm_is_executed(&back.rx, 0, end[3]) && !shm_is_executed(&back.rx, 0, end[4]));
	CHECK(!shm_is_executed(&back.rx, back.ring->extra ^ 1, end[3])); /* said before, whatever the inline slot has */
	take_one(&p, &back, true);
	for (unsigned i = 0; i < 100 * SHM_RING_BYTES / 1024; i++) {
		put_message(&p, 1000, false);
		CHECK(!shm_is_executed(&back.rx, 0, p.tx.tail) && !shm_is_executed(&back.rx, 0, p.tx.tail + SHM_LINE));
		take_one(&p, &back, true);
		CHECK(shm_is_executed(&back.rx, 0, p.tx.tail) && (i < 1 || shm_is_executed(&back.rx, 0, before)));
		before = p.tx.tail;
	}
	CHECK(!shm_is_executed(&back.rx, 0, p.tx.tail - (SHM_EXECUTED_LINES + 1) * SHM_LINE)); /* longer ago than the ring tells */
	pair_end(&back);
	pair_end(&p);
}

/* A record that is written but not published is not there; publishing shows all of them and wakes
 * a sleeping reader. */
static void groups(void)
{
	struct shm_page sleeper = { .on = 1 };
	struct pair p = { 0 };
	enum shm_put why;
	uint64_t skip;

	pair_make(&p);
	p.tx.page = &sleeper;
	for (int i = 0; i < 3; i++) {
		struct shm_record *at = shm_reserve(&p.tx, 8, &skip, &why);

		CHECK(at);
		*at = (struct shm_record){ .bytes = 8 };
		shm_finish(&p.tx, at, skip);
		CHECK(!shm_waiting(&p.rx));
	}
	CHECK(shm_publish(&p.tx) == SHM_PUT_WAKE);
	sleeper.on = 0; /* it has not looked yet, but is about to */
	put_message(&p, 8, false);
	for (int i = 0; i < 4; i++) {
		struct shm_record h;

		CHECK(shm_peek(&p.rx, &h) == 1 && h.bytes == 8);
		shm_hold(&p.rx, &h);
	}
	shm_release(&p.rx);
	CHECK(!shm_waiting(&p.rx) && shm_taken(&p.tx) == p.tx.tail);
	pair_end(&p);
}

static void unsealed_is_refused(void)
{
	int fd = memfd_create("test-plain", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t size;
	void *p;

	CHECK(fd >= 0 && ftruncate(fd, 65536) == 0);
	CHECK(!shm_seg_map(fd, 64, 65536, &size));
	close(fd);
	fd = shm_seg_make("test-sealed", 4096, &p);
	CHECK(fd >= 0 && ftruncate(fd, 0) < 0 && ftruncate(fd, 1 << 20) < 0);
	CHECK(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	CHECK(!shm_seg_map(fd, 1 << 20, 1 << 21, &size) && !shm_seg_map(fd, 1, 64, &size));
	close(fd);
	shm_seg_unmap(p, 4096);
}

/* shm_ring [SEED] */
int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : ut_rng_seed();

	full_and_gone();
	liars();
	lying_head();
	inline_slots();
	next_ones();
	next_at_the_end();
	next_liars();
	executed();
	groups();
	unsealed_is_refused();
	stream(seed, RECORDS, 9000, false);
	stream(seed, RECORDS / 20, SHM_PAYLOAD_MAX, false);
	stream(seed, SLEEPY, 600, true);
	return 0;
}

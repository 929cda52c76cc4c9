/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Payload that goes from the socket to where it belongs: frames of a length and octets, given one
 * at a time by a guess that is right, too long or too short, taken in whole, in pieces or not at
 * all. Whatever the user does, each octet is seen once and in order.
 */
#include "link_tcp_util.h"

#include "util/rng.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HEAD 8u
#define LONGEST 60000u
#define PAGE 4096u
#define SHORT 4096u /* a guess that shows hardly a frame */

enum mode { ALL, PIECES, SOME, NONE, GONE };

struct taker {
	struct reader reader;        /* first: what the shared callbacks know */
	enum mode mode;
	struct ut_rng rng;
	uint8_t *mem, *gone;   /* LONGEST octets each */
	uint64_t at;           /* of the next frame in the stream */
	unsigned frames, taken, refused;
	size_t guess;          /* what want is set to; 0: the last frame's length */
};

static uint32_t length_of(const uint8_t *h)
{
	uint32_t n;

	memcpy(&n, h, 4);
	return n;
}

/* Octets of payload are told apart by their place in the stream. */
static void check_octets(const uint8_t *p, uint64_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		CHECK_MSG(p[i] == pattern(at + i), "octet %llu", (unsigned long long)(at + i));
}

static bool take(struct taker *t, size_t off, uint8_t *to, size_t n, int pieces)
{
	const struct link_streams_ops *ops = t->reader.s->place->ops;
	struct iovec iov[4];
	size_t each = n / (size_t)pieces;

	for (int i = 0; i < pieces; i++)
		iov[i] = (struct iovec){ to + each * (size_t)i,
					 i == pieces - 1 ? n - each * (size_t)i : each };
	memset(t->mem, 0xee, LONGEST);
	return ops->take(t->reader.s, off, iov, pieces, n);
}

static void one_frame(struct taker *t, const uint8_t *h, size_t off, size_t n)
{
	uint64_t at = t->at + HEAD;
	bool placed = false;

	if (t->mode == ALL || t->mode == PIECES || (t->mode == SOME && ut_rng_below(&t->rng, 3)))
		placed = take(t, off + HEAD, t->mem, n, t->mode == ALL ? 1 : 4);
	else if (t->mode == GONE)
		CHECK(n < PAGE || !take(t, off + HEAD, t->gone, n, 1));
	t->taken += placed;
	t->refused += !placed;
	if (placed) {
		check_octets(t->mem, at, n);
		CHECK(n == LONGEST || t->mem[n] == 0xee);
	} else {
		check_octets(h + HEAD, at, n);
	}
	t->frames++;
}

static size_t received(struct link_stream *s, const uint8_t *data, size_t off, size_t len,
		       uint64_t now)
{
	struct taker *t = s->user;
	size_t done = 0;

	(void)now;
	while (len - done >= HEAD) {
		size_t n = length_of(data + done);

		CHECK_MSG(n <= LONGEST, "frame %u of %zu", t->frames, n);
		s->want = t->guess ? t->guess : HEAD + n;
		if (len - done < HEAD + n)
			break;
		one_frame(t, data + done, off + done, n);
		done += HEAD + n;
		t->at += HEAD + n;
	}
	return done;
}

static const struct link_stream_user taker_ops = { received, reader_received_shm, reader_writable, reader_connected,
						   reader_closed };

/* Frames one behind the other, as many as the memory holds. */
static size_t compose(uint8_t *to, size_t room, struct ut_rng *r, size_t fixed, unsigned *frames)
{
	size_t at = 0;

	for (;;) {
		uint32_t n = (uint32_t)(fixed && ut_rng_below(r, 8)
						? fixed : ut_rng_below(r, LONGEST + 1));

		if (at + HEAD + n > room)
			return at;
		memset(to + at, 0, HEAD);
		memcpy(to + at, &n, 4);
		for (size_t i = 0; i < n; i++)
			to[at + HEAD + i] = pattern(at + HEAD + i);
		at += HEAD + n;
		(*frames)++;
	}
}

static void run(enum mode mode, size_t fixed, size_t guess, size_t cut)
{
	static uint8_t all[6 << 20];
	struct link_streams *a = place_open(), *b = place_open();
	struct taker t = { .mode = mode, .rng = { 5 }, .guess = guess };
	struct ut_rng r = { fixed + guess + cut };
	struct reader ra = { 0 };
	unsigned frames = 0;
	size_t total = compose(all, sizeof(all), &r, fixed, &frames), sent = 0;

	t.mem = malloc(LONGEST);
	t.gone = mmap(NULL, LONGEST, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(t.mem && t.gone != MAP_FAILED);
	pair_make(a, b, LO4, &ra, &t.reader);
	t.reader.s->user_ops = &taker_ops;
	t.reader.s->user = &t;
	while (sent < total) {
		size_t n = cut ? 1 + ut_rng_below(&r, cut) : total;
		ssize_t k = a->ops->send(ra.s, all + sent, n < total - sent ? n : total - sent);

		CHECK(k > 0 || k == -EAGAIN);
		sent += k > 0 ? (size_t)k : 0;
		places_poll(a, b);
	}
	UNTIL2(a, b, t.at == total);
	CHECK(t.frames == frames && !t.reader.closed);
	CHECK(t.taken + t.refused == frames);
	a->ops->close(ra.s, false);
	UNTIL2(a, b, t.reader.closed);
	CHECK(t.reader.error == 0);
	a->ops->fini(a);
	b->ops->fini(b);
	munmap(t.gone, LONGEST);
	free(t.mem);
	/* The bytes in the socket are taken from there: not only the stage is tested. */
	if (mode == NONE || mode == GONE)
		CHECK(!t.taken);
	else if (guess != SHORT && !cut)
		CHECK_MSG(t.taken, "mode %d, %u frames, guess %zu", mode, frames, guess);
}

/* No bytes given to the callback, none to take. */
static void outside(void)
{
	struct link_streams *p = place_open();
	struct reader ra = { 0 }, rb = { 0 };
	uint8_t to[16];
	struct iovec iov = { to, sizeof(to) };

	pair_make(p, p, LO4, &ra, &rb);
	CHECK(send_some(ra.s, 0, 100) == 100);
	UNTIL(p, rb.got == 100);
	CHECK(!p->ops->take(rb.s, 0, &iov, 1, sizeof(to)));
	p->ops->fini(p);
}

int main(void)
{
	static const size_t lengths[] = { 0, 50000, 300 }, guesses[] = { 0, SHORT, 200000 };
	static const size_t cuts[] = { 0, 100000, 5000 };

	for (int mode = ALL; mode <= GONE; mode++)
		for (int i = 0; i < 3; i++)
			for (int k = 0; k < 3; k++)
				run((enum mode)mode, lengths[i], guesses[i ? (i + k) % 3 : k],
				    cuts[k]);
	outside();
	return 0;
}

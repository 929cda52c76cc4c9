/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "explore.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { WORDS = 16, BUFFER = 8, STACK = 256 << 10, DEPTH = 4096 };
/* Steps of all after which a store is seen: without that a thread that looks at it again and again does
 * so for ever. Far more than a way to an end has. */
enum { LATE = 512 };

static struct word {
	void *at;
	size_t size;
	const char *name;
} words[WORDS];
static int n_words;
bool mc_no_fences;

struct thread {
	ucontext_t begin;
	jmp_buf here;
	char *stack;
	bool begun, done;
	struct {
		int word, since;
		uint64_t value;
	} buf[BUFFER];
	int n_buf;
	uint64_t past;
	bool (*until)(void);
	const char *next; /* its next step */
};

static struct {
	const struct mc_model *m;
	struct thread t[MC_THREADS];
	struct thread *now; /* NULL: the explorer itself */
	jmp_buf back;
	const char *broken;
	struct {
		uint8_t choice, choices;
	} path[DEPTH];
	int len, depth;
	uint64_t *seen;
	size_t room, n_seen;
} x;

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* --- threads --- */

bool mc_inside(void)
{
	return x.now != NULL;
}

static void leave(void)
{
	if (!_setjmp(x.now->here))
		_longjmp(x.back, 1);
}

unsigned mc_self(void)
{
	return x.now ? (unsigned)(x.now - x.t) + 1 : 0;
}

void mc_point(const char *what)
{
	if (!x.now)
		return;
	x.now->next = what;
	leave();
	x.now->past = mix(x.now->past, (uintptr_t)what);
}

void mc_until(bool (*until)(void), const char *what)
{
	x.now->until = until;
	mc_point(what);
	x.now->until = NULL;
}

void mc_must(bool so, const char *what)
{
	if (so)
		return;
	x.broken = what;
	leave();
}

long mc_note(long value)
{
	if (x.now)
		x.now->past = mix(x.now->past, (uint64_t)value);
	return value;
}

static int word_of(const volatile void *at)
{
	for (int i = 0; i < n_words; i++)
		if (words[i].at == at)
			return i;
	return -1;
}

void mc_watch(void *at, size_t size, const char *name)
{
	if (n_words == WORDS)
		abort();
	words[n_words++] = (struct word){ at, size, name };
}

static uint64_t get(const volatile void *at, size_t size)
{
	switch (size) {
	case 8:  return *(const volatile uint64_t *)at;
	case 4:  return *(const volatile uint32_t *)at;
	default: return *(const volatile uint8_t *)at;
	}
}

static void put(volatile void *at, uint64_t v, size_t size)
{
	switch (size) {
	case 8:  *(volatile uint64_t *)at = v; break;
	case 4:  *(volatile uint32_t *)at = (uint32_t)v; break;
	default: *(volatile uint8_t *)at = (uint8_t)v;
	}
}

static void flush_one(struct thread *t)
{
	put(words[t->buf[0].word].at, t->buf[0].value, words[t->buf[0].word].size);
	memmove(t->buf, t->buf + 1, (size_t)--t->n_buf * sizeof(t->buf[0]));
}

uint64_t mc_load(const volatile void *at, size_t size)
{
	int w = x.now ? word_of(at) : -1;
	uint64_t v;

	if (w < 0)
		return get(at, size);
	mc_point(words[w].name);
	v = get(at, size);
	for (int i = 0; i < x.now->n_buf; i++) /* its own stores first */
		if (x.now->buf[i].word == w)
			v = x.now->buf[i].value;
	return (uint64_t)mc_note((long)v);
}

void mc_store(volatile void *at, uint64_t v, size_t size, bool full)
{
	int w = x.now ? word_of(at) : -1;

	if (w < 0) {
		put(at, v, size);
		return;
	}
	mc_point(words[w].name);
	if (x.now->n_buf == BUFFER)
		flush_one(x.now);
	x.now->buf[x.now->n_buf].word = w;
	x.now->buf[x.now->n_buf].since = x.depth;
	x.now->buf[x.now->n_buf++].value = v;
	while (full && !mc_no_fences && x.now->n_buf)
		flush_one(x.now);
}

void mc_fence(bool full)
{
	if (!x.now || !full || mc_no_fences || !x.now->n_buf)
		return;
	mc_point("fence");
	while (x.now->n_buf)
		flush_one(x.now);
}

/* Returns the value in memory, with all earlier stores of the thread flushed. */
static uint64_t begin_atomic(volatile void *at, size_t size)
{
	int w = x.now ? word_of(at) : -1;

	if (w >= 0) {
		mc_point(words[w].name);
		while (x.now->n_buf)
			flush_one(x.now);
	}
	return (uint64_t)mc_note((long)get(at, size));
}

uint64_t mc_exchange(volatile void *at, uint64_t v, size_t size)
{
	uint64_t old = begin_atomic(at, size);

	put(at, v, size);
	return old;
}

uint64_t mc_compare(volatile void *at, uint64_t want, uint64_t v, size_t size)
{
	uint64_t old = begin_atomic(at, size);

	if (old == want)
		put(at, v, size);
	return old;
}

void mc_fence_all(void)
{
	mc_fence(true); /* as membarrier(2) begins */
	for (int i = 0; x.now && !mc_no_fences && i < x.m->threads; i++) {
		mc_point("fence of a thread");
		while (x.t[i].n_buf)
			flush_one(&x.t[i]);
	}
}

/* --- the search --- */

static void body(int i)
{
	x.m->thread[i]();
	x.now->done = true;
	leave();
}

static void begin(void)
{
	x.broken = NULL;
	x.now = NULL;
	x.m->reset();
	for (int i = 0; i < x.m->threads; i++) {
		struct thread *t = &x.t[i];

		*t = (struct thread){ .stack = t->stack ? t->stack : malloc(STACK), .next = "begin" };
		if (!t->stack)
			abort();
		getcontext(&t->begin);
		t->begin.uc_stack.ss_sp = t->stack;
		t->begin.uc_stack.ss_size = STACK;
		makecontext(&t->begin, (void (*)(void))body, 1, i);
	}
}

static void go_on(struct thread *t)
{
	x.now = t;
	if (!_setjmp(x.back)) {
		if (t->begun)
			_longjmp(t->here, 1);
		t->begun = true;
		setcontext(&t->begin);
	}
	x.now = NULL;
}

/* Choices: threads that can go on, then buffers that can be flushed. */
static int choices(int ret[2 * MC_THREADS])
{
	int n = 0;

	for (int i = 0; i < x.m->threads; i++)
		if (x.t[i].n_buf && x.depth - x.t[i].buf[0].since > LATE) {
			ret[0] = MC_THREADS + i;
			return 1;
		}
	for (int i = 0; i < x.m->threads; i++)
		if (!x.t[i].done && (!x.t[i].until || x.t[i].until()))
			ret[n++] = i;
	for (int i = 0; i < x.m->threads; i++)
		if (x.t[i].n_buf)
			ret[n++] = MC_THREADS + i;
	return n;
}

static uint64_t state(void)
{
	uint64_t h = x.m->state();

	for (int i = 0; i < n_words; i++)
		h = mix(h, get(words[i].at, words[i].size));
	for (int i = 0; i < x.m->threads; i++) {
		const struct thread *t = &x.t[i];

		h = mix(mix(h, t->past), (uint64_t)t->done << 8 | (uint64_t)t->n_buf);
		h = mix(h, (uintptr_t)t->next);
		for (int k = 0; k < t->n_buf; k++)
			h = mix(mix(h, (uint64_t)t->buf[k].word), t->buf[k].value);
	}
	return h ? h : 1;
}

static bool add(uint64_t *set, size_t room, uint64_t h)
{
	size_t i = h & (room - 1);

	while (set[i] && set[i] != h)
		i = (i + 1) & (room - 1);
	if (set[i])
		return false;
	set[i] = h;
	return true;
}

static void note_state(uint64_t h)
{
	if (2 * x.n_seen >= x.room) {
		size_t room = x.room ? 2 * x.room : 1 << 16;
		uint64_t *set = calloc(room, sizeof(*set));

		if (!set)
			abort();
		for (size_t i = 0; i < x.room; i++)
			if (x.seen[i])
				add(set, room, x.seen[i]);
		free(x.seen);
		x.seen = set;
		x.room = room;
	}
	x.n_seen += add(x.seen, x.room, h);
}

static const char *verdict(void)
{
	for (int i = 0; i < x.m->threads; i++)
		if (!x.t[i].done)
			return "no thread can go on: a wake-up is lost";
	return x.m->good() ? NULL : "the end is wrong";
}

/* One way from the start, by x.path and beyond it. NULL, or what is wrong. */
static const char *run(bool say)
{
	int c[2 * MC_THREADS], n, depth;

	begin();
	for (depth = 0; !x.broken; depth++) {
		x.depth = depth;
		n = choices(c);
		if (!n)
			return verdict();
		if (depth == DEPTH)
			return "no end in sight";
		if (depth == x.len) {
			size_t before = x.n_seen;

			note_state(state());
			if (x.n_seen == before)
				return NULL;
			x.path[x.len].choice = 0;
			x.path[x.len++].choices = (uint8_t)n;
		}
		n = c[x.path[depth].choice];
		if (say)
			fprintf(stderr, "  %d %s\n", n % MC_THREADS,
				n < MC_THREADS ? x.t[n].next : "(its store is seen)");
		if (n < MC_THREADS)
			go_on(&x.t[n]);
		else
			flush_one(&x.t[n - MC_THREADS]);
	}
	return x.broken;
}

bool mc_explore(const struct mc_model *m, bool say, unsigned long *ret_states)
{
	const char *why;

	x.m = m;
	x.len = 0;
	x.n_seen = x.room = 0;
	free(x.seen);
	x.seen = NULL;
	for (;;) {
		why = run(false);
		if (why && say) {
			fprintf(stderr, "%s: %s, after\n", m->name, why);
			run(true);
		}
		*ret_states = x.n_seen;
		if (why)
			return false;
		while (x.len && x.path[x.len - 1].choice + 1 == x.path[x.len - 1].choices)
			x.len--;
		if (!x.len)
			return true;
		x.path[x.len - 1].choice++;
	}
}

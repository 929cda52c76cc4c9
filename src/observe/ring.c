/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "observe/ring.h"

#include "host/shm/segment.h"
#include "util/clock.h"
#include "util/syscall.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#define POPULATED (64u << 20)
#define PROBES 8u /* places of the table where a flow may be */

_Static_assert(sizeof(struct obs_ring_page) <= OBS_RING_PAGE, "it has a page");
_Static_assert(OBS_RING_LEAST / 4 > OBS_RING_AHEAD, "a reader has records that are not about to be overwritten");

static uint64_t realtime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * UT_S + (uint64_t)t.tv_nsec;
}

static size_t power_of_two(size_t bytes)
{
	size_t n = OBS_RING_LEAST;

	while (n < bytes && n < OBS_RING_MOST)
		n *= 2;
	return n;
}

static void describe(struct obs_ring *r, const char *adapter)
{
	struct ut_ticks_sample now = ut_ticks_sample();
	struct obs_ring_page *p = r->page;

	p->realtime = realtime() - (ut_now() - now.ns);
	p->monotonic = now.ns;
	p->ticks = now.ticks;
	p->by_ticks = r->by_ticks;
	p->magic = OBS_RING_MAGIC;
	p->bytes = r->bytes;
	p->pid = (uint32_t)getpid();
	snprintf(p->program, OBS_NAME, "%s", program_invocation_short_name);
	snprintf(p->adapter, OBS_NAME, "%s", adapter);
}

int obs_ring_make(struct obs_ring *r, size_t bytes, const char *adapter)
{
	void *base;
	int fd;

	bytes = power_of_two(bytes);
	fd = shm_seg_make("dapple-observe", OBS_RING_HEAD + bytes, &base);
	if (fd < 0)
		return fd;
	/* Where the kernel does not know this, each page comes with its first record. */
	UT_SYS(SYS_madvise, base, OBS_RING_HEAD + (bytes < POPULATED ? bytes : POPULATED), MADV_POPULATE_WRITE);
	*r = (struct obs_ring){ .page = base, .flows = (struct obs_flow *)((uint8_t *)base + OBS_RING_PAGE),
				.data = (uint8_t *)base + OBS_RING_HEAD, .bytes = bytes, .by_ticks = ut_ticks_are_even() };
	describe(r, adapter);
	return fd;
}

void obs_ring_free(struct obs_ring *r)
{
	shm_seg_unmap(r->page, OBS_RING_HEAD + r->bytes);
	r->page = NULL;
}

/* --- writing --- */

uint32_t obs_ring_flow(struct obs_ring *r, const struct obs_flow *f)
{
	uint64_t v = 0;

	for (size_t i = 0; i < sizeof(*f) / 8; i++)
		v = (v ^ obs_word_get(f, i)) * 0x9e3779b97f4a7c15u;
	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t at = (uint32_t)((v >> 40) + i) % OBS_FLOWS;

		if (!r->used[at]) {
			r->used[at] = true;
			r->flows[at] = *f;
			return at;
		}
		if (!memcmp(&r->flows[at], f, sizeof(*f)))
			return at;
	}
	return OBS_FLOW_APART;
}

uint8_t *obs_ring_make_room(struct obs_ring *r, uint32_t size)
{
	uint64_t at = r->head & (r->bytes - 1), left = r->bytes - at, skip = size > left ? left : 0;

	r->reserved = r->head + skip + size + OBS_RING_AHEAD;
	atomic_store_explicit(&r->page->reserved, r->reserved, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	if (skip >= sizeof(struct obs_stored))
		memcpy(r->data + at, &(struct obs_stored){ .len = (uint32_t)skip }, sizeof(struct obs_stored));
	r->head += skip;
	return r->data + (r->head & (r->bytes - 1));
}

static uint32_t size_of(uint32_t flow, uint32_t have)
{
	return (uint32_t)(sizeof(struct obs_stored) + (flow == OBS_FLOW_APART ? sizeof(struct obs_flow) : 0) + have + 7) & ~7u;
}

void obs_ring_put(struct obs_ring *r, const struct obs_record *h, const struct iovec *pieces, int n)
{
	uint32_t flow = obs_ring_flow(r, &h->flow), left = h->have, size;
	uint8_t *at, *to;

	if (size_of(flow, left) > r->bytes / 4)
		left = (uint32_t)(r->bytes / 4) - size_of(flow, 0);
	size = size_of(flow, left);
	at = obs_ring_room(r, size);
	obs_ring_stamp(r, at, h->time, (enum obs_kind)h->kind, (enum obs_way)h->way, h->out, flow, h->len, left);
	to = at + sizeof(struct obs_stored);
	if (flow == OBS_FLOW_APART) {
		memcpy(to, &h->flow, sizeof(h->flow));
		to += sizeof(h->flow);
	}
	for (int i = 0; i < n && left; i++) {
		size_t k = pieces[i].iov_len < left ? pieces[i].iov_len : left;

		memcpy(to, pieces[i].iov_base, k);
		to += k;
		left -= (uint32_t)k;
	}
	memset(to, 0, (size_t)(at + size - to));
	obs_ring_done(r, size);
}

/* --- reading --- */

int obs_reader_open(struct obs_reader *r, int fd, const struct ut_ticks_clock *clock)
{
	const struct obs_ring_page *page;
	size_t size;

	page = shm_seg_map(fd, OBS_RING_HEAD + OBS_RING_LEAST, OBS_RING_HEAD + (size_t)OBS_RING_MOST, &size);
	if (!page)
		return -EPROTO;
	*r = (struct obs_reader){ .page = page, .flows = (const struct obs_flow *)((const uint8_t *)page + OBS_RING_PAGE),
				  .data = (const uint8_t *)page + OBS_RING_HEAD, .clock = clock,
				  .bytes = size - OBS_RING_HEAD, .mapped = size };
	if (page->magic == OBS_RING_MAGIC && page->bytes == r->bytes && !(r->bytes & (r->bytes - 1)))
		return 0;
	obs_reader_close(r);
	return -EPROTO;
}

void obs_reader_close(struct obs_reader *r)
{
	shm_seg_unmap(r->page, r->mapped);
	*r = (struct obs_reader){ 0 };
}

int64_t obs_reader_offset(const struct obs_reader *r)
{
	const struct obs_ring_page *p = r->page;

	return (int64_t)(p->realtime - (p->by_ticks ? ut_ticks_clock_ns(r->clock, p->ticks) : p->monotonic));
}

/* Returns false if the writer may have overwritten what was copied from pos on. */
static bool stands(const struct obs_reader *r, uint64_t pos)
{
	atomic_thread_fence(memory_order_acquire);
	return (int64_t)(atomic_load_explicit(&r->page->reserved, memory_order_relaxed) - pos) <= (int64_t)r->bytes;
}

/* Returns the bytes up to the ring's end if there is no record there, else 0. */
static uint64_t gap(const struct obs_reader *r, const struct obs_stored *s, uint64_t left)
{
	if (left < sizeof(*s))
		return left;
	return !s->kind_way && s->len == left ? left : 0;
}

static bool possible(const struct obs_reader *r, const struct obs_stored *s, uint64_t left, uint64_t head)
{
	uint32_t size = size_of(s->flow, s->have), kind = s->kind_way & 15;

	return s->have <= r->bytes / 4 && size <= left && size <= head - r->pos && s->have <= s->len && kind && kind < OBS_KINDS &&
	       s->kind_way >> 4 < OBS_WAYS && (s->flow < OBS_FLOWS || s->flow == OBS_FLOW_APART);
}

/* Records that were written are fewer than 2^32 ahead of one that is in the ring. */
static uint64_t whole_number(const struct obs_reader *r, uint32_t low)
{
	uint64_t written = atomic_load_explicit(&r->page->number, memory_order_relaxed);

	return written - (uint32_t)((uint32_t)written - low);
}

static void unpack(const struct obs_reader *r, const struct obs_stored *s, struct obs_record *ret)
{
	ret->kind = s->kind_way & 15;
	ret->way = s->kind_way >> 4;
	ret->out = s->out;
	ret->time = r->page->by_ticks ? ut_ticks_clock_ns(r->clock, s->time) : s->time;
	ret->number = whole_number(r, s->number);
	ret->len = s->len;
	if (s->flow != OBS_FLOW_APART)
		ret->flow = r->flows[s->flow];
}

int obs_reader_next(struct obs_reader *r, struct obs_record *ret, uint8_t *bytes, size_t room)
{
	for (;;) {
		uint64_t head = atomic_load_explicit(&r->page->head, memory_order_acquire), at = r->pos & (r->bytes - 1);
		uint64_t left = r->bytes - at;
		const uint8_t *from = r->data + at + sizeof(struct obs_stored);
		struct obs_stored s = { 0 };
		uint64_t skip;

		if (head == r->pos)
			return 0;
		if (left >= sizeof(s))
			memcpy(&s, r->data + at, sizeof(s));
		if (!stands(r, r->pos)) {
			r->pos = head;
			continue;
		}
		skip = gap(r, &s, left);
		if (skip > head - r->pos || (!skip && !possible(r, &s, left, head)))
			return -EPROTO;
		if (skip) {
			r->pos += skip;
			continue;
		}
		if (s.flow == OBS_FLOW_APART) {
			memcpy(&ret->flow, from, sizeof(ret->flow));
			from += sizeof(ret->flow);
		}
		ret->have = s.have < room ? s.have : (uint32_t)room;
		memcpy(bytes, from, ret->have);
		if (!stands(r, r->pos)) {
			r->pos = head;
			continue;
		}
		unpack(r, &s, ret);
		r->pos += size_of(s.flow, s.have);
		r->lost += ret->number - r->number;
		r->number = ret->number + 1;
		return 1;
	}
}

void obs_reader_end(struct obs_reader *r)
{
	uint64_t n = atomic_load_explicit(&r->page->number, memory_order_relaxed);

	if (n > r->number)
		r->lost += n - r->number;
	r->number = n;
}

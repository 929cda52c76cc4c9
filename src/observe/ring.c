/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "observe/ring.h"

#include "host/shm/segment.h"
#include "util/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(struct obs_ring_page) <= OBS_RING_PAGE, "it has a page");

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

int obs_ring_make(struct obs_ring *r, size_t bytes, const char *adapter)
{
	void *base;
	int fd;

	bytes = power_of_two(bytes);
	fd = shm_seg_make("dapple-observe", OBS_RING_PAGE + bytes, &base);
	if (fd < 0)
		return fd;
	*r = (struct obs_ring){ .page = base, .data = (uint8_t *)base + OBS_RING_PAGE, .bytes = bytes };
	r->page->magic = OBS_RING_MAGIC;
	r->page->bytes = bytes;
	r->page->monotonic = ut_now();
	r->page->realtime = realtime();
	r->page->pid = (uint32_t)getpid();
	snprintf(r->page->program, OBS_NAME, "%s", program_invocation_short_name);
	snprintf(r->page->adapter, OBS_NAME, "%s", adapter);
	return fd;
}

void obs_ring_free(struct obs_ring *r)
{
	shm_seg_unmap(r->page, OBS_RING_PAGE + r->bytes);
	*r = (struct obs_ring){ 0 };
}

static void copy_in(struct obs_ring *r, uint64_t pos, const void *from, size_t n)
{
	size_t at = pos & (r->bytes - 1), first = r->bytes - at < n ? r->bytes - at : n;

	memcpy(r->data + at, from, first);
	if (first < n)
		memcpy(r->data, (const uint8_t *)from + first, n - first);
}

void obs_ring_put(struct obs_ring *r, struct obs_record *h, const struct iovec *pieces, int n)
{
	uint64_t pos = r->head;
	size_t left;

	if (h->have > r->bytes / 4)
		h->have = (uint32_t)(r->bytes / 4);
	h->size = (uint32_t)(sizeof(*h) + h->have + 7) & ~7u;
	h->number = r->number++;
	atomic_store_explicit(&r->page->reserved, pos + h->size, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	copy_in(r, pos, h, sizeof(*h));
	pos += sizeof(*h);
	left = h->have;
	for (int i = 0; i < n && left; i++) {
		size_t k = pieces[i].iov_len < left ? pieces[i].iov_len : left;

		copy_in(r, pos, pieces[i].iov_base, k);
		pos += k;
		left -= k;
	}
	r->head += h->size;
	atomic_store_explicit(&r->page->number, r->number, memory_order_relaxed);
	atomic_store_explicit(&r->page->head, r->head, memory_order_release);
}

/* --- reading --- */

int obs_reader_open(struct obs_reader *r, int fd)
{
	const struct obs_ring_page *page;
	size_t size;

	page = shm_seg_map(fd, OBS_RING_PAGE + OBS_RING_LEAST, OBS_RING_PAGE + (size_t)OBS_RING_MOST, &size);
	if (!page)
		return -EPROTO;
	*r = (struct obs_reader){ .page = page, .data = (const uint8_t *)page + OBS_RING_PAGE,
				  .bytes = size - OBS_RING_PAGE, .mapped = size };
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

static void copy_out(const struct obs_reader *r, uint64_t pos, void *to, size_t n)
{
	size_t at = pos & (r->bytes - 1), first = r->bytes - at < n ? r->bytes - at : n;

	memcpy(to, r->data + at, first);
	if (first < n)
		memcpy((uint8_t *)to + first, r->data, n - first);
}

/* Returns false if the writer may have overwritten what was copied from pos on. */
static bool stands(const struct obs_reader *r, uint64_t pos)
{
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&r->page->reserved, memory_order_relaxed) - pos <= r->bytes;
}

static bool possible(const struct obs_reader *r, const struct obs_record *h, uint64_t head)
{
	return h->size >= sizeof(*h) && h->size % 8 == 0 && h->size <= head - r->pos &&
	       h->have <= h->size - sizeof(*h) && h->have <= h->len && h->kind && h->kind < OBS_KINDS &&
	       h->way < OBS_WAYS;
}

int obs_reader_next(struct obs_reader *r, struct obs_record *ret, uint8_t *bytes, size_t room)
{
	for (;;) {
		uint64_t head = atomic_load_explicit(&r->page->head, memory_order_acquire), at = r->pos;
		uint32_t size;

		if (head == at)
			return 0;
		copy_out(r, at, ret, sizeof(*ret));
		if (!stands(r, at)) {
			r->pos = head;
			continue;
		}
		if (!possible(r, ret, head))
			return -EPROTO;
		size = ret->size;
		if (ret->have > room)
			ret->have = (uint32_t)room;
		copy_out(r, at + sizeof(*ret), bytes, ret->have);
		if (!stands(r, at)) {
			r->pos = head;
			continue;
		}
		r->pos = at + size;
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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs poll the last byte of a Write in their memory. When it is new, so is all before it: 64 B
 * to 64 KiB, 10^7 times with --full, by four. The process that looks runs on another core than the
 * one that places the bytes:
 *
 *     initiator                                target
 *     posts n Writes, each of one byte value
 *     looks at the last byte of each in   <->  sleeps / polls its queue / blocks for an event:
 *     the target's memory, which both map      whoever makes progress there places the bytes
 */
#include "speed.h"

#include <sched.h>
#include <string.h>

enum { SLOTS = 16, SLOT = 65536, SHORT = 20000, LONG = 2500000,
       CLOSELY = 20000 /* looks before the processor is shared */ };

/* The thread that places arriving bytes. */
enum mode { ASLEEP, POLLS, BLOCKS, MODES };

static uint8_t *target;
static struct page {
	_Atomic int mode;  /* the target's */
	uint32_t rkey;
} *page;

static void post(struct cf_side *s, const struct cf_addr *to, int slot, uint32_t size, uint8_t tag)
{
	uint64_t at = (uint64_t)slot * SLOT + SLOT - size % 61 - size; /* ends anywhere in a line */

	memset(s->buf + at, tag, size);
	cf_post(s, .op = IBV_WR_RDMA_WRITE, .id = (uint64_t)slot, .off = at, .len = size,
		.raddr = (uintptr_t)target + at, .rkey = to->rkey);
}

static void look(uint64_t n, int slot, uint32_t size, uint8_t tag)
{
	const volatile uint8_t *end = target + (size_t)slot * SLOT + SLOT - size % 61;

	/* Closely first: the state under test lasts some nanoseconds. */
	for (int i = 0; i < CLOSELY && end[-1] != tag; i++)
		;
	SP_UNTIL(end[-1] == tag, "write %llu of %u bytes does not come", (unsigned long long)n, size);
	atomic_thread_fence(memory_order_acquire);
	if (!sp_all(end - size, size, tag))
		CF_DIE("write %llu of %u bytes: the last byte was new and another was not",
		       (unsigned long long)n, size);
}

static void initiator(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct sp_rng rng = { sp_seed("last byte") };
	int times = sp_times(SHORT, LONG);
	uint32_t size[SLOTS];
	struct cf_side s;
	struct cf_addr to;

	o.len = SLOTS * SLOT;
	cf_side(&s, &o);
	to = cf_connect(p, &s);
	to.rkey = page->rkey;
	for (int n = 0, slot = 0; n < times;) {
		int many = 1 + (int)(sp_below(&rng, 4) ? 0 : sp_below(&rng, SLOTS));
		/* another value than is there */
		uint8_t tag = (uint8_t)(1 + n % 255), tags[SLOTS];

		atomic_store(&page->mode, (int)((int64_t)n * MODES / times));
		for (int i = 0; i < many; i++) {
			int at = (slot + i) % SLOTS;

			size[i] = sp_size(&rng, 64, SLOT - 64);
			tags[i] = target[(at + 1) * SLOT - 1 - size[i] % 61] == tag ? tag % 255 + 1 : tag;
			post(&s, &to, at, size[i], tags[i]);
		}
		for (int i = 0; i < many; i++)
			look((uint64_t)n + i, (slot + i) % SLOTS, size[i], tags[i]);
		for (int i = 0; i < many; i++)
			cf_wc(s.scq, (uint64_t)((slot + i) % SLOTS), SUCCESS);
		slot = (slot + many) % SLOTS;
		n += many;
	}
	atomic_store(&page->mode, MODES);
	cf_post(&s, .op = IBV_WR_SEND, .id = 99, .len = 1); /* wakes a blocked thread */
	cf_wc(s.scq, 99, SUCCESS);
	cf_meet(p);
}

static void passive(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct ibv_wc wc;
	struct cf_side s;
	int mode;

	o.chan = true;
	cf_side(&s, &o);
	page->rkey = cf_mr(s.pd, target, SLOTS * SLOT, CF_ALL_ACCESS)->rkey;
	cf_up(&s, IBV_QPS_INIT, NULL);
	cf_recv(&s, 1, 0, 64);
	CF_OK(ibv_req_notify_cq(s.rcq, 0));
	cf_connect(p, &s);
	while ((mode = atomic_load(&page->mode)) < MODES && mode != BLOCKS) {
		/* A thread that gets no processor during all remaining rounds may find the end here. */
		if (mode == POLLS && ibv_poll_cq(s.rcq, 1, &wc)) {
			CF_EQ(wc.status, IBV_WC_SUCCESS);
			CF_EQ(page->mode, MODES);
			cf_meet(p);
			return;
		}
		if (mode == ASLEEP)
			cf_readable(p->fd, 1);
	}
	/* In its call it makes the progress itself, until the Send behind the last Write comes. */
	CF_TRUE(cf_cq_event(s.chan, s.rcq, cf.full ? 600000 : CF_WAIT_MS * 2));
	cf_wc(s.rcq, 1, SUCCESS);
	cf_meet(p);
}

static void last_byte(void)
{
	target = cf_pages(SLOTS * SLOT);
	page = cf_pages(4096);
	cf_processes(initiator, passive);
}

const struct cf_check cf_checks[] = {
	{ "+", "the last byte of a Write comes last", 0, last_byte },
	{ "+", "the second 2,500,000 of 10^7", CF_FULL, last_byte },
	{ "+", "the third", CF_FULL, last_byte },
	{ "+", "the fourth", CF_FULL, last_byte },
	{ 0 },
};

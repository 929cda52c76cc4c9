/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/cq.h"

#include "engine/chan.h"
#include "engine/complete.h"
#include "engine/dev.h"
#include "engine/event.h"
#include "engine/qp.h"
#include "engine/refuse.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/probe.h"

#include <errno.h>
#include <stdlib.h>

static void stamp(struct eng_cqe *e)
{
	struct timespec t;

	e->ts = ut_now();
	clock_gettime(CLOCK_REALTIME, &t);
	e->wallclock = (uint64_t)t.tv_sec * UT_S + (uint64_t)t.tv_nsec;
}

static void note_emptied(struct eng_cq *cq, bool yes)
{
	if (atomic_load_explicit(&cq->emptied, memory_order_relaxed) != yes)
		atomic_store_explicit(&cq->emptied, yes, memory_order_relaxed);
}

static void fire(struct eng_cq *cq) UT_REQUIRES(cq->lock);
static void fire(struct eng_cq *cq)
{
	atomic_store_explicit(&cq->arm, ENG_CQ_IDLE, memory_order_relaxed);
	cq->mod_seen = 0;
	note_emptied(cq, false);
	ut_list_del(&cq->held);
	if (cq->chan)
		eng_chan_raise(cq->chan, cq);
}

/* True if the event waits for more completions. It does not if eng_dev_tick() is not called, which ends the
 * period. */
static bool hold(struct eng_cq *cq) UT_REQUIRES(cq->lock);
static bool hold(struct eng_cq *cq)
{
	struct eng_dev *dev = cq->dev;

	eng_dev_held(dev);
	if (!dev->ticks || !cq->mod_count || !cq->mod_period || !cq->chan)
		return false;
	if (++cq->mod_seen >= cq->mod_count)
		return false;
	if (ut_list_empty(&cq->held)) {
		cq->held_until = ut_now() + cq->mod_period * UT_US;
		ut_list_add_tail(&dev->held, &cq->held);
	}
	return true;
}

void eng_cq_release(struct eng_cq *cq)
{
	ut_lock(&cq->lock);
	if (eng_cq_is_armed(cq))
		fire(cq);
	else
		ut_list_del(&cq->held);
	ut_unlock(&cq->lock);
}

static bool is_loud(const struct eng_cqe *e)
{
	return e->solicited || e->status != IBV_WC_SUCCESS;
}

static bool unheard(struct eng_cq *cq, bool solicited_only) UT_REQUIRES(cq->lock);
static bool unheard(struct eng_cq *cq, bool solicited_only)
{
	if (!atomic_load_explicit(&cq->emptied, memory_order_relaxed))
		return false;
	for (uint32_t i = cq->head; i != cq->tail; i++)
		if (!solicited_only || is_loud(&cq->ring[i & (cq->cap - 1)]))
			return true;
	return false;
}

void eng_cq_arm(struct eng_cq *cq, bool solicited_only)
{
	enum eng_cq_arm arm = solicited_only ? ENG_CQ_SOLICITED : ENG_CQ_ANY;

	ut_lock(&cq->lock);
	if (arm > atomic_load_explicit(&cq->arm, memory_order_relaxed))
		atomic_store_explicit(&cq->arm, arm, memory_order_relaxed);
	if (unheard(cq, atomic_load_explicit(&cq->arm, memory_order_relaxed) == ENG_CQ_SOLICITED))
		fire(cq);
	ut_unlock(&cq->lock);
}

static void wake(struct eng_cq *cq, const struct eng_cqe *e) UT_REQUIRES(cq->lock);
static void wake(struct eng_cq *cq, const struct eng_cqe *e)
{
	enum eng_cq_arm arm = (enum eng_cq_arm)atomic_load_explicit(&cq->arm, memory_order_relaxed);

	if (arm == ENG_CQ_IDLE || (arm == ENG_CQ_SOLICITED && !is_loud(e)))
		return;
	if (!hold(cq))
		fire(cq);
}

static void note_some(struct eng_cq *cq) UT_REQUIRES(cq->lock);
static void note_some(struct eng_cq *cq)
{
	bool some = cq->head != cq->tail || cq->overrun;

	if (atomic_load_explicit(&cq->some, memory_order_relaxed) != some)
		atomic_store_explicit(&cq->some, some, memory_order_release);
}

/* A queue that is empty starts at its first entry again, so that one of millions of entries touches no
 * more memory than its completions need at a time. */
static void rewind_empty(struct eng_cq *cq) UT_REQUIRES(cq->lock);
static void rewind_empty(struct eng_cq *cq)
{
	if (cq->head == cq->tail)
		cq->head = cq->tail = 0;
}

static void to_wc(struct ibv_wc *wc, const struct eng_cqe *e)
{
	wc->wr_id = e->wr_id;
	wc->status = (enum ibv_wc_status)e->status;
	wc->opcode = (enum ibv_wc_opcode)e->opcode;
	wc->vendor_err = e->vendor_err;
	wc->byte_len = e->byte_len;
	wc->imm_data = e->imm; /* or the invalidated key: the same four bytes */
	wc->qp_num = e->qpn;
	wc->src_qp = e->src_qp;
	wc->wc_flags = e->wc_flags;
	wc->pkey_index = e->pkey_index;
	wc->slid = e->slid;
	wc->sl = e->sl;
	wc->dlid_path_bits = e->dlid_path_bits;
}

static bool straight(struct eng_cq *cq, const struct eng_cqe *e)
{
	struct ibv_wc *wc = eng_cq_straight(cq);

	if (!wc)
		return false;
	to_wc(wc, e);
	return true;
}

/* The queue takes no more completions, and says so. */
static void overrun(struct eng_cq *cq) UT_REQUIRES(cq->lock)
{
	cq->overrun = true;
	note_some(cq);
	eng_async_raise(cq->ctx, IBV_EVENT_CQ_ERR, cq->user);
	if (eng_cq_is_armed(cq)) /* no thread may sleep on a dead queue */
		fire(cq);
}

void eng_cq_overrun(struct eng_cq *cq)
{
	ut_lock(&cq->lock);
	if (!cq->overrun)
		overrun(cq);
	ut_unlock(&cq->lock);
}

/* Takes the lock. Returns the slot of the next completion, or NULL: the queue overruns. */
static inline struct eng_cqe *enter(struct eng_cq *cq) UT_ACQUIRE(cq->lock);
static inline struct eng_cqe *enter(struct eng_cq *cq)
{
	ut_lock(&cq->lock);
	if (__builtin_expect(!cq->overrun && cq->tail - cq->head < cq->size, 1))
		return &cq->ring[cq->tail++ & (cq->cap - 1)];
	if (!cq->overrun)
		overrun(cq);
	return NULL;
}

/* The completion in the slot can be polled. */
static inline bool entered(struct eng_cq *cq, struct eng_cqe *slot) UT_RELEASE(cq->lock);
static inline bool entered(struct eng_cq *cq, struct eng_cqe *slot)
{
	if (__builtin_expect(slot != NULL, 1)) {
		if (__builtin_expect(cq->timestamps, 0))
			stamp(slot);
		note_some(cq); /* before the event: a woken thread reads it at once, without the lock */
		wake(cq, slot);
	}
	ut_unlock(&cq->lock);
	return slot;
}

/* Apart, so that a completion that a polling thread takes straight saves no registers for it. */
__attribute__((noinline)) bool eng_cq_enter(struct eng_cq *cq, const struct eng_cqe *e)
{
	struct eng_cqe *slot = enter(cq);

	if (slot)
		*slot = *e;
	return entered(cq, slot);
}

/* Its members go to the slot from registers: a copy of one that was made by narrow stores waits for these. */
__attribute__((noinline)) bool eng_cq_enter_usual(struct eng_cq *cq, struct eng_qp *qp, uint64_t wr_id, uint32_t bytes, uint8_t opcode,
						  uint8_t flags, uint32_t imm, bool solicited)
{
	struct eng_cqe *slot = enter(cq);

	if (slot)
		*slot = (struct eng_cqe){
			.wr_id = wr_id, .qpn = qp->qpn, .byte_len = bytes, .imm = imm, .opcode = opcode, .wc_flags = flags,
			.solicited = solicited, .qp = qp,
		};
	return entered(cq, slot);
}

bool eng_cq_push(struct eng_cq *cq, const struct eng_cqe *e)
{
	UT_PROBE5(complete, e->qpn, e->wr_id, e->status, e->opcode, e->byte_len);
	return straight(cq, e) || eng_cq_enter(cq, e);
}

int eng_cq_take(struct eng_cq *cq, struct eng_cqe *ret)
{
	int r = 0;

	if (!atomic_load_explicit(&cq->some, memory_order_acquire)) {
		note_emptied(cq, true);
		return 0;
	}
	ut_lock(&cq->lock);
	if (cq->tail != cq->head) {
		*ret = cq->ring[cq->head++ & (cq->cap - 1)];
		rewind_empty(cq);
		r = 1;
	} else if (cq->overrun) {
		r = -EOVERFLOW;
	}
	note_some(cq);
	note_emptied(cq, r == 0);
	ut_unlock(&cq->lock);
	return r;
}

static void was_served(struct eng_dev *dev)
{
	if (!atomic_load_explicit(&dev->reaped, memory_order_relaxed))
		atomic_store_explicit(&dev->reaped, true, memory_order_relaxed);
}

int eng_cq_poll_one(struct eng_cq *cq, struct eng_cqe *ret)
{
	int r = eng_cq_take(cq, ret);

	if (r) {
		was_served(cq->dev);
		return r;
	}
	eng_dev_poll(cq->dev, cq, NULL);
	return eng_cq_take(cq, ret);
}

static int drain_some(struct eng_cq *cq, int n, struct ibv_wc *wc) __attribute__((noinline));
static int drain_some(struct eng_cq *cq, int n, struct ibv_wc *wc)
{
	int got = 0;

	ut_lock(&cq->lock);
	while (got < n && cq->head != cq->tail)
		to_wc(&wc[got++], &cq->ring[cq->head++ & (cq->cap - 1)]);
	rewind_empty(cq);
	if (!got && n > 0 && cq->overrun)
		got = -EOVERFLOW;
	note_some(cq);
	note_emptied(cq, got >= 0 && got < n);
	ut_unlock(&cq->lock);
	return got;
}

static int drain(struct eng_cq *cq, int n, struct ibv_wc *wc)
{
	if (atomic_load_explicit(&cq->some, memory_order_acquire))
		return drain_some(cq, n, wc);
	note_emptied(cq, true);
	return 0;
}

/* The queue has completions, or an event is asked for, or the caller wants none. */
static __attribute__((noinline)) int poll_any(struct eng_cq *cq, int n, struct ibv_wc *wc)
{
	int got = drain(cq, n, wc);

	if (got || n <= 0) {
		was_served(cq->dev);
		return got;
	}
	eng_dev_poll(cq->dev, cq, NULL);
	return drain(cq, n, wc);
}

int eng_cq_poll(struct eng_cq *cq, int n, struct ibv_wc *wc)
{
	struct eng_poller p;

	if (__builtin_expect(atomic_load_explicit(&cq->some, memory_order_acquire) || eng_cq_is_armed(cq) || n <= 0, 0))
		return poll_any(cq, n, wc);
	p = (struct eng_poller){ .cq = cq, .wc = wc, .room = n };
	eng_dev_poll(cq->dev, cq, &p);
	if (p.cq->chan)
		note_emptied(p.cq, p.got < p.room);
	/* From here on by p, which is in memory anyway: so no register is saved for an empty poll. */
	if (p.got || !atomic_load_explicit(&p.cq->some, memory_order_acquire))
		return p.got;
	return drain_some(p.cq, p.room, p.wc);
}

uint32_t eng_cq_waiting(struct eng_cq *cq)
{
	uint32_t n;

	ut_lock(&cq->lock);
	n = cq->tail - cq->head;
	ut_unlock(&cq->lock);
	return n;
}

void eng_cq_purge(struct eng_cq *cq, const struct eng_qp *qp)
{
	uint32_t to;

	ut_lock(&cq->lock);
	to = cq->head;
	for (uint32_t i = cq->head; i != cq->tail; i++) {
		const struct eng_cqe *e = &cq->ring[i & (cq->cap - 1)];

		if (e->qp != qp)
			cq->ring[to++ & (cq->cap - 1)] = *e;
	}
	cq->tail = to;
	rewind_empty(cq);
	note_some(cq);
	ut_unlock(&cq->lock);
}

/* --- creation, size, end --- */

static uint32_t pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static int bad_size(struct eng_dev *dev, uint32_t cqe)
{
	return cqe < 1 || dev->attr.orig_attr.max_cqe < 1 ||
	       cqe > (uint32_t)dev->attr.orig_attr.max_cqe;
}

static void chan_count(struct eng_chan *chan, int by)
{
	if (!chan)
		return;
	ut_lock(&chan->lock);
	chan->cqs += (unsigned)by;
	ut_unlock(&chan->lock);
}

static struct eng_cq *cq_alloc(uint32_t cqe)
{
	struct eng_cq *cq = ut_zalloc(sizeof(*cq));

	if (!cq)
		return NULL;
	ut_mutex_init_frequent(&cq->lock);
	ut_lock(&cq->lock);
	cq->size = cqe;
	cq->cap = pow2(cqe);
	/* The kernel maps zeroed memory of this size when it is touched: a large depth costs nothing
	 * until it is used. */
	cq->ring = ut_calloc(cq->cap, sizeof(*cq->ring));
	ut_unlock(&cq->lock);
	return cq;
}

static void cq_free(struct eng_cq *cq)
{
	ut_lock(&cq->lock);
	free(cq->ring);
	ut_unlock(&cq->lock);
	ut_mutex_fini(&cq->lock);
	free(cq);
}

static bool has_ring(struct eng_cq *cq)
{
	bool yes;

	ut_lock(&cq->lock);
	yes = cq->ring != NULL;
	ut_unlock(&cq->lock);
	return yes;
}

int eng_cq_create(struct eng_ctx *ctx, uint32_t cqe, struct eng_chan *chan, bool timestamps,
		  struct eng_cq **ret)
{
	struct eng_dev *dev = ctx->dev;
	int refused = dev->refuses(dev, "create_cq");
	struct eng_cq *cq;

	if (refused < 0)
		return refused;
	if (bad_size(dev, cqe))
		return eng_refuse_over(dev, ENG_R_CQ_SIZE, cqe, (uint32_t)dev->attr.orig_attr.max_cqe);
	if (eng_count(&dev->n_cq, (uint32_t)dev->attr.orig_attr.max_cq) < 0)
		return eng_refuse(dev, ENG_R_CQ_LIMIT);
	cq = cq_alloc(cqe);
	if (!cq || !has_ring(cq)) {
		if (cq)
			cq_free(cq);
		eng_uncount(&dev->n_cq);
		return eng_refuse(dev, ENG_R_MEMORY);
	}
	cq->ctx = ctx;
	cq->dev = dev;
	cq->chan = chan;
	cq->timestamps = timestamps;
	ut_list_init(&cq->ready);
	ut_list_init(&cq->held);
	cq->number = atomic_fetch_add(&dev->numbers, 1) + 1;
	chan_count(chan, 1);
	ut_lock(&dev->lock);
	ut_list_add_tail(&dev->cqs, &cq->node);
	eng_dev_unlock(dev);
	*ret = cq;
	return 0;
}

int eng_cq_destroy(struct eng_cq *cq)
{
	struct eng_dev *dev = cq->dev;

	if (atomic_load(&cq->users))
		return eng_refuse(dev, ENG_R_CQ_USED);
	/* Producers hold the progress lock; without users none comes again. */
	ut_lock(&dev->lock);
	ut_list_del(&cq->held);
	ut_list_del(&cq->node);
	eng_dev_unlock(dev);
	if (cq->chan)
		eng_chan_drop(cq->chan, cq);
	chan_count(cq->chan, -1);
	cq_free(cq);
	eng_uncount(&dev->n_cq);
	return 0;
}

int eng_cq_resize(struct eng_cq *cq, uint32_t cqe)
{
	struct eng_cqe *ring, *old;
	uint32_t cap, n = 0;

	if (bad_size(cq->dev, cqe))
		return eng_refuse_over(cq->dev, ENG_R_CQ_RESIZE, cqe, (uint32_t)cq->dev->attr.orig_attr.max_cqe);
	cap = pow2(cqe);
	ring = ut_calloc(cap, sizeof(*ring));
	if (!ring)
		return eng_refuse(cq->dev, ENG_R_MEMORY);
	/* Requests that were posted before this call count: another thread may be completing them. */
	ut_lock(&cq->dev->lock);
	cq->dev->ops->progress(cq->dev);
	eng_dev_unlock(cq->dev);
	ut_lock(&cq->lock);
	if (cq->tail - cq->head > cqe) {
		ut_unlock(&cq->lock);
		free(ring);
		return eng_refuse(cq->dev, ENG_R_CQ_FULL);
	}
	for (uint32_t i = cq->head; i != cq->tail; i++)
		ring[n++] = cq->ring[i & (cq->cap - 1)];
	old = cq->ring;
	cq->ring = ring;
	cq->cap = cap;
	cq->size = cqe;
	cq->head = 0;
	cq->tail = n;
	ut_unlock(&cq->lock);
	free(old);
	return 0;
}

int eng_cq_modify(struct eng_cq *cq, uint16_t count, uint16_t period)
{
	ut_lock(&cq->lock);
	cq->mod_count = count;
	cq->mod_period = period;
	ut_unlock(&cq->lock);
	return 0;
}

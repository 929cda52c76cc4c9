/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/direct.h"

#include "engine/complete.h"
#include "engine/ring.h"
#include "host/shm/area.h"
#include "host/shm/grant.h"
#include "proto/ib/responder.h"
#include "proto/ib/sent.h"
#include "proto/ib/show.h"
#include "util/clock.h"
#include "util/probe.h"

#define SERVED (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
/* Bytes of one access, whose end a revocation waits for: 100 us by the kernel; stores may pass through the stage. */
#define PIECE_COPIED (1u << 20)
#define PIECE_STORED SHM_CHANNEL_MAX
#define LAST 64u /* bytes that become visible after all others of a Write */
#define WORTH 4096u /* in a stream of shorter requests the ring is quicker: one acknowledgement
                     * serves many */

/* --- exporting --- */

static bool may_export(const struct ibp_qp *q, const struct eng_mkey *mk, uint32_t key)
{
	return (q->cls == WIRE_CLASS_RC || q->cls == WIRE_CLASS_UC) && q->conn.resp.framing == &ibp_frame_shm && mk->key == key &&
	       mk->kind == ENG_MR && !mk->pages && !mk->null && !q->port->rules &&
	       ibp_resp_hears(q->qp);
}

/* Returns the part of the region that peer processes may attach. */
static void export_area(struct shm_export_key *k, const struct eng_mkey *mk)
{
	struct shm_area_view v = { 0 };

	k->area = shm_area_find(mk->addr, mk->length, &v) ? v.id : 0;
	k->area_addr = v.addr;
	k->area_length = v.length;
}

static void export_key(struct shm_export *s, const struct eng_mkey *mk)
{
	struct shm_export_key *k = &s->keys[(mk->key >> 8) % SHM_EXPORTS];

	if (atomic_load_explicit(&k->key, memory_order_relaxed))
		return;
	export_area(k, mk);
	k->access = mk->access;
	k->pd = (uintptr_t)mk->pd;
	k->iova = mk->iova;
	k->length = mk->length;
	k->addr = mk->addr;
	atomic_store_explicit(&k->key, mk->key, memory_order_release);
}

static void export_qp(struct shm_export *s, const struct ibp_qp *q)
{
	const struct eng_qp *qp = q->qp;
	struct shm_export_qp *e = &s->qps[qp->qpn % SHM_EXPORTS];

	if (atomic_load_explicit(&e->qpn, memory_order_relaxed))
		return;
	e->peer = qp->attr.dest_qp_num;
	memcpy(e->addr, q->conn.path.chan.dst, sizeof(e->addr));
	e->access = qp->attr.qp_access_flags & SERVED;
	if (!qp->attr.max_dest_rd_atomic)
		e->access &= (unsigned)IBV_ACCESS_REMOTE_WRITE;
	e->pd = (uintptr_t)q->recv.pd;
	atomic_store_explicit(&e->qpn, qp->qpn, memory_order_release);
}

void ibp_export(struct ibp_qp *q, const struct eng_mkey *mk, uint32_t key)
{
	struct shm_export *s = q->port->chan->export;
	const struct shm_export_key *k;

	if (!s || !may_export(q, mk, key))
		return;
	export_key(s, mk);
	export_qp(s, q);
	k = &s->keys[(key >> 8) % SHM_EXPORTS];
	if (k->area && atomic_load_explicit(&k->key, memory_order_relaxed) == key)
		q->port->chan->ops->export_area(q->port->chan, q->port->shm.rx, k->area);
}

void ibp_revoke(struct eng_dev *dev, uint32_t index)
{
	struct ibp_port *port = dev->proto_port;
	struct shm_export *s = port->chan->export;
	struct shm_export_key *k = &s->keys[index % SHM_EXPORTS];
	struct shm_export_qp *e = &s->qps[index % SHM_EXPORTS];
	bool exported = false, granted = false;

	if (atomic_load_explicit(&k->key, memory_order_relaxed) >> 8 == index) {
		atomic_store_explicit(&k->key, 0, memory_order_relaxed);
		exported = true;
		granted = k->area;
	}
	if (atomic_load_explicit(&e->qpn, memory_order_relaxed) == index) {
		atomic_store_explicit(&e->qpn, 0, memory_order_relaxed);
		exported = granted = true;
	}
	if (granted)
		port->chan->ops->end_grants(port->chan);
	if (exported)
		port->chan->ops->quiesce(port->chan);
}

/* --- rights granted by the tables --- */

static unsigned right_for(uint8_t opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE: return IBV_ACCESS_REMOTE_WRITE;
	case IBV_WR_RDMA_READ: return IBV_ACCESS_REMOTE_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD: return IBV_ACCESS_REMOTE_ATOMIC;
	default: return 0;
	}
}

static bool grants_qp(const struct ibp_qp *q, const struct shm_export *s, unsigned need,
		      uint64_t *ret_pd)
{
	uint32_t qpn = q->qp->attr.dest_qp_num;
	const struct shm_export_qp *e = &s->qps[qpn % SHM_EXPORTS];

	if (atomic_load_explicit(&e->qpn, memory_order_acquire) != qpn)
		return false;
	*ret_pd = e->pd;
	return e->peer == q->qp->qpn && (e->access & need) &&
	       !memcmp(e->addr, q->conn.path.chan.src, sizeof(e->addr));
}

/* Returns the key if it allows all of the request; *ret_addr: the exporter's address of the first byte. */
static const struct shm_export_key *grants(const struct ibp_qp *q, const struct shm_export *s,
					   const struct eng_swqe *w, uint64_t *ret_addr)
{
	const struct shm_export_key *k = &s->keys[(w->rkey >> 8) % SHM_EXPORTS];
	uint64_t pd, off = w->remote_addr;
	unsigned need = right_for(w->opcode);

	if (!grants_qp(q, s, need, &pd) ||
	    atomic_load_explicit(&k->key, memory_order_acquire) != w->rkey)
		return NULL;
	off -= k->iova;
	*ret_addr = k->addr + off;
	return k->pd == pd && (k->access & need) && w->remote_addr >= k->iova &&
			       off <= k->length && w->length <= k->length - off
		       ? k : NULL;
}

/* --- by loads and stores --- */

typedef uint64_t __attribute__((aligned(1), may_alias)) loose_word;

static inline void store_word(uint8_t *to, const uint8_t *from)
{
	*(volatile loose_word *)to = *(const loose_word *)from;
}

/* Stores at most LAST bytes in the order of their addresses, which memcpy() does not promise; eight of them never tear. */
static inline void store_last(uint8_t *to, const uint8_t *from, uint32_t n)
{
	if (n >= 8) {
		for (uint32_t i = 0; i < n - 8; i += 8)
			store_word(to + i, from + i);
		atomic_thread_fence(memory_order_release);
		store_word(to + n - 8, from + n - 8);
	} else if (n == 4) {
		memcpy(to, from, 4);
	} else {
		for (uint32_t i = 0; i < n; i++)
			*(volatile uint8_t *)(to + i) = from[i];
	}
}

static bool gather(struct ibp_qp *q, struct eng_swqe *w, uint8_t *to, uint32_t off, uint32_t len)
{
	struct ibp_shm *shm = &q->port->shm;
	int n;

	if (!len)
		return true;
	if (w->flags & IBV_SEND_INLINE) {
		memcpy(to, eng_swqe_inline(w) + off, len);
		return true;
	}
	n = eng_sge_iov(q->qp->pd, w->sge, w->num_sge, off, len, false, shm->iov, IBP_SHM_PIECES);
	return n > 0 && ut_stage_load_user(&shm->stage, to, shm->iov, n) == (ssize_t)len;
}

static bool scatter(struct ibp_qp *q, struct eng_swqe *w, const uint8_t *from, uint32_t off,
		    uint32_t len)
{
	struct ibp_shm *shm = &q->port->shm;
	int n = eng_sge_iov(q->qp->pd, w->sge, w->num_sge, off, len, true, shm->iov,
			    IBP_SHM_PIECES);

	return n > 0 && ut_stage_store_user(&shm->stage, from, len, shm->iov, n) == (ssize_t)len;
}

static bool store(struct ibp_qp *q, struct eng_swqe *w, uint8_t *at, uint32_t off, uint32_t len)
{
	uint32_t last = off + len == w->length ? (len < LAST ? len : LAST) : 0;
	uint8_t tail[LAST];

	if (!gather(q, w, at, off, len - last) || !gather(q, w, tail, off + len - last, last))
		return false;
	atomic_thread_fence(memory_order_release);
	store_last(at + len - last, tail, last);
	return true;
}

/* The old value goes to the requester's memory, which is probed first: an atomic cannot be executed
 * twice. */
static bool execute(struct ibp_qp *q, struct eng_swqe *w, uint8_t *at)
{
	uint64_t *word = (uint64_t *)at, old;

	if ((uintptr_t)at % 8 || !gather(q, w, (uint8_t *)&old, 0, sizeof(old)) ||
	    !scatter(q, w, (uint8_t *)&old, 0, sizeof(old)))
		return false;
	old = w->atomic.compare_add;
	if (w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		old = __atomic_fetch_add(word, w->atomic.compare_add, __ATOMIC_SEQ_CST);
	else
		__atomic_compare_exchange_n(word, &old, w->atomic.swap, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	scatter(q, w, (uint8_t *)&old, 0, sizeof(old));
	return true;
}

static bool touch(struct ibp_qp *q, struct eng_swqe *w, uint8_t *at, uint32_t off, uint32_t len, uint64_t now)
{
	eng_dev_held(q->port->dev);
	q->port->dev->counters[ENG_C_local_stores]++;
	q->port->shm.stage.pages_checked_at = now;
	switch (w->opcode) {
	case IBV_WR_RDMA_WRITE: return store(q, w, at, off, len);
	case IBV_WR_RDMA_READ: return scatter(q, w, at, off, len);
	default: return execute(q, w, at);
	}
}

/* --- by the kernel --- */

/* Names the requester's memory of one part; the last bytes of the request are a piece of their own.
 * Returns the number of pieces. */
static int our_end(struct ibp_qp *q, struct eng_swqe *w, uint32_t off, uint32_t len)
{
	struct iovec *iov = q->port->shm.iov;
	int n = 1;

	if (w->flags & IBV_SEND_INLINE)
		iov[0] = (struct iovec){ eng_swqe_inline(w) + off, len };
	else
		n = eng_sge_iov(q->qp->pd, w->sge, w->num_sge, off, len,
				w->opcode == IBV_WR_RDMA_READ, iov, IBP_SHM_PIECES);
	return n > 0 && off + len == w->length ? ut_stage_tail(iov, n) : n;
}

static bool by_kernel(const struct eng_swqe *w, const struct shm_access *v)
{
	return (w->opcode == IBV_WR_RDMA_WRITE || w->opcode == IBV_WR_RDMA_READ) && w->length <= v->most;
}

static bool by_copy(struct ibp_qp *q, struct eng_swqe *w, const struct shm_access *v, uint64_t addr,
		     uint32_t off, uint32_t len)
{
	int n = by_kernel(w, v) ? our_end(q, w, off, len) : 0;

	return n > 0 && q->port->chan->ops->access_copy(v, addr, q->port->shm.iov, n,
							    w->opcode == IBV_WR_RDMA_WRITE) ==
				(ssize_t)len;
}

/* --- one request --- */

/* Returns the exporter's memory as it is attached here, or NULL. */
static uint8_t *attached(struct shm_channel *chan, const struct shm_access *v, const struct shm_export_key *k,
		       uint64_t addr, uint32_t len)
{
	if (!k->area || addr < k->area_addr || addr - k->area_addr > k->area_length ||
	    len > k->area_length - (addr - k->area_addr))
		return NULL;
	return chan->ops->access_attached(v, k->area, addr - k->area_addr, len);
}

/* Returns the exporter's memory of all the request, as it is attached here, if the last grant covers it: the access has begun.
 * Else NULL. */
static inline uint8_t *enter(struct ibp_qp *q, uint32_t rkey, uint64_t va, uint64_t length, unsigned need)
{
	const struct ibp_grant *g = &q->conn.grant;
	struct shm_channel *chan = q->port->chan;
	uint64_t off = va - g->from;

	if (rkey != g->rkey || !(g->rights & need) || off > g->length || length > g->length - off ||
	    !shm_grant_begin(chan, &g->access))
		return NULL;
	return g->at + off;
}

/* Keeps what the tables granted, as far as it is attached here. Each word of theirs is read once: at is in the range that is attached. */
static void remember(struct ibp_qp *q, const struct shm_export *s, const struct shm_export_key *k, uint32_t rkey,
		     const struct shm_access *v)
{
	uint64_t addr = k->addr, area_addr = k->area_addr, length = k->length, area_length = k->area_length;
	uint64_t skip = area_addr > addr ? area_addr - addr : 0, in = addr + skip - area_addr;
	struct ibp_grant *g = &q->conn.grant;

	g->access.epoch = 0;
	if (skip >= length || in >= area_length)
		return;
	length = length - skip < area_length - in ? length - skip : area_length - in;
	*g = (struct ibp_grant){
		.access = v->grant, .rkey = rkey, .from = k->iova + skip, .length = length,
		.rights = k->access & s->qps[q->qp->attr.dest_qp_num % SHM_EXPORTS].access,
		.at = q->port->chan->ops->access_attached(v, k->area, in, length),
	};
	if (!g->at)
		g->access.epoch = 0;
}

/* Executes one part of a request and adds it to *done. Returns false if that is not possible. */
static bool access_part(struct ibp_qp *q, struct eng_swqe *w, uint32_t *done, uint64_t now)
{
	struct shm_channel *chan = q->port->chan;
	uint32_t left = (uint32_t)w->length - *done, part = left < PIECE_STORED ? left : PIECE_STORED;
	const struct shm_export *s;
	const struct shm_export_key *k;
	struct shm_access v;
	uint64_t addr = 0;
	uint8_t *at;
	bool ok;

	at = shm_grant_holds(chan, &q->conn.grant.access) ? enter(q, w->rkey, w->remote_addr, w->length, right_for(w->opcode)) : NULL;
	if (at) {
		ok = touch(q, w, at + *done, *done, part, now);
		shm_grant_end(&q->conn.grant.access);
		q->port->shm.stored = true;
		*done += part;
		return ok;
	}
	s = chan->ops->access_begin(chan, &q->conn.path.chan, q->qp->attr.dest_qp_num, &v);
	if (!s)
		return false;
	k = grants(q, s, w, &addr);
	at = k ? attached(chan, &v, k, addr + *done, part) : NULL;
	q->port->shm.stored = at != NULL;
	if (at) {
		ok = touch(q, w, at, *done, part, now);
		remember(q, s, k, w->rkey, &v);
	} else {
		/* A key without an area is revoked without a fence in this process's place. */
		atomic_thread_fence(memory_order_seq_cst);
		k = grants(q, s, w, &addr);
		part = left < PIECE_COPIED ? left : PIECE_COPIED;
		ok = k && by_copy(q, w, &v, addr + *done, *done, part);
	}
	chan->ops->access_end(chan);
	*done += part;
	return ok;
}

static bool is_simple(const struct ibp_qp *q, const struct eng_swqe *w)
{
	unsigned need = right_for(w->opcode);

	return need && w->length && w->length <= q->port->dev->max_msg_sz && !w->started &&
	       !w->verdict && (need == IBV_ACCESS_REMOTE_WRITE || q->qp->attr.max_rd_atomic) &&
	       (need != IBV_ACCESS_REMOTE_ATOMIC || q->port->chan->n_attached);
}

static __attribute__((noinline)) bool has_consumed(struct ibp_qp *q)
{
	struct shm_channel *chan = q->port->chan;

	if (chan->ops->consumed(chan, &q->conn.path.chan, q->qp->attr.dest_qp_num) < q->conn.req.ring_end)
		return false;
	q->conn.req.ring_end = 0;
	return true;
}

/* Returns true if the peer has executed all requests that have left. */
static inline bool is_settled(struct ibp_qp *q)
{
	const struct ibp_req *r = &q->conn.req;

	return r->psn_una == r->psn_next && (q->cls == WIRE_CLASS_RC || !r->ring_end || has_consumed(q));
}

/* Returns true if that is so, and w is the oldest request of the queue. */
static bool is_ready(struct ibp_qp *q, const struct eng_swqe *w)
{
	return is_simple(q, w) && ibp_direct_is_open(q) && is_settled(q) && eng_ring_head(&q->qp->sq) == w;
}

/* Without a wake-up: a peer process that sleeps does not see the memory change either. */
static bool ack_first(struct ibp_qp *q)
{
	struct ibp_shm *shm = &q->port->shm;
	bool quiet = shm->quiet, left;

	shm->quiet = true;
	left = ibp_resp_ack_first(q);
	shm->quiet = quiet;
	return left;
}

/* --- to an observer --- */

static uint8_t opcode_of(uint8_t cls, uint8_t opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE: return cls | WIRE_RC_RDMA_WRITE_ONLY;
	case IBV_WR_RDMA_READ: return WIRE_RC_RDMA_READ_REQUEST;
	case IBV_WR_ATOMIC_CMP_AND_SWP: return WIRE_RC_COMPARE_SWAP;
	default: return WIRE_RC_FETCH_ADD;
	}
}

/* Reads and atomics have placed their data in this process's memory: those are shown. */
static __attribute__((noinline)) void show(struct ibp_qp *q, struct eng_swqe *w)
{
	struct ibp_shm *shm = &q->port->shm;
	struct link_tap_access x = {
		.flow = &q->conn.path.chan, .compare_add = w->atomic.compare_add, .swap = w->atomic.swap,
		.data = shm->iov, .n_data = 1, .length = (uint32_t)w->length, .stores = shm->stored,
		.atomic = ibp_is_atomic(w->opcode),
	};

	ibp_header_put(x.header, (struct ibp_header){
		.opcode = opcode_of(q->cls, w->opcode), .unit = IBP_UNIT, .flags = q->cls == WIRE_CLASS_RC ? IBP_HEADER_ASK : 0, .psn = q->conn.req.psn_next,
		.dest_qpn = q->qp->attr.dest_qp_num, .src_qpn = q->qp->qpn, .rkey = w->rkey, .va = w->remote_addr,
		.length = x.length,
	});
	if (w->flags & IBV_SEND_INLINE)
		shm->iov[0] = (struct iovec){ eng_swqe_inline(w), x.length };
	else
		x.n_data = eng_sge_iov(q->qp->pd, w->sge, w->num_sge, 0, w->length, w->opcode != IBV_WR_RDMA_WRITE,
				       shm->iov, IBP_SHM_PIECES);
	q->port->tap->access(q->port->tap, &x);
}

void ibp_observe(struct eng_dev *dev, struct link_tap *tap)
{
	struct ibp_port *port = dev->proto_port;

	port->tap = tap;
}

/* The packets that a request and its answer would be. */
static void count_exchange(struct ibp_qp *q, uint8_t opcode, uint32_t len)
{
	struct link_count *there = q->conn.path.there, *back = q->conn.path.back;

	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
		ibp_count_packets(q, there, WIRE_RC_RDMA_WRITE_ONLY, len);
		if (q->cls == WIRE_CLASS_RC)
			ibp_count_packets(q, back, WIRE_RC_ACKNOWLEDGE, 0);
		return;
	case IBV_WR_RDMA_READ:
		ibp_count_packets(q, there, WIRE_RC_RDMA_READ_REQUEST, 0);
		ibp_count_packets(q, back, WIRE_RC_RDMA_READ_RESPONSE_ONLY, len);
		return;
	default:
		ibp_count_packets(q, there, opcode_of(WIRE_CLASS_RC, opcode), 0);
		ibp_count_packets(q, back, WIRE_RC_ATOMIC_ACKNOWLEDGE, 0);
	}
}

/* The responder's process does not see the access: where its end is of this adapter, the requester counts for it. */
static inline void count_direct(struct ibp_qp *q, uint8_t opcode, uint32_t length)
{
	bool write = opcode == IBV_WR_RDMA_WRITE, both;
	const struct ut_flow *f = &q->conn.path.chan;
	uint64_t *c = q->port->dev->counters;

	eng_dev_held(q->port->dev);
	both = !memcmp(f->src, f->dst, sizeof(f->src));
	c[ENG_C_local_direct]++;
	c[ENG_C_direct_tx_bytes] += write || both ? length : 0;
	c[ENG_C_direct_rx_bytes] += !write || both ? length : 0;
	if (q->conn.path.there)
		count_exchange(q, opcode, length);
	ibp_show_sent(q, length, IBP_BY_ACCESS);
	q->port->sent++;
}

static inline void executed(struct ibp_qp *q, struct eng_swqe *w)
{
	eng_dev_held(q->port->dev);
	count_direct(q, w->opcode, (uint32_t)w->length);
	q->send.cur++;
	eng_send_end(q->qp, w, ENG_OK);
}

static bool run(struct ibp_qp *q, struct eng_swqe *w, uint64_t now)
{
	uint32_t done = 0;

	if (!ack_first(q))
		return false;
	while (done < w->length)
		if (!access_part(q, w, &done, now))
			return false;
	if (q->port->tap)
		show(q, w);
	executed(q, w);
	return true;
}

/* --- a Write that was granted before --- */

/* Returns the piece's bytes if plain loads from them are safe at that time, else NULL. */
static inline const uint8_t *source(struct ibp_qp *q, const struct ibv_sge *sge, uint64_t length, uint64_t now)
{
	struct ut_stage *st = &q->port->shm.stage;
	const uint8_t *from;

	st->pages_checked_at = now;
	from = eng_sge_at(q->qp->pd, sge, length, false);
	if (!from || ut_stage_has_seen(st, UT_READABLE, from, length) || ut_stage_has_reached(st, UT_READABLE, from, length))
		return from;
	return ut_stage_may_load(st, &(struct iovec){ (void *)(uintptr_t)from, length }, 1) ? from : NULL;
}

static inline bool is_one_part(uint64_t length)
{
	return length - 1 < PIECE_STORED;
}

/* The connection has nothing unusual that a Write without a packet would have to look at: all requests before it are complete, and
 * no acknowledgement is due. */
static inline bool is_plain(struct ibp_qp *q)
{
	return ibp_direct_is_open(q) && is_settled(q) && !q->conn.resp.ack_due && !q->port->tap &&
	       q->send.cur == atomic_load_explicit(&q->qp->sq.head, memory_order_relaxed);
}

/* Stores all of a Write by the last grant. Returns false if that does not cover it. */
static inline bool store_granted(struct ibp_qp *q, const uint8_t *from, uint32_t rkey, uint64_t va, uint32_t len)
{
	uint8_t *at = enter(q, rkey, va, len, IBV_ACCESS_REMOTE_WRITE);
	uint32_t last = len < LAST ? len : LAST;

	if (!at)
		return false;
	if (len > last)
		memcpy(at, from, len - last);
	atomic_thread_fence(memory_order_release);
	store_last(at + len - last, from + len - last, last);
	shm_grant_end(&q->conn.grant.access);
	eng_dev_held(q->port->dev);
	q->port->dev->counters[ENG_C_local_stores]++;
	return true;
}

/* In one part, without anything unusual. Returns false if nothing has happened. */
static inline bool write_again(struct ibp_qp *q, struct eng_swqe *w, uint64_t now)
{
	const uint8_t *from;

	if (w->opcode != IBV_WR_RDMA_WRITE || !is_one_part(w->length) || (w->started | w->verdict) || !is_plain(q))
		return false;
	if (w->flags & IBV_SEND_INLINE)
		from = eng_swqe_inline(w);
	else
		from = now && w->num_sge == 1 ? source(q, w->sge, w->length, now) : NULL;
	if (!from || !store_granted(q, from, w->rkey, w->remote_addr, (uint32_t)w->length))
		return false;
	executed(q, w);
	return true;
}

bool ibp_direct_now(struct ibp_qp *q, const struct ibv_send_wr *wr, unsigned how)
{
	uint32_t len = wr->sg_list->length;
	const uint8_t *from;

	if (!shm_grant_holds(q->port->chan, &q->conn.grant.access) || !is_one_part(len) || !is_plain(q) ||
	    q->send.cur != atomic_load_explicit(&q->qp->sq.tail, memory_order_relaxed) || !q->qp->sq.max)
		return false;
	from = source(q, wr->sg_list, len, how & PROTO_POST_SEND ? q->port->link->rx_stage->pages_checked_at : ut_now_coarse());
	if (!from || !store_granted(q, from, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, len))
		return false;
	UT_PROBE4(post_send, q->qp->qpn, wr->opcode, wr->wr_id, wr->num_sge);
	count_direct(q, IBV_WR_RDMA_WRITE, len);
	if ((wr->send_flags & IBV_SEND_SIGNALED) || q->qp->sq_sig_all)
		eng_complete_usual(q->qp, q->qp->send_cq, wr->wr_id, len, IBV_WC_RDMA_WRITE, 0, 0, false, ENG_V_TX_CQ_FULL);
	return true;
}

bool ibp_direct(struct ibp_qp *q, struct eng_swqe *w, uint64_t now)
{
	return is_ready(q, w) && run(q, w, now);
}

/* The requests before it are acknowledged soon, unless one waits for a receive, or the peer process
 * sleeps. */
bool ibp_direct_next(struct ibp_qp *q, const struct eng_swqe *w)
{
	struct shm_channel *chan = q->port->chan;
	const struct ibp_req *r = &q->conn.req;
	const struct shm_export_key *k;
	const struct shm_export *s;
	struct shm_access v;
	uint64_t addr;
	bool yes;

	if (w->length < WORTH || !is_simple(q, w) || r->psn_una == r->psn_next || !ibp_direct_is_open(q) ||
	    psn_diff(r->psn_una, r->peer_psn) <= 0)
		return false;
	s = chan->ops->access_begin(chan, &q->conn.path.chan, q->qp->attr.dest_qp_num, &v);
	if (!s)
		return false;
	k = grants(q, s, w, &addr);
	yes = k && (by_kernel(w, &v) || attached(chan, &v, k, addr, 1));
	chan->ops->access_end(chan);
	return yes;
}

static bool is_soon(const struct ibp_qp *q, const struct eng_swqe *w)
{
	return ibp_direct_is_open(q) && q->conn.req.psn_una != q->conn.req.psn_next && is_simple(q, w);
}

/*
 * Plain loads and stores between attached memory and the request's need the time (util/stage.h);
 * inline data name no memory, and threads other than the application's leave the application's
 * memory to the kernel.
 */
static bool needs_time(const struct ibp_qp *q, const struct eng_swqe *w, unsigned how)
{
	return (how & PROTO_POST_BY_APP) && q->port->chan->n_attached && !(w->flags & IBV_SEND_INLINE);
}

enum proto_posted ibp_direct_post(struct eng_qp *qp, struct eng_swqe *w, unsigned how, uint64_t now)
{
	struct ibp_qp *q = ibp_qp(qp);

	for (; w; w = ibp_direct_first(qp)) {
		if (shm_grant_holds(q->port->chan, &q->conn.grant.access) && write_again(q, w, now))
			continue;
		if (!is_ready(q, w))
			break;
		if (!now && needs_time(q, w, how))
			return PROTO_NEEDS_TIME;
		if (!run(q, w, now))
			return PROTO_NEEDS_ROUND;
	}
	if (!w)
		return ibp_direct_done(qp) ? PROTO_EXECUTED : PROTO_NEEDS_ROUND;
	return (how & PROTO_POST_ACKS) && is_soon(q, w) ? PROTO_AFTER_ACKS : PROTO_NEEDS_ROUND;
}

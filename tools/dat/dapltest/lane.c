/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "lane.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "six.h"

#define ADVERT_BYTES 64
#define LANE_MAGIC 0x4c414e45u

struct advert {
	uint32_t magic, context;	/* all fields in network order */
	uint64_t base;
};

static uint64_t rounded(uint64_t n)
{
	return (n + 63) & ~(uint64_t)63;
}

static uint64_t advert_bytes(const struct dtt_plan *plan)
{
	if (!plan->six)
		return sizeof(struct advert);
	return plan->kind == 'P' ? SIX_PAIR : SIX_MEMORY;
}

/* The advertisement of this end, the peer's behind it, and then what version 6 has besides. */
static uint64_t advert_room(const struct dtt_plan *plan)
{
	return plan->six ? rounded(advert_bytes(plan)) : ADVERT_BYTES;
}

static uint64_t lay_out(struct dtt_lane *l)
{
	uint64_t at = 2 * advert_room(l->plan) + (l->plan->six ? SIX_SYNC : 0);
	uint32_t i;

	for (i = 0; i < l->plan->n_ops; i++) {
		uint64_t bytes = rounded(dtt_op_bytes(&l->plan->ops[i]));

		l->at[i] = at;
		at += l->plan->ops[i].type == DTT_SR ? 3 * bytes : bytes;
	}
	return at;
}

/* Returns the number of requests of an RDMA Read: iWARP scatters into one segment only. */
static uint32_t read_pieces(const struct dtt_lane *l, const struct dtt_op *op, uint32_t *ret_each)
{
	int most = l->end.ia->attr.max_iov_segments_per_rdma_read;
	uint32_t each = most < 1 ? 1 : (uint32_t)most;

	if (each > op->segments)
		each = op->segments;
	*ret_each = each;
	return (op->segments + each - 1) / each;
}

static struct dtl_end_wish wish_for(struct dtt_lane *l, struct dtl_ia *ia, DAT_CNO_HANDLE cno,
				    DAT_QOS qos)
{
	struct dtl_end_wish w = { .recvs = 3, .requests = 3, .iov = 1, .how = l->plan->how,
				  .cno = cno, .srq = DAT_HANDLE_NULL, .qos = qos };
	uint32_t i, each;

	for (i = 0; i < l->plan->n_ops; i++) {
		const struct dtt_op *op = &l->plan->ops[i];

		if (op->side == l->side)
			w.requests += op->type == DTT_RR ? read_pieces(l, op, &each) : 1;
		else if (op->type == DTT_SR)
			w.recvs += 2;
		if ((int)op->segments > w.iov)
			w.iov = op->segments;
	}
	if (l->plan->kind == 'P')
		w.requests += l->plan->window * (w.requests - 3);
	if (w.iov > ia->attr.max_iov_segments_per_dto)
		w.iov = ia->attr.max_iov_segments_per_dto;
	return w;
}

static int post_advert_recv(struct dtt_lane *l)
{
	uint64_t room = advert_room(l->plan);
	DAT_LMR_TRIPLET seg = dtl_segment(l->mem.context, l->mem.start + room, room);

	return dtl_post_recv(&l->end, &seg, 1, l->recv_posted++);
}

/* The receives of a lane that is not yet connected. */
static int post_first_recvs(struct dtt_lane *l)
{
	if (post_advert_recv(l) != 0)
		return -1;
	if (l->plan->six && l->plan->kind == 'P')
		return 0;
	if (l->plan->kind == 'P')
		return post_advert_recv(l);
	if (l->plan->six && dtt_lane_post_sync(l) != 0)
		return -1;
	return dtt_lane_post_recvs(l, 0);
}

int dtt_lane_make(struct dtt_lane *l, struct dtl_ia *ia, const struct dtt_plan *plan,
		  enum dtt_side side, DAT_CNO_HANDLE cno, DAT_QOS qos)
{
	struct dtl_end_wish wish;

	*l = (struct dtt_lane){ .plan = plan, .side = side, .end = { .ia = ia },
				.mem = { .lmr = DAT_HANDLE_NULL } };
	wish = wish_for(l, ia, cno, qos);
	if (wish.requests > ia->attr.max_dto_per_ep || wish.recvs > ia->attr.max_dto_per_ep) {
		dtl_complain("%d requests and %d receives at a time: the IA takes %d: the test fails; use a "
			     "smaller window, or fewer operations",
			     wish.requests, wish.recvs, ia->attr.max_dto_per_ep);
		return -1;
	}
	if (plan->six) {
		l->peer = calloc(SIX_OPS_MAX, sizeof(*l->peer));
		if (!l->peer) {
			dtl_complain("no memory for an endpoint's operations: the test fails; use fewer endpoints (-w), or "
				     "raise the limit on memory");
			return -1;
		}
	}
	if (dtl_mem_make(&l->mem, ia, lay_out(l), DAT_MEM_PRIV_ALL_FLAG) == 0 &&
	    dtl_end_make(&l->end, ia, &wish) == 0 && post_first_recvs(l) == 0)
		return 0;
	dtt_lane_drop(l);
	return -1;
}

int dtt_lane_drop(struct dtt_lane *l)
{
	int bad = dtl_end_drop(&l->end);

	free(l->peer);
	l->peer = NULL;
	return dtl_mem_drop(&l->mem) | bad;
}

/* Whether an operation begins RDMA at that end. */
static bool is_rdma_of(const struct dtt_op *op, enum dtt_side side)
{
	return op->type != DTT_SR && op->side == side;
}

static void put_six(struct dtt_lane *l)
{
	enum dtt_side peer = l->side == DTT_CLIENT ? DTT_SERVER : DTT_CLIENT;
	uint32_t i;

	memset(l->mem.start, 0, advert_bytes(l->plan));
	for (i = 0; i < l->plan->n_ops; i++)
		if (is_rdma_of(&l->plan->ops[i], peer))
			six_put_pair(l->mem.start + i * SIX_PAIR, l->plan,
				     (struct six_pair){ l->mem.remote, (uintptr_t)l->mem.start + l->at[i] });
}

static void get_six(struct dtt_lane *l)
{
	uint32_t i;

	for (i = 0; i < l->plan->n_ops; i++)
		l->peer[i] = six_get_pair(l->mem.start + advert_room(l->plan) + i * SIX_PAIR, l->plan);
}

static int post_advert(struct dtt_lane *l)
{
	struct advert advert = { .magic = htonl(LANE_MAGIC), .context = htonl(l->mem.remote),
			     .base = htobe64((uintptr_t)l->mem.start) };
	DAT_LMR_TRIPLET seg = dtl_segment(l->mem.context, l->mem.start, advert_bytes(l->plan));

	if (l->plan->six)
		put_six(l);
	else
		memcpy(l->mem.start, &advert, sizeof(advert));
	return dtl_post_send(&l->end, &seg, 1, l->posted++);
}

int dtt_lane_advertise(struct dtt_lane *l)
{
	return post_advert(l) != 0 ? -1 : dtt_lane_reap_requests(l);
}

int dtt_lane_part(struct dtt_lane *l)
{
	if (!l->plan->six)
		return dtt_lane_advertise(l);
	return post_advert(l) != 0 ? -1 : dtt_lane_reap_parting(l);
}

int dtt_lane_learn(struct dtt_lane *l)
{
	struct advert advert;

	if (dtt_lane_reap_recv(l, advert_bytes(l->plan)) != 0)
		return -1;
	if (l->plan->six) {
		get_six(l);
		return 0;
	}
	memcpy(&advert, l->mem.start + ADVERT_BYTES, sizeof(advert));
	if (ntohl(advert.magic) != LANE_MAGIC) {
		dtl_complain("the peer's first message does not describe its memory: the test fails; run the "
			     "same version at both ends");
		return -1;
	}
	l->peer_context = ntohl(advert.context);
	l->peer_base = be64toh(advert.base);
	return 0;
}

/*
 * The end that connected sends first: over iWARP the other one must not (RFC 5044, 7.1.2), since its data may arrive
 * together with its answer, for which siw refuses the connection. Only P of version 6 begins at the server.
 */
int dtt_lane_exchange(struct dtt_lane *l)
{
	if (l->plan->six && l->plan->kind == 'P')
		return l->side == DTT_CLIENT ? dtt_lane_learn(l) : dtt_lane_advertise(l);
	if (l->side == DTT_CLIENT)
		return dtt_lane_advertise(l) != 0 ? -1 : dtt_lane_learn(l);
	return dtt_lane_learn(l) != 0 ? -1 : dtt_lane_advertise(l);
}

/* Their bytes mean nothing: what is sent is the advertisement, and what comes is not read. */
int dtt_lane_post_sync(struct dtt_lane *l)
{
	DAT_LMR_TRIPLET seg = dtl_segment(l->mem.context, l->mem.start + 2 * advert_room(l->plan), SIX_SYNC);

	return dtl_post_recv(&l->end, &seg, 1, l->recv_posted++);
}

int dtt_lane_send_sync(struct dtt_lane *l)
{
	DAT_LMR_TRIPLET seg = dtl_segment(l->mem.context, l->mem.start, SIX_SYNC);

	return dtl_post_send(&l->end, &seg, 1, l->posted++);
}

int dtt_lane_reap_sync(struct dtt_lane *l)
{
	return dtt_lane_reap_recv(l, SIX_SYNC);
}

int dtt_lane_reap_last(struct dtt_lane *l)
{
	return dtl_reap_late(&l->end, l->end.recv, l->recv_reaped++, NULL);
}

char *dtt_lane_send_part(struct dtt_lane *l, uint32_t op)
{
	return l->mem.start + l->at[op];
}

char *dtt_lane_recv_part(struct dtt_lane *l, uint32_t op, uint64_t iteration)
{
	return l->mem.start + l->at[op] +
	       (1 + iteration % 2) * rounded(dtt_op_bytes(&l->plan->ops[op]));
}

static void segments(struct dtt_lane *l, char *start, const struct dtt_op *op,
		     DAT_LMR_TRIPLET *segs)
{
	uint32_t i;

	for (i = 0; i < op->segments; i++)
		segs[i] = dtl_segment(l->mem.context, start + (uint64_t)i * op->size, op->size);
}

int dtt_lane_post_recvs(struct dtt_lane *l, uint64_t iteration)
{
	DAT_LMR_TRIPLET segs[DTT_SEGMENTS_MAX];
	uint32_t i;

	for (i = 0; i < l->plan->n_ops; i++) {
		const struct dtt_op *op = &l->plan->ops[i];

		if (op->type != DTT_SR || op->side == l->side)
			continue;
		segments(l, dtt_lane_recv_part(l, i, iteration), op, segs);
		if (dtl_post_recv(&l->end, segs, op->segments, l->recv_posted) != 0)
			return -1;
		l->recv_posted++;
	}
	return 0;
}

static int post_rdma(struct dtt_lane *l, const struct dtt_op *op, uint32_t nr,
		     DAT_LMR_TRIPLET *segs, uint32_t first, uint32_t n)
{
	uint64_t start = l->peer ? l->peer[nr].address : l->peer_base + l->at[nr];
	DAT_RMR_TRIPLET to = dtl_remote(l->peer ? l->peer[nr].context : l->peer_context,
					start + (uint64_t)first * op->size, (uint64_t)n * op->size);
	DAT_DTO_COOKIE cookie = { .as_64 = l->posted };
	DAT_RETURN r;

	if (op->type == DTT_RW)
		r = dat_ep_post_rdma_write(l->end.ep, n, segs + first, cookie, &to,
					   DAT_COMPLETION_DEFAULT_FLAG);
	else
		r = dat_ep_post_rdma_read(l->end.ep, n, segs + first, cookie, &to,
					  DAT_COMPLETION_DEFAULT_FLAG);
	if (dtl_check(r, op->type == DTT_RW ? "dat_ep_post_rdma_write" : "dat_ep_post_rdma_read"))
		return -1;
	l->posted++;
	l->count.wqes++;
	return 0;
}

static int post_reads(struct dtt_lane *l, const struct dtt_op *op, uint32_t nr,
		      DAT_LMR_TRIPLET *segs)
{
	uint32_t each, first;

	read_pieces(l, op, &each);
	for (first = 0; first < op->segments; first += each)
		if (post_rdma(l, op, nr, segs, first, op->segments - first < each ?
			      op->segments - first : each) != 0)
			return -1;
	l->count.read += dtt_op_bytes(op);
	return 0;
}

int dtt_lane_post(struct dtt_lane *l, uint32_t nr)
{
	const struct dtt_op *op = &l->plan->ops[nr];
	DAT_LMR_TRIPLET segs[DTT_SEGMENTS_MAX];

	segments(l, dtt_lane_send_part(l, nr), op, segs);
	if (op->type == DTT_RR)
		return post_reads(l, op, nr, segs);
	if (op->type == DTT_RW) {
		l->count.written += dtt_op_bytes(op);
		return post_rdma(l, op, nr, segs, 0, op->segments);
	}
	if (dtl_post_send(&l->end, segs, op->segments, l->posted) != 0)
		return -1;
	l->posted++;
	l->count.wqes++;
	l->count.sent += dtt_op_bytes(op);
	return 0;
}

int dtt_lane_reap_requests(struct dtt_lane *l)
{
	while (l->reaped < l->posted) {
		if (dtl_reap(&l->end, l->end.request, l->reaped, NULL) != 0)
			return -1;
		l->reaped++;
	}
	return 0;
}

int dtt_lane_reap_parting(struct dtt_lane *l)
{
	while (l->reaped < l->posted) {
		if (dtl_reap_parting(&l->end, l->reaped) != 0)
			return -1;
		l->reaped++;
	}
	return 0;
}

int dtt_lane_reap_recv(struct dtt_lane *l, uint64_t expected)
{
	uint64_t length;

	if (dtl_reap(&l->end, l->end.recv, l->recv_reaped, &length) != 0)
		return -1;
	l->recv_reaped++;
	if (length != expected) {
		dtl_complain("a message of %llu bytes arrived with %llu",
			     (unsigned long long)expected, (unsigned long long)length);
		return -1;
	}
	l->count.wqes++;
	l->count.received += length;
	return 0;
}

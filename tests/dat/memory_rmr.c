/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Remote memory regions: both scopes, from creation to the peer's refused access. */
#include "mem_pair.h"

#define RMR_BAD ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR)
#define NO_MODEL ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)
#define ARG(n) ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define RW (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
#define EP_SCOPE (DAT_RMR_SCOPE_EP)

/* a is the peer that reads and writes; the RMRs are b's. */
static struct mp p;
static DAT_RMR_SCOPE scope;

static DAT_RMR_HANDLE create(void)
{
	DAT_RMR_HANDLE r;

	OK(scope == EP_SCOPE ? dat_rmr_create_for_ep(p.b.pz, &r) : dat_rmr_create(p.b.pz, &r));
	return r;
}

static DAT_RETURN bind_flags(DAT_RMR_HANDLE r, uint64_t off, uint32_t len, int priv, uint64_t cookie,
			     int flags, DAT_RMR_CONTEXT *ctx)
{
	DAT_LMR_TRIPLET t = mp_at(&p.b, off, len);

	return dat_rmr_bind(r, p.b.lmr, &t, (DAT_MEM_PRIV_FLAGS)priv, DAT_VA_TYPE_VA, p.b.ep,
			    mp_cookie(cookie), (DAT_COMPLETION_FLAGS)flags, ctx);
}

static DAT_RMR_CONTEXT show(DAT_RMR_HANDLE r, uint64_t off, uint32_t len, int priv)
{
	DAT_RMR_CONTEXT ctx = 0;

	OK(bind_flags(r, off, len, priv, off + 1, 0, &ctx));
	BOUND(p.b.req, r, off + 1, DAT_DTO_SUCCESS);
	CHECK(ctx);
	return ctx;
}

static void hide(DAT_RMR_HANDLE r)
{
	DAT_RMR_CONTEXT ctx = 1;

	OK(bind_flags(r, 0, 0, 0, 99, 0, &ctx));
	BOUND(p.b.req, r, 99, DAT_DTO_SUCCESS);
}

static DAT_RETURN reach(bool write, DAT_RMR_CONTEXT ctx, uint64_t off, uint32_t len)
{
	DAT_RMR_TRIPLET there = { (uintptr_t)p.b.buf + off, len, ctx };
	DAT_LMR_TRIPLET here = mp_at(&p.a, off, len);

	return write ? dat_ep_post_rdma_write(p.a.ep, 1, &here, mp_cookie(7), &there, 0)
		     : dat_ep_post_rdma_read(p.a.ep, 1, &here, mp_cookie(7), &there, 0);
}

static void works(bool write, DAT_RMR_CONTEXT ctx, uint64_t off, uint32_t len)
{
	char *from = write ? p.a.buf : p.b.buf, *to = write ? p.b.buf : p.a.buf;

	memset(to, 0, 4096);
	mp_paint(from + off, len, (uint32_t)off + len);
	OK(reach(write, ctx, off, len));
	DTO(p.a.req, write ? DAT_DTO_RDMA_WRITE : DAT_DTO_RDMA_READ, 7, DAT_DTO_SUCCESS);
	if (write)
		mp_settle(&p);
	CHECK(mp_painted(to + off, len, (uint32_t)off + len));
}

/* The responder refuses the peer's request, and the connection is broken. A Write over iWARP has
 * completed by then: the next operation fails. */
static void refused(bool write, DAT_RMR_CONTEXT ctx, uint64_t off, uint32_t len)
{
	memset(p.b.buf, 0x11, 4096);
	memset(p.a.buf, 0x22, 4096);
	OK(reach(write, ctx, off, len));
	if (write && mp_is_iwarp())
		DTO(p.a.req, DAT_DTO_RDMA_WRITE, 7, DAT_DTO_SUCCESS);
	else
		DTO(p.a.req, write ? DAT_DTO_RDMA_WRITE : DAT_DTO_RDMA_READ, 7,
		    DAT_DTO_ERR_REMOTE_ACCESS);
	mp_ended(&p.a, DAT_CONNECTION_EVENT_BROKEN);
	mp_next(p.b.conn);
	for (int i = 0; i < 4096; i++)
		CHECK(p.b.buf[i] == 0x11 && p.a.buf[i] == 0x22);
	mp_again(&p);
}

static void arguments(void)
{
	DAT_LMR_TRIPLET t = mp_at(&p.b, 0, 64);
	DAT_RMR_HANDLE r = create();
	DAT_RMR_CONTEXT ctx;
	DAT_RMR_PARAM q;
	DAT_COUNT i;

	WANT(dat_rmr_create(DAT_HANDLE_NULL, &r), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ));
	WANT(dat_rmr_create(p.b.pz, NULL), ARG(2));
	WANT(dat_rmr_query(DAT_HANDLE_NULL, DAT_RMR_FIELD_ALL, &q), RMR_BAD);
	WANT(dat_rmr_query(r, DAT_RMR_FIELD_ALL, NULL), ARG(3));
	WANT(dat_rmr_query(r, (DAT_RMR_PARAM_MASK)0x80, &q), ARG(2));
	WANT(dat_rmr_free((DAT_RMR_HANDLE)p.b.lmr), RMR_BAD);
	OK(dat_rmr_query(r, DAT_RMR_FIELD_ALL, &q));
	CHECK(q.ia_handle == p.b.ia && q.pz_handle == p.b.pz && q.rmr_scope == scope);
	CHECK(!q.rmr_context && !q.lmr_triplet.segment_length && !q.mem_priv);
#define BIND(rmr, lmr, t, priv, va, ep, flags, ctx) \
	dat_rmr_bind(rmr, lmr, t, (DAT_MEM_PRIV_FLAGS)(priv), (DAT_VA_TYPE)(va), ep, mp_cookie(1), \
		     (DAT_COMPLETION_FLAGS)(flags), ctx)
	WANT(BIND(DAT_HANDLE_NULL, p.b.lmr, &t, RW, 0, p.b.ep, 0, &ctx), RMR_BAD);
	WANT(BIND(r, DAT_HANDLE_NULL, &t, RW, 0, p.b.ep, 0, &ctx),
	     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR));
	WANT(BIND(r, p.a.lmr, &t, RW, 0, p.b.ep, 0, &ctx),
	     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR));
	WANT(BIND(r, p.b.lmr, NULL, RW, 0, p.b.ep, 0, &ctx), ARG(3));
	WANT(BIND(r, p.b.lmr, &t, 0x800, 0, p.b.ep, 0, &ctx), ARG(4));
	WANT(BIND(r, p.b.lmr, &t, RW, 2, p.b.ep, 0, &ctx), ARG(5));
	WANT(BIND(r, p.b.lmr, &t, RW, 0, DAT_HANDLE_NULL, 0, &ctx),
	     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP));
	WANT(BIND(r, p.b.lmr, &t, RW, 0, p.b.ep, DAT_COMPLETION_SOLICITED_WAIT_FLAG, &ctx), ARG(8));
	WANT(BIND(r, p.b.lmr, &t, RW, 0, p.b.ep, 0, NULL), ARG(9));
	t.lmr_context ^= 0x100;
	WANT(BIND(r, p.b.lmr, &t, RW, 0, p.b.ep, 0, &ctx), ARG(3));
	t = mp_at(&p.b, MP_BUF - 63, 64);
	WANT(BIND(r, p.b.lmr, &t, RW, 0, p.b.ep, 0, &ctx), ARG(3));
	t = mp_at(&p.b, 0, 64);
	t.virtual_address--;
	WANT(BIND(r, p.b.lmr, &t, RW, 0, p.b.ep, 0, &ctx), ARG(3));
	for (i = 0; i < 3; i++)
		mp_none(p.b.req);
	OK(dat_rmr_free(r));
	WANT(dat_rmr_free(r), RMR_BAD);
}

/* The region's rights limit those of the window; zones must be the same. */
static void rights(void)
{
	DAT_REGION_DESCRIPTION d = { .for_va = p.b.buf };
	DAT_LMR_TRIPLET t = { (uintptr_t)p.b.buf, 64, 0 };
	DAT_RMR_HANDLE r = create(), foreign;
	DAT_RMR_CONTEXT ctx;
	DAT_LMR_HANDLE l;
	DAT_PZ_HANDLE pz;

	OK(dat_lmr_create(p.b.ia, DAT_MEM_TYPE_VIRTUAL, d, 64, p.b.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG, 0,
			  &l, &t.lmr_context, NULL, NULL, NULL));
	WANT(BIND(r, l, &t, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0, p.b.ep, 0, &ctx),
	     ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE));
	OK(dat_lmr_free(l));
	OK(dat_lmr_create(p.b.ia, DAT_MEM_TYPE_VIRTUAL, d, 64, p.b.pz, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			  0, &l, &t.lmr_context, NULL, NULL, NULL));
	WANT(BIND(r, l, &t, DAT_MEM_PRIV_REMOTE_READ_FLAG, 0, p.b.ep, 0, &ctx),
	     ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ));
	OK(dat_lmr_free(l));
	OK(dat_pz_create(p.b.ia, &pz));
	OK(scope == EP_SCOPE ? dat_rmr_create_for_ep(pz, &foreign) : dat_rmr_create(pz, &foreign));
	t = mp_at(&p.b, 0, 64);
	WANT(BIND(foreign, p.b.lmr, &t, RW, 0, p.b.ep, 0, &ctx),
	     ERR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE));
	WANT(dat_pz_free(pz), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE));
	OK(dat_rmr_free(foreign));
	OK(dat_pz_free(pz));
	OK(dat_rmr_free(r));
}

static void life(void)
{
	DAT_REGION_DESCRIPTION d = { .for_va = p.b.buf };
	DAT_RMR_CONTEXT one, two;
	DAT_RMR_HANDLE r = create();
	DAT_LMR_TRIPLET t;
	DAT_LMR_HANDLE l;
	DAT_RMR_PARAM q;

	one = show(r, 128, 256, RW);
	OK(dat_rmr_query(r, DAT_RMR_FIELD_ALL, &q));
	CHECK(q.rmr_context == one && q.lmr_triplet.segment_length == 256 && q.mem_priv == RW);
	CHECK(q.lmr_triplet.virtual_address == (uintptr_t)p.b.buf + 128 && q.va_type == 0);
	WANT(dat_lmr_free(p.b.lmr), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE));
	works(true, one, 128, 256);
	works(false, one, 200, 100);
	two = show(r, 512, 64, RW);
	CHECK(two != one);
	works(true, two, 512, 64);
	refused(true, one, 128, 64); /* the old context died with the new bind */
	if (scope == EP_SCOPE) { /* bound to an endpoint that was freed */
		OK(dat_rmr_query(r, DAT_RMR_FIELD_ALL, &q));
		CHECK(!q.rmr_context);
	} else {
		works(false, two, 512, 64);
	}
	two = show(r, 0, 64, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	works(false, two, 0, 64);
	refused(true, two, 0, 8); /* no right to write */
	two = show(r, 0, 64, RW);
	refused(false, two, 60, 8); /* beyond its end */
	two = show(r, 0, 64, RW);
	hide(r);
	OK(dat_rmr_query(r, DAT_RMR_FIELD_ALL, &q));
	CHECK(!q.rmr_context && !q.lmr_triplet.segment_length);
	refused(false, two, 0, 8);
	hide(r); /* of nothing */
	two = show(r, 64, 64, RW);
	OK(dat_rmr_free(r)); /* unbinds */
	refused(true, two, 64, 8);
	/* the region is free again with the last binding */
	r = create();
	OK(dat_lmr_create(p.b.ia, DAT_MEM_TYPE_VIRTUAL, d, 4096, p.b.pz, DAT_MEM_PRIV_ALL_FLAG, 0, &l,
			  &t.lmr_context, NULL, NULL, NULL));
	t.virtual_address = (uintptr_t)p.b.buf;
	t.segment_length = 64;
	OK(BIND(r, l, &t, RW, 0, p.b.ep, 0, &two));
	BOUND(p.b.req, r, 1, DAT_DTO_SUCCESS);
	WANT(dat_lmr_free(l), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE));
	hide(r);
	OK(dat_lmr_free(l));
	OK(dat_rmr_free(r));
}

/* Many binds in a row without a wait, some suppressed: the last one counts. */
static void burst(void)
{
	DAT_RMR_HANDLE r = create();
	DAT_RMR_CONTEXT ctx = 0;
	unsigned int told = 0;
	DAT_RETURN ret;

	for (uint64_t i = 0; i < 500; i++) {
		bool quiet = i % 3;

		do {
			ret = bind_flags(r, 64 * (i % 8), 64, RW, i,
					 quiet ? DAT_COMPLETION_SUPPRESS_FLAG : 0, &ctx);
			if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES)
				while (told <= i / 3 && told * 3 < i) {
					BOUND(p.b.req, r, 3 * (uint64_t)told, DAT_DTO_SUCCESS);
					told++;
				}
		} while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES);
		OK(ret);
	}
	for (; told * 3 < 500; told++)
		BOUND(p.b.req, r, 3 * (uint64_t)told, DAT_DTO_SUCCESS);
	mp_none(p.b.req);
	works(true, ctx, 64 * (499 % 8), 64);
	OK(dat_rmr_free(r));
}

static void zero_based(void)
{
	DAT_LMR_TRIPLET t = mp_at(&p.b, 256, 128), here = mp_at(&p.a, 0, 32);
	DAT_RMR_TRIPLET there = { 16, 32, 0 };
	DAT_RMR_HANDLE r = create();
	DAT_RETURN ret = BIND(r, p.b.lmr, &t, RW, DAT_VA_TYPE_ZB, p.b.ep, 0, &there.rmr_context);

	if (scope != EP_SCOPE || !p.b.attr.zb_supported) {
		WANT(ret, NO_MODEL);
	} else {
		OK(ret);
		BOUND(p.b.req, r, 1, DAT_DTO_SUCCESS);
		memset(p.b.buf, 0, 4096);
		mp_paint(p.a.buf, 32, 77);
		OK(dat_ep_post_rdma_write(p.a.ep, 1, &here, mp_cookie(1), &there, 0));
		DTO(p.a.req, DAT_DTO_RDMA_WRITE, 1, DAT_DTO_SUCCESS);
		mp_settle(&p);
		CHECK(mp_painted(p.b.buf + 256 + 16, 32, 77));
	}
	OK(dat_rmr_free(r));
}

/* The peer invalidates the context with a Send, which only works for windows of scope EP. */
static void remote_invalidate(void)
{
	DAT_RMR_HANDLE r = create();
	DAT_RMR_CONTEXT ctx = show(r, 0, 64, RW);
	DAT_LMR_TRIPLET t = mp_at(&p.a, 0, 8);
	DAT_DTO_COMPLETION_EVENT_DATA d;
	DAT_RMR_PARAM q;

	OK(mp_recv(&p.b, 1024, 8, 2));
	OK(dat_ep_post_send_with_invalidate(p.a.ep, 1, &t, mp_cookie(1), 0, DAT_TRUE, ctx));
	if (scope != EP_SCOPE) {
		mp_next(p.a.req);
		mp_next(p.a.conn);
		mp_next(p.b.conn);
		mp_again(&p);
		OK(dat_rmr_free(r));
		return;
	}
	DTO(p.a.req, DAT_DTO_SEND, 1, DAT_DTO_SUCCESS);
	d = DTO(p.b.recv, DAT_DTO_RECEIVE_WITH_INVALIDATE, 2, DAT_DTO_SUCCESS);
	CHECK(d.rmr_context == ctx && d.transfered_length == 8);
	OK(dat_rmr_query(r, DAT_RMR_FIELD_ALL, &q));
	CHECK(!q.rmr_context);
	refused(false, ctx, 0, 8);
	ctx = show(r, 0, 64, RW); /* and bound again */
	works(true, ctx, 0, 64);
	/* without the flag: an ordinary Send */
	OK(mp_recv(&p.b, 1024, 8, 2));
	OK(dat_ep_post_send_with_invalidate(p.a.ep, 1, &t, mp_cookie(1), 0, DAT_FALSE, ctx));
	DTO(p.a.req, DAT_DTO_SEND, 1, DAT_DTO_SUCCESS);
	DTO(p.b.recv, DAT_DTO_RECEIVE, 2, DAT_DTO_SUCCESS);
	works(true, ctx, 0, 64);
	OK(dat_rmr_free(r));
}

/* A Read whose sink is named by an RMR; here b reads from a. */
static void read_to(void)
{
	DAT_RMR_HANDLE r = create();
	DAT_RMR_TRIPLET sink = { (uintptr_t)p.b.buf + 128, 64, show(r, 128, 64, RW) };
	DAT_RMR_TRIPLET from = mp_rmt(&p.a, 0, 64);
	DAT_EP_HANDLE ep = p.b.ep;
	DAT_DTO_COMPLETION_EVENT_DATA d;

	memset(p.b.buf, 0, 4096);
	mp_paint(p.a.buf, 64, 31);
	OK(dat_ep_post_rdma_read_to_rmr(ep, &sink, mp_cookie(5), &from, 0));
	d = DTO(p.b.req, DAT_DTO_RDMA_READ, 5, DAT_DTO_SUCCESS);
	CHECK(d.transfered_length == 64 && mp_painted(p.b.buf + 128, 64, 31));
	sink.virtual_address += 1;
	WANT(dat_ep_post_rdma_read_to_rmr(ep, &sink, mp_cookie(5), &from, 0), ARG(2));
	sink.virtual_address -= 1;
	sink.segment_length = 63;
	WANT(dat_ep_post_rdma_read_to_rmr(ep, &sink, mp_cookie(5), &from, 0),
	     ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE));
	sink.segment_length = 64;
	/* the Read keeps the binding; the unbind behind it does not disturb it */
	OK(dat_ep_post_rdma_read_to_rmr(ep, &sink, mp_cookie(6), &from, 0));
	OK(bind_flags(r, 0, 0, 0, 7, 0, NULL));
	DTO(p.b.req, DAT_DTO_RDMA_READ, 6, DAT_DTO_SUCCESS);
	BOUND(p.b.req, r, 7, DAT_DTO_SUCCESS);
	WANT(dat_ep_post_rdma_read_to_rmr(ep, &sink, mp_cookie(5), &from, 0),
	     ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_WRITE));
	sink.rmr_context = show(r, 128, 64, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	WANT(dat_ep_post_rdma_read_to_rmr(ep, &sink, mp_cookie(5), &from, 0),
	     ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_WRITE));
	sink.rmr_context = p.b.rctx; /* a region has one, too */
	OK(dat_ep_post_rdma_read_to_rmr(ep, &sink, mp_cookie(8), &from, 0));
	DTO(p.b.req, DAT_DTO_RDMA_READ, 8, DAT_DTO_SUCCESS);
	OK(dat_rmr_free(r));
}

/* A window bound to one endpoint gives no access to another. */
static void states(void)
{
	DAT_RMR_HANDLE r = create();
	DAT_RMR_CONTEXT ctx;

	OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	mp_next(p.b.conn);
	mp_next(p.a.conn);
	OK(bind_flags(r, 0, 64, RW, 3, 0, &ctx));
	BOUND(p.b.req, r, 3, DAT_DTO_ERR_FLUSHED);
	OK(bind_flags(r, 0, 0, 0, 4, DAT_COMPLETION_SUPPRESS_FLAG, &ctx));
	BOUND(p.b.req, r, 4, DAT_DTO_ERR_FLUSHED);
	OK(dat_ep_reset(p.b.ep));
	WANT(bind_flags(r, 0, 64, RW, 3, 0, &ctx),
	     ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED));
	OK(dat_rmr_free(r));
	mp_again(&p);
}

static void all(DAT_RMR_SCOPE s, const char *name)
{
	DAT_RMR_HANDLE r;
	DAT_RETURN ret;

	scope = s;
	ret = s == EP_SCOPE ? dat_rmr_create_for_ep(p.b.pz, &r) : dat_rmr_create(p.b.pz, &r);
	if (ret == NO_MODEL) {
		printf("no windows of scope %s here\n", name);
		return;
	}
	OK(ret);
	OK(dat_rmr_free(r));
	arguments();
	rights();
	life();
	burst();
	zero_based();
	remote_invalidate();
	read_to();
	states();
}

int main(void)
{
	mp_join(&p);
	all(DAT_RMR_SCOPE_PZ, "PZ");
	all(DAT_RMR_SCOPE_EP, "EP");
	mp_close(&p);
	return 0;
}

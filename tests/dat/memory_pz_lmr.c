/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Protection zones and local memory regions: every argument, every kind, every right. */
#include "mem_pair.h"

#include <unistd.h>

#define LMR_BAD ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR)
#define PZ_BAD ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ)
#define IA_BAD ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA)
#define ARG(n) ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

static struct mp p;

static DAT_RETURN make(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION r, DAT_VLEN len, int priv,
		       DAT_VA_TYPE va, DAT_LMR_HANDLE *lmr)
{
	return dat_lmr_create(p.a.ia, type, r, len, p.a.pz, (DAT_MEM_PRIV_FLAGS)priv, va, lmr, NULL,
			      NULL, NULL, NULL);
}

static void zones(void)
{
	DAT_PZ_PARAM q;
	DAT_PZ_HANDLE pz;

	WANT(dat_pz_create(DAT_HANDLE_NULL, &pz), IA_BAD);
	WANT(dat_pz_create((DAT_IA_HANDLE)p.a.pz, &pz), IA_BAD);
	WANT(dat_pz_create(p.a.ia, NULL), ARG(2));
	OK(dat_pz_create(p.a.ia, &pz));
	WANT(dat_pz_query(pz, DAT_PZ_FIELD_ALL, NULL), ARG(3));
	WANT(dat_pz_query(pz, (DAT_PZ_PARAM_MASK)2, &q), ARG(2));
	OK(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &q));
	CHECK(q.ia_handle == p.a.ia);
	WANT(dat_pz_query((DAT_PZ_HANDLE)p.a.lmr, DAT_PZ_FIELD_ALL, &q), PZ_BAD);
	OK(dat_pz_free(pz));
	WANT(dat_pz_free(pz), PZ_BAD);
	WANT(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &q), PZ_BAD);
	WANT(dat_pz_free(DAT_HANDLE_NULL), PZ_BAD);
	/* used by a region and an endpoint */
	WANT(dat_pz_free(p.a.pz), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE));
}

static void arguments(void)
{
	DAT_REGION_DESCRIPTION r = { .for_va = p.a.buf }, none = { .for_va = NULL };
	DAT_REGION_DESCRIPTION top = { .for_va = (void *)(UINTPTR_MAX - 99) };
	DAT_LMR_HANDLE l;

	WANT(dat_lmr_create(DAT_HANDLE_NULL, DAT_MEM_TYPE_VIRTUAL, r, 64, p.a.pz, 0, 0, &l, NULL,
			    NULL, NULL, NULL), IA_BAD);
	WANT(dat_lmr_create(p.a.ia, DAT_MEM_TYPE_VIRTUAL, r, 64, DAT_HANDLE_NULL, 0, 0, &l, NULL,
			    NULL, NULL, NULL), PZ_BAD);
	WANT(dat_lmr_create(p.a.ia, DAT_MEM_TYPE_VIRTUAL, r, 64, p.b.pz, 0, 0, &l, NULL, NULL, NULL,
			    NULL), PZ_BAD); /* of another adapter */
	WANT(make((DAT_MEM_TYPE)7, r, 64, 0, DAT_VA_TYPE_VA, &l), ARG(2));
	WANT(make(DAT_MEM_TYPE_VIRTUAL, none, 64, 0, DAT_VA_TYPE_VA, &l), ARG(3));
	WANT(make(DAT_MEM_TYPE_VIRTUAL, r, ~0ull, 0, DAT_VA_TYPE_VA, &l), ARG(4));
	WANT(make(DAT_MEM_TYPE_VIRTUAL, top, 101, 0, DAT_VA_TYPE_VA, &l), ARG(4));
	WANT(make(DAT_MEM_TYPE_VIRTUAL, r, 64, 0x400, DAT_VA_TYPE_VA, &l), ARG(6));
	WANT(make(DAT_MEM_TYPE_VIRTUAL, r, 64, 0, (DAT_VA_TYPE)2, &l), ARG(7));
	WANT(make(DAT_MEM_TYPE_VIRTUAL, r, 64, 0, DAT_VA_TYPE_VA, NULL), ARG(8));
	WANT(make(DAT_MEM_TYPE_LMR, none, 64, 0, DAT_VA_TYPE_VA, &l), LMR_BAD);
	r.for_lmr_handle = p.b.lmr; /* of another adapter */
	WANT(make(DAT_MEM_TYPE_LMR, r, 64, 0, DAT_VA_TYPE_VA, &l), LMR_BAD);
	r.for_lmr_handle = p.a.lmr;
	WANT(make(DAT_MEM_TYPE_LMR, r, MP_BUF + 1, 0, DAT_VA_TYPE_VA, &l), ARG(4));
	WANT(dat_lmr_free(DAT_HANDLE_NULL), LMR_BAD);
	WANT(dat_lmr_free((DAT_LMR_HANDLE)p.a.ep), LMR_BAD);
}

/* A region without a byte is a region, at any address; no segment of it has a byte. */
static void empty(void)
{
	DAT_REGION_DESCRIPTION r[] = { { .for_va = p.a.buf }, { .for_va = NULL } };

	for (int i = 0; i < 2; i++) {
		DAT_LMR_TRIPLET t = { .virtual_address = (uintptr_t)r[i].for_va, .segment_length = 1 };
		DAT_VADDR addr = 1;
		DAT_VLEN size = 1;
		DAT_LMR_HANDLE l;
		DAT_LMR_PARAM q;

		OK(dat_lmr_create(p.a.ia, DAT_MEM_TYPE_VIRTUAL, r[i], 0, p.a.pz, DAT_MEM_PRIV_ALL_FLAG,
				  DAT_VA_TYPE_VA, &l, &t.lmr_context, NULL, &size, &addr));
		CHECK(!size && addr == t.virtual_address);
		OK(dat_lmr_query(l, DAT_LMR_FIELD_ALL, &q));
		CHECK(!q.length && q.lmr_context == t.lmr_context);
		WANT(dat_ep_post_send(p.a.ep, 1, &t, mp_cookie(1), DAT_COMPLETION_DEFAULT_FLAG), ARG(3));
		OK(dat_lmr_free(l));
	}
}

static void query(void)
{
	DAT_REGION_DESCRIPTION r = { .for_va = p.a.buf + 100 };
	DAT_LMR_CONTEXT lctx = 0;
	DAT_RMR_CONTEXT rctx = 77;
	DAT_LMR_HANDLE l;
	DAT_LMR_PARAM q;
	DAT_VLEN size;
	DAT_VADDR addr;

	OK(dat_lmr_create(p.a.ia, DAT_MEM_TYPE_VIRTUAL, r, 300, p.a.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG,
			  DAT_VA_TYPE_VA, &l, &lctx, &rctx, &size, &addr));
	CHECK(lctx && rctx == 0); /* no remote right, no context for peers */
	CHECK(size >= 300 && addr <= (uintptr_t)p.a.buf + 100);
	WANT(dat_lmr_query(l, DAT_LMR_FIELD_ALL, NULL), ARG(3));
	WANT(dat_lmr_query(l, (DAT_LMR_PARAM_MASK)0x800, &q), ARG(2));
	OK(dat_lmr_query(l, DAT_LMR_FIELD_ALL, &q));
	CHECK(q.ia_handle == p.a.ia && q.mem_type == DAT_MEM_TYPE_VIRTUAL && q.length == 300);
	CHECK(q.region_desc.for_va == p.a.buf + 100 && q.pz_handle == p.a.pz);
	CHECK(q.mem_priv == DAT_MEM_PRIV_LOCAL_READ_FLAG && q.va_type == DAT_VA_TYPE_VA);
	CHECK(q.lmr_context == lctx && q.rmr_context == 0);
	CHECK(q.registered_size == size && q.registered_address == addr);
	OK(dat_lmr_free(l));
	WANT(dat_lmr_free(l), LMR_BAD);
	WANT(dat_lmr_query(l, DAT_LMR_FIELD_ALL, &q), LMR_BAD);
	OK(dat_lmr_query(p.a.lmr, DAT_LMR_FIELD_ALL, &q));
	CHECK(q.rmr_context == p.a.rctx && q.rmr_context);
}

/* A region of a region: narrower rights, shorter, and it outlives the region it was made from. */
static void of_region(void)
{
	DAT_REGION_DESCRIPTION r = { .for_va = p.a.buf };
	DAT_LMR_HANDLE parent, child;
	DAT_LMR_PARAM q;
	DAT_LMR_TRIPLET t;

	OK(make(DAT_MEM_TYPE_VIRTUAL, r, 4096, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &parent));
	r.for_lmr_handle = parent;
	OK(make(DAT_MEM_TYPE_LMR, r, 0, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &child));
	OK(dat_lmr_query(child, DAT_LMR_FIELD_ALL, &q));
	CHECK(q.length == 4096 && q.region_desc.for_lmr_handle == parent);
	OK(dat_lmr_free(child));
	OK(make(DAT_MEM_TYPE_LMR, r, 100, DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_VA_TYPE_VA, &child));
	OK(dat_lmr_free(parent));
	OK(dat_lmr_query(child, DAT_LMR_FIELD_ALL, &q));
	CHECK(q.length == 100 && q.mem_type == DAT_MEM_TYPE_LMR);
	t = (DAT_LMR_TRIPLET){ (uintptr_t)p.a.buf, 100, q.lmr_context };
	mp_paint(p.a.buf, 100, 3);
	OK(mp_recv(&p.b, 0, 100, 1));
	OK(dat_ep_post_send(p.a.ep, 1, &t, mp_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
	DTO(p.a.req, DAT_DTO_SEND, 2, DAT_DTO_SUCCESS);
	DTO(p.b.recv, DAT_DTO_RECEIVE, 1, DAT_DTO_SUCCESS);
	CHECK(mp_painted(p.b.buf, 100, 3));
	OK(dat_lmr_free(child));
}

static void shared(void)
{
	char cookie[DAT_LMR_COOKIE_SIZE] = "", other[40] = "", name[DAT_LMR_COOKIE_SIZE];
	char *buf = mmap(NULL, MP_BUF, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	DAT_SHARED_MEMORY s = { buf, &cookie }, o = { buf, &other };
	DAT_REGION_DESCRIPTION r = { .for_shared_memory = s };
	DAT_LMR_HANDLE l, m;
	DAT_LMR_PARAM q;

	CHECK(buf != MAP_FAILED);
	snprintf(name, sizeof(name), "one buffer of several processes %d", (int)getpid());
	strcpy(cookie, name);
	snprintf(other, sizeof(other), "another %d", (int)getpid());
	OK(make(DAT_MEM_TYPE_SHARED_VIRTUAL, r, 4096, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &l));
	memset(cookie, 0, sizeof(cookie)); /* the provider has a copy */
	OK(dat_lmr_query(l, DAT_LMR_FIELD_ALL, &q));
	CHECK(q.mem_type == DAT_MEM_TYPE_SHARED_VIRTUAL);
	CHECK(q.region_desc.for_shared_memory.virtual_address == buf);
	CHECK(!strcmp(*q.region_desc.for_shared_memory.shared_memory_id, name));
	/* the same shared memory again must have the same length */
	memcpy(cookie, *q.region_desc.for_shared_memory.shared_memory_id, sizeof(cookie));
	OK(make(DAT_MEM_TYPE_SHARED_VIRTUAL, r, 4096, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &m));
	OK(dat_lmr_free(m));
	WANT(make(DAT_MEM_TYPE_SHARED_VIRTUAL, r, 8192, 0, DAT_VA_TYPE_VA, &m), ARG(4));
	r.for_shared_memory = o;
	OK(make(DAT_MEM_TYPE_SHARED_VIRTUAL, r, 8192, 0, DAT_VA_TYPE_VA, &m));
	OK(dat_lmr_free(m));
	OK(dat_lmr_free(l));
	r.for_shared_memory.shared_memory_id = NULL;
	WANT(make(DAT_MEM_TYPE_SHARED_VIRTUAL, r, 4096, 0, DAT_VA_TYPE_VA, &l), ARG(3));
	munmap(buf, MP_BUF);
}

/* Offsets instead of addresses, here and for the peer. */
static void zero_based(void)
{
	DAT_REGION_DESCRIPTION r = { .for_va = p.b.buf };
	DAT_LMR_CONTEXT lctx;
	DAT_RMR_TRIPLET remote = { 16, 64, 0 };
	DAT_LMR_TRIPLET t;
	DAT_VADDR addr = 1;
	DAT_LMR_HANDLE l;
	DAT_RETURN ret;

	ret = dat_lmr_create(p.b.ia, DAT_MEM_TYPE_VIRTUAL, r, 4096, p.b.pz, DAT_MEM_PRIV_ALL_FLAG,
			     DAT_VA_TYPE_ZB, &l, &lctx, &remote.rmr_context, NULL, &addr);
	if (!p.b.attr.zb_supported) {
		WANT(ret, ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE));
		return;
	}
	OK(ret);
	CHECK(addr == 0);
	mp_paint(p.a.buf, 64, 9);
	memset(p.b.buf, 0, 4096);
	t = mp_at(&p.a, 0, 64);
	OK(dat_ep_post_rdma_write(p.a.ep, 1, &t, mp_cookie(5), &remote, DAT_COMPLETION_DEFAULT_FLAG));
	DTO(p.a.req, DAT_DTO_RDMA_WRITE, 5, DAT_DTO_SUCCESS);
	mp_settle(&p);
	CHECK(mp_painted(p.b.buf + 16, 64, 9) && !p.b.buf[15] && !p.b.buf[80]);
	t = (DAT_LMR_TRIPLET){ 16, 64, lctx };
	OK(mp_recv(&p.a, 512, 64, 6));
	OK(dat_ep_post_send(p.b.ep, 1, &t, mp_cookie(7), DAT_COMPLETION_DEFAULT_FLAG));
	DTO(p.b.req, DAT_DTO_SEND, 7, DAT_DTO_SUCCESS);
	DTO(p.a.recv, DAT_DTO_RECEIVE, 6, DAT_DTO_SUCCESS);
	CHECK(mp_painted(p.a.buf + 512, 64, 9));
	t.virtual_address = 4096 - 63;
	WANT(dat_ep_post_send(p.b.ep, 1, &t, mp_cookie(7), DAT_COMPLETION_DEFAULT_FLAG), ARG(3));
	OK(dat_lmr_free(l));
}

static void sync_calls(void)
{
	DAT_LMR_TRIPLET t[2] = { mp_at(&p.a, 0, 64), { 0, 0, 0 } };

	OK(dat_lmr_sync_rdma_read(p.a.ia, t, 2));
	OK(dat_lmr_sync_rdma_write(p.a.ia, t, 2));
	OK(dat_lmr_sync_rdma_write(p.a.ia, NULL, 0));
	WANT(dat_lmr_sync_rdma_read(DAT_HANDLE_NULL, t, 1), IA_BAD);
	WANT(dat_lmr_sync_rdma_read(p.a.ia, NULL, 1), ARG(2));
	t[0].lmr_context ^= 0x5a00;
	WANT(dat_lmr_sync_rdma_write(p.a.ia, t, 1), ARG(2));
}

/* A gigabyte and a half is registered many times without a page being touched. */
static void large(void)
{
	DAT_REGION_DESCRIPTION r = { .for_va = NULL };
	DAT_LMR_HANDLE l[4];

	r.for_va = mmap(NULL, 3ul << 29, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(r.for_va != MAP_FAILED);
	for (int i = 0; i < 4; i++)
		OK(make(DAT_MEM_TYPE_VIRTUAL, r, 3ul << 29, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			&l[i]));
	for (int i = 0; i < 4; i++)
		OK(dat_lmr_free(l[i]));
	munmap(r.for_va, 3ul << 29);
}

int main(void)
{
	mp_join(&p);
	zones();
	arguments();
	empty();
	query();
	of_region();
	shared();
	zero_based();
	sync_calls();
	large();
	mp_close(&p);
	return 0;
}

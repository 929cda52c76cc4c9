/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The posting calls: handles, arguments, rights, zones, limits, and the states of the endpoint. */
#include "mem_pair.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/mman.h>

#define EP_BAD ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)
#define ARG(n) ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define FULL DAT_INSUFFICIENT_RESOURCES
#define LENGTH ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE)
#define DEFAULT DAT_COMPLETION_DEFAULT_FLAG

static struct mp p;
static const DAT_DTO_COOKIE c = { .as_64 = 1 };

static void handles(void)
{
	DAT_LMR_TRIPLET t = mp_at(&p.a, 0, 8);
	DAT_RMR_TRIPLET r = mp_rmt(&p.b, 0, 8);
	DAT_EP_HANDLE bad[] = { DAT_HANDLE_NULL, (DAT_EP_HANDLE)p.a.lmr, (DAT_EP_HANDLE)p.a.pz };

	for (unsigned int i = 0; i < 3; i++) {
		WANT(dat_ep_post_send(bad[i], 1, &t, c, DEFAULT), EP_BAD);
		WANT(dat_ep_post_recv(bad[i], 1, &t, c, DEFAULT), EP_BAD);
		WANT(dat_ep_post_rdma_write(bad[i], 1, &t, c, &r, DEFAULT), EP_BAD);
		WANT(dat_ep_post_rdma_read(bad[i], 1, &t, c, &r, DEFAULT), EP_BAD);
		WANT(dat_ep_post_send_with_invalidate(bad[i], 1, &t, c, DEFAULT, DAT_TRUE, 1),
		     EP_BAD);
		WANT(dat_ep_post_rdma_read_to_rmr(bad[i], &r, c, &r, DEFAULT), EP_BAD);
	}
}

static void arguments(void)
{
	DAT_LMR_TRIPLET t = mp_at(&p.a, 0, 8), many[64];
	DAT_RMR_TRIPLET r = mp_rmt(&p.b, 0, 8);
	DAT_EP_HANDLE ep = p.a.ep;
	DAT_EP_PARAM q;

	OK(dat_ep_query(ep, DAT_EP_FIELD_EP_ATTR_ALL, &q));
	for (int i = 0; i < 64; i++)
		many[i] = mp_at(&p.a, 8u * (unsigned int)i, 8);
	WANT(dat_ep_post_send(ep, -1, &t, c, DEFAULT), ARG(2));
	WANT(dat_ep_post_send(ep, q.ep_attr.max_request_iov + 1, many, c, DEFAULT), ARG(2));
	WANT(dat_ep_post_send(ep, 1, NULL, c, DEFAULT), ARG(3));
	WANT(dat_ep_post_recv(ep, q.ep_attr.max_recv_iov + 1, many, c, DEFAULT), ARG(2));
	WANT(dat_ep_post_recv(ep, -1, &t, c, DEFAULT), ARG(2));
	WANT(dat_ep_post_recv(ep, 1, NULL, c, DEFAULT), ARG(3));
	WANT(dat_ep_post_rdma_write(ep, q.ep_attr.max_rdma_write_iov + 1, many, c, &r, DEFAULT),
	     ARG(2));
	WANT(dat_ep_post_rdma_read(ep, q.ep_attr.max_rdma_read_iov + 1, many, c, &r, DEFAULT),
	     ARG(2));
	WANT(dat_ep_post_rdma_write(ep, 1, &t, c, NULL, DEFAULT), ARG(5));
	WANT(dat_ep_post_rdma_read(ep, 1, &t, c, NULL, DEFAULT), ARG(5));
	WANT(dat_ep_post_rdma_read_to_rmr(ep, NULL, c, &r, DEFAULT), ARG(2));
	WANT(dat_ep_post_rdma_read_to_rmr(ep, &r, c, NULL, DEFAULT), ARG(4));
	WANT(dat_ep_post_send_with_invalidate(ep, 1, &t, c, DEFAULT, (DAT_BOOLEAN)2, 1), ARG(6));
}

/* Which flags each call takes. UNSIGNALLED needs an attribute of the endpoint. */
static void flags(void)
{
	static const int bad[] = { DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_EVD_THRESHOLD_FLAG,
				   DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG, 0x40, 0x80000 };
	DAT_LMR_TRIPLET t = mp_at(&p.a, 0, 8);
	DAT_RMR_TRIPLET r = mp_rmt(&p.b, 0, 8);

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		DAT_COMPLETION_FLAGS f = (DAT_COMPLETION_FLAGS)bad[i];

		WANT(dat_ep_post_send(p.a.ep, 1, &t, c, f), ARG(5));
		WANT(dat_ep_post_recv(p.a.ep, 1, &t, c, f), ARG(5));
		WANT(dat_ep_post_rdma_write(p.a.ep, 1, &t, c, &r, f), ARG(6));
		WANT(dat_ep_post_rdma_read(p.a.ep, 1, &t, c, &r, f), ARG(6));
		WANT(dat_ep_post_rdma_read_to_rmr(p.a.ep, &r, c, &r, f), ARG(5));
	}
	WANT(dat_ep_post_rdma_write(p.a.ep, 1, &t, c, &r, DAT_COMPLETION_SOLICITED_WAIT_FLAG), ARG(6));
	WANT(dat_ep_post_recv(p.a.ep, 1, &t, c, DAT_COMPLETION_SUPPRESS_FLAG), ARG(5));
	WANT(dat_ep_post_recv(p.a.ep, 1, &t, c, DAT_COMPLETION_BARRIER_FENCE_FLAG), ARG(5));
	OK(mp_recv(&p.b, 0, 8, 3));
	OK(mp_send(&p.a, 0, 8, 2, DAT_COMPLETION_SOLICITED_WAIT_FLAG |
					  DAT_COMPLETION_BARRIER_FENCE_FLAG));
	DTO(p.a.req, DAT_DTO_SEND, 2, DAT_DTO_SUCCESS);
	DTO(p.b.recv, DAT_DTO_RECEIVE, 3, DAT_DTO_SUCCESS);
}

static DAT_LMR_HANDLE region(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, char *at, int priv,
			     DAT_LMR_CONTEXT *ctx)
{
	DAT_REGION_DESCRIPTION d = { .for_va = at };
	DAT_LMR_HANDLE l;

	OK(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, d, 4096, pz, (DAT_MEM_PRIV_FLAGS)priv,
			  DAT_VA_TYPE_VA, &l, ctx, NULL, NULL, NULL));
	return l;
}

static void rights(void)
{
	DAT_LMR_TRIPLET rd = { (uintptr_t)p.a.buf, 8, 0 }, wr = rd, gone = rd, far = rd;
	DAT_RMR_TRIPLET r = mp_rmt(&p.b, 0, 8);
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE l[4];

	OK(dat_pz_create(p.a.ia, &pz));
	l[0] = region(p.a.ia, p.a.pz, p.a.buf, DAT_MEM_PRIV_LOCAL_READ_FLAG, &rd.lmr_context);
	/* local write includes local read: dtest sends from such a buffer */
	l[1] = region(p.a.ia, p.a.pz, p.a.buf, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &wr.lmr_context);
	OK(mp_recv(&p.b, 0, 64, 1));
	OK(dat_ep_post_send(p.a.ep, 1, &wr, c, DEFAULT));
	DTO(p.a.req, DAT_DTO_SEND, c.as_64, DAT_DTO_SUCCESS);
	DTO(p.b.recv, DAT_DTO_RECEIVE, 1, DAT_DTO_SUCCESS);
	OK(dat_lmr_free(l[1]));
	/* remote write makes an ibv_mr locally writable, but not a DAT region locally readable */
	l[1] = region(p.a.ia, p.a.pz, p.a.buf, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &wr.lmr_context);
	l[2] = region(p.a.ia, p.a.pz, p.a.buf, DAT_MEM_PRIV_ALL_FLAG, &gone.lmr_context);
	l[3] = region(p.a.ia, pz, p.a.buf, DAT_MEM_PRIV_ALL_FLAG, &far.lmr_context);
	OK(dat_lmr_free(l[2]));
	WANT(dat_ep_post_send(p.a.ep, 1, &wr, c, DEFAULT),
	     ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ));
	WANT(dat_ep_post_rdma_write(p.a.ep, 1, &wr, c, &r, DEFAULT),
	     ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ));
	WANT(dat_ep_post_recv(p.a.ep, 1, &rd, c, DEFAULT),
	     ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE));
	WANT(dat_ep_post_rdma_read(p.a.ep, 1, &rd, c, &r, DEFAULT),
	     ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE));
	WANT(dat_ep_post_send(p.a.ep, 1, &gone, c, DEFAULT),
	     ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ));
	WANT(dat_ep_post_send(p.a.ep, 1, &far, c, DEFAULT),
	     ERR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ));
	WANT(dat_ep_post_recv(p.a.ep, 1, &far, c, DEFAULT),
	     ERR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE));
	rd.virtual_address -= 1;
	WANT(dat_ep_post_send(p.a.ep, 1, &rd, c, DEFAULT), ARG(3));
	rd.virtual_address += 4096 - 6;
	WANT(dat_ep_post_send(p.a.ep, 1, &rd, c, DEFAULT), ARG(3));
	rd.virtual_address = UINT64_MAX - 3;
	WANT(dat_ep_post_send(p.a.ep, 1, &rd, c, DEFAULT), ARG(3));
	OK(dat_lmr_free(l[0]));
	OK(dat_lmr_free(l[1]));
	OK(dat_lmr_free(l[3]));
	OK(dat_pz_free(pz));
}

/* Zero segments, segments of zero length whose rest is ignored, and lengths of both sides. */
static void lengths(void)
{
	DAT_LMR_TRIPLET t[3] = { { 1, 0, 0xdead }, mp_at(&p.a, 0, 16), { 2, 0, 0xbeef } };
	DAT_RMR_TRIPLET r = mp_rmt(&p.b, 64, 15), zero = { 3, 0, 0xf00 };
	DAT_DTO_COMPLETION_EVENT_DATA d;

	OK(dat_ep_post_recv(p.b.ep, 0, NULL, c, DEFAULT));
	OK(dat_ep_post_send(p.a.ep, 0, NULL, c, DEFAULT));
	d = DTO(p.a.req, DAT_DTO_SEND, 1, DAT_DTO_SUCCESS);
	CHECK(d.transfered_length == 0 && d.ep_handle == p.a.ep && d.rmr_context == 0);
	d = DTO(p.b.recv, DAT_DTO_RECEIVE, 1, DAT_DTO_SUCCESS);
	CHECK(d.transfered_length == 0 && d.ep_handle == p.b.ep);
	mp_paint(p.a.buf, 16, 5);
	OK(mp_recv(&p.b, 64, 32, 4));
	OK(dat_ep_post_send(p.a.ep, 3, t, c, DEFAULT));
	d = DTO(p.a.req, DAT_DTO_SEND, 1, DAT_DTO_SUCCESS);
	CHECK(d.transfered_length == 16);
	d = DTO(p.b.recv, DAT_DTO_RECEIVE, 4, DAT_DTO_SUCCESS);
	CHECK(d.transfered_length == 16 && mp_painted(p.b.buf + 64, 16, 5));
	WANT(dat_ep_post_rdma_write(p.a.ep, 1, &t[1], c, &r, DEFAULT), LENGTH);
	r.segment_length = 17;
	WANT(dat_ep_post_rdma_read(p.a.ep, 1, &t[1], c, &r, DEFAULT), LENGTH);
	/* a read is as long as its source */
	memset(p.a.buf, 0, 16);
	r.segment_length = 9;
	OK(dat_ep_post_rdma_read(p.a.ep, 1, &t[1], c, &r, DEFAULT));
	d = DTO(p.a.req, DAT_DTO_RDMA_READ, 1, DAT_DTO_SUCCESS);
	CHECK(d.transfered_length == 9 && mp_painted(p.a.buf, 9, 5) && !p.a.buf[9]);
	OK(dat_ep_post_rdma_write(p.a.ep, 0, NULL, c, &zero, DEFAULT));
	DTO(p.a.req, DAT_DTO_RDMA_WRITE, 1, DAT_DTO_SUCCESS);
}

/* Sizes that an endpoint asked for are minima: main() asked for 4096 and 8192 octets, and the device's
 * limits were granted. More than those is refused. */
static void sizes(void)
{
	DAT_LMR_TRIPLET t = mp_at(&p.a, 0, 4097);
	DAT_RMR_TRIPLET r = mp_rmt(&p.b, 0, MP_BUF);
	DAT_EP_HANDLE ep = p.a.ep;
	DAT_REGION_DESCRIPTION region;
	DAT_SEG_LENGTH most;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT ctx;
	DAT_EP_PARAM q;

	OK(dat_ep_query(ep, DAT_EP_FIELD_EP_ATTR_ALL, &q));
	most = q.ep_attr.max_rdma_size;
	CHECK(most == p.a.attr.max_rdma_size && q.ep_attr.max_message_size == p.a.attr.max_message_size);
	OK(mp_recv(&p.b, 0, 4097, 2));
	OK(dat_ep_post_send(ep, 1, &t, c, DEFAULT));
	DTO(p.b.recv, DAT_DTO_RECEIVE, 2, DAT_DTO_SUCCESS);
	DTO(p.a.req, DAT_DTO_SEND, 1, DAT_DTO_SUCCESS);
	t.segment_length = MP_BUF;
	OK(dat_ep_post_rdma_write(ep, 1, &t, c, &r, DEFAULT));
	DTO(p.a.req, DAT_DTO_RDMA_WRITE, 1, DAT_DTO_SUCCESS);
	OK(dat_ep_post_rdma_read(ep, 1, &t, c, &r, DEFAULT));
	DTO(p.a.req, DAT_DTO_RDMA_READ, 1, DAT_DTO_SUCCESS);

	region.for_va = mmap(NULL, (size_t)most + 1, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(region.for_va != MAP_FAILED);
	OK(dat_lmr_create(p.a.ia, DAT_MEM_TYPE_VIRTUAL, region, (DAT_VLEN)most + 1, p.a.pz, DAT_MEM_PRIV_ALL_FLAG,
			  DAT_VA_TYPE_VA, &lmr, &ctx, NULL, NULL, NULL));
	t = (DAT_LMR_TRIPLET){ .lmr_context = ctx, .virtual_address = (uintptr_t)region.for_va,
			       .segment_length = most + 1 };
	r.segment_length = most + 1;
	WANT(dat_ep_post_send(ep, 1, &t, c, DEFAULT), LENGTH);
	WANT(dat_ep_post_rdma_write(ep, 1, &t, c, &r, DEFAULT), LENGTH);
	WANT(dat_ep_post_rdma_read(ep, 1, &t, c, &r, DEFAULT), LENGTH);
	OK(dat_lmr_free(lmr));
	munmap(region.for_va, (size_t)most + 1);
}

/* Receives: exactly as many as granted, and how one without a message is flushed. */
static void receives(void)
{
	DAT_EP_PARAM q;
	int n = 0;

	OK(dat_ep_query(p.b.ep, DAT_EP_FIELD_EP_ATTR_ALL, &q));
	while (n < q.ep_attr.max_recv_dtos) {
		OK(mp_recv(&p.b, 0, 8, (uint64_t)n));
		n++;
	}
	CHECK(DAT_GET_TYPE(mp_recv(&p.b, 0, 8, 0)) == FULL);
	OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	mp_ended(&p.b, DAT_CONNECTION_EVENT_DISCONNECTED);
	mp_ended(&p.a, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (int i = 0; i < n; i++)
		DTO(p.b.recv, DAT_DTO_RECEIVE, (uint64_t)i, DAT_DTO_ERR_FLUSHED);
	/* DISCONNECTED: legal, and flushed at once */
	OK(mp_recv(&p.b, 0, 8, 50));
	OK(mp_send(&p.b, 0, 8, 51, 0));
	OK(mp_send(&p.b, 0, 8, 52, DAT_COMPLETION_SUPPRESS_FLAG)); /* errors always complete */
	OK(mp_write(&p.b, 0, &p.a, 0, 8, 53, 0));
	OK(mp_read(&p.b, 0, &p.a, 0, 8, 54, 0));
	DTO(p.b.recv, DAT_DTO_RECEIVE, 50, DAT_DTO_ERR_FLUSHED);
	DTO(p.b.req, DAT_DTO_SEND, 51, DAT_DTO_ERR_FLUSHED);
	DTO(p.b.req, DAT_DTO_SEND, 52, DAT_DTO_ERR_FLUSHED);
	DTO(p.b.req, DAT_DTO_RDMA_WRITE, 53, DAT_DTO_ERR_FLUSHED);
	DTO(p.b.req, DAT_DTO_RDMA_READ, 54, DAT_DTO_ERR_FLUSHED);
}

/* Without a connection: no requests, and receives that wait for it. */
static void unconnected(void)
{
	DAT_RETURN no = ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED);

	WANT(mp_send(&p.a, 0, 8, 1, 0), no);
	WANT(mp_write(&p.a, 0, &p.b, 0, 8, 1, 0), no);
	WANT(mp_read(&p.a, 0, &p.b, 0, 8, 1, 0), no);
	OK(mp_recv(&p.b, 0, 64, 10));
	OK(mp_recv(&p.b, 64, 64, 11));
	mp_connect(&p);
	OK(mp_recv(&p.b, 128, 64, 12));
	for (uint64_t i = 0; i < 3; i++) {
		mp_paint(p.a.buf, 64, (uint32_t)i);
		OK(mp_send(&p.a, 0, 64, i, 0));
		DTO(p.a.req, DAT_DTO_SEND, i, DAT_DTO_SUCCESS);
		DTO(p.b.recv, DAT_DTO_RECEIVE, 10 + i, DAT_DTO_SUCCESS);
		CHECK(mp_painted(p.b.buf + 64 * i, 64, (uint32_t)i));
	}
}

/* Receives that wait for a connection which fails are flushed, whether or not a queue pair was
 * made: no listener, or no answer in time. */
static void flushed_recvs(void)
{
	struct sockaddr_in far = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000201) };
	DAT_IA_ADDRESS_PTR to[] = { p.b.attr.ia_address_ptr, (DAT_IA_ADDRESS_PTR)&far };

	for (int i = 0; i < 2; i++) {
		OK(mp_recv(&p.a, 0, 8, 70));
		OK(mp_recv(&p.a, 0, 8, 71));
		OK(dat_ep_connect(p.a.ep, to[i], 9, 300000, 0, NULL, DAT_QOS_BEST_EFFORT, 0));
		mp_next(p.a.conn);
		DTO(p.a.recv, DAT_DTO_RECEIVE, 70, DAT_DTO_ERR_FLUSHED);
		DTO(p.a.recv, DAT_DTO_RECEIVE, 71, DAT_DTO_ERR_FLUSHED);
		OK(mp_send(&p.a, 0, 8, 72, 0));
		DTO(p.a.req, DAT_DTO_SEND, 72, DAT_DTO_ERR_FLUSHED);
		OK(dat_ep_reset(p.a.ep));
	}
}

/* A receive that is too short breaks the connection, with the status of each end. */
static void too_short(void)
{
	OK(mp_recv(&p.b, 0, 16, 1));
	OK(mp_recv(&p.b, 0, 16, 2));
	OK(mp_send(&p.a, 0, 17, 3, 0));
	DTO(p.b.recv, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_LOCAL_LENGTH);
	DTO(p.b.recv, DAT_DTO_RECEIVE, 2, DAT_DTO_ERR_FLUSHED);
	mp_ended(&p.b, DAT_CONNECTION_EVENT_BROKEN);
}

/* A connection may have one of the two EVDs for completions only; nothing is posted in the other
 * direction. */
static void one_way(void)
{
	DAT_EVD_HANDLE req = p.a.req, recv = p.b.recv;
	DAT_LMR_TRIPLET t = mp_at(&p.a, 0, 8);
	DAT_RMR_TRIPLET r;

	p.a.req = p.b.recv = DAT_HANDLE_NULL;
	mp_again(&p);
	r = mp_rmt(&p.b, 0, 8);
	CHECK(DAT_GET_TYPE(dat_ep_post_send(p.a.ep, 1, &t, c, DEFAULT)) == DAT_INVALID_STATE);
	CHECK(DAT_GET_TYPE(dat_ep_post_rdma_write(p.a.ep, 1, &t, c, &r, DEFAULT)) ==
	      DAT_INVALID_STATE);
	CHECK(DAT_GET_TYPE(dat_ep_post_rdma_read(p.a.ep, 1, &t, c, &r, DEFAULT)) ==
	      DAT_INVALID_STATE);
	WANT(mp_recv(&p.b, 0, 8, 1), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_RECV));
	OK(mp_recv(&p.a, 0, 8, 2));
	OK(mp_send(&p.b, 0, 8, 3, 0));
	DTO(p.a.recv, DAT_DTO_RECEIVE, 2, DAT_DTO_SUCCESS);
	DTO(p.b.req, DAT_DTO_SEND, 3, DAT_DTO_SUCCESS);
	p.a.req = req;
	p.b.recv = recv;
	mp_again(&p);
}

int main(void)
{
	p.ep.max_message_size = 4096;
	p.ep.max_rdma_size = 8192;
	mp_open(&p);
	flushed_recvs();
	unconnected();
	handles();
	arguments();
	flags();
	rights();
	lengths();
	sizes();
	receives();
	one_way();
	too_short();
	mp_close(&p);
	return 0;
}

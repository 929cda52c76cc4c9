/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Many transfers: suppressed ones that never stall, full queues, order, vectors, large messages. */
#include "mem_pair.h"

enum { SLOTS = 16 };

static struct mp p;

static bool full(DAT_RETURN ret)
{
	return DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES;
}

/* The EVD is not drained, and every slot becomes free all the same: a million requests through
 * sixteen. */
static void suppressed(uint32_t n)
{
	uint32_t *words = (uint32_t *)p.a.buf;
	uint64_t again = 0;
	DAT_RETURN ret;

	for (uint32_t i = 0; i < n; i++) {
		words[i % 1024] = i;
		while (full(ret = mp_write(&p.a, 4 * (i % 1024), &p.b, 4 * (i % 1024), 4, i,
					   DAT_COMPLETION_SUPPRESS_FLAG)))
			again++;
		OK(ret);
	}
	while (full(ret = mp_write(&p.a, 0, &p.b, 8192, 4, 1, 0)))
		;
	OK(ret);
	DTO(p.a.req, DAT_DTO_RDMA_WRITE, 1, DAT_DTO_SUCCESS);
	mp_none(p.a.req); /* the others complete invisibly */
	mp_settle(&p);
	for (uint32_t i = 0; i < 1024 && i < n; i++)
		CHECK(((uint32_t *)p.b.buf)[i] == words[i]);
	printf("%u suppressed Writes, %lu looks at a full queue\n", n, (unsigned long)again);
}

/* A mix: visible completions arrive in order, and only those. */
static void mixed(uint32_t n)
{
	uint32_t posted = 0, seen = 0;
	DAT_RETURN ret;

	while (seen < n / 5) {
		while (posted < n) {
			ret = mp_write(&p.a, 0, &p.b, 0, posted % 128, posted,
				       posted % 5 ? DAT_COMPLETION_SUPPRESS_FLAG : 0);
			if (full(ret))
				break;
			OK(ret);
			posted++;
		}
		while (seen < n / 5 && 5 * seen < posted) {
			DTO(p.a.req, DAT_DTO_RDMA_WRITE, 5 * (uint64_t)seen, DAT_DTO_SUCCESS);
			seen++;
		}
	}
	mp_none(p.a.req);
}

/* Exactly as many requests as granted, while the EVD is not drained. */
static void limit(void)
{
	unsigned int n = 0;

	/* a Read completes with the peer's answer: no slot is free before that is drained */
	while (!full(mp_send(&p.a, 0, 8, n, 0)) && n < 1000)
		n++;
	CHECK_MSG(n >= SLOTS, "%u", n);
	for (unsigned int i = 0; i < n; i++)
		OK(mp_recv(&p.b, 0, 8, i));
}

static void limit_done(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		DTO(p.a.req, DAT_DTO_SEND, i, DAT_DTO_SUCCESS);
		DTO(p.b.recv, DAT_DTO_RECEIVE, i, DAT_DTO_SUCCESS);
	}
}

/* Vectors of every length, with segments of length 0 in them. */
static void vectors(void)
{
	DAT_LMR_TRIPLET out[4], in[4];
	DAT_RMR_TRIPLET r;

	for (unsigned int n = 1; n <= 4; n++) {
		uint32_t sum = 0;

		for (unsigned int i = 0; i < n; i++) {
			uint32_t len = i == 2 ? 0 : 100 * i + 7;

			out[i] = mp_at(&p.a, 1000 * i, len);
			mp_paint(p.a.buf + 1000 * i, len, n + i);
			sum += len;
		}
		for (unsigned int i = 0; i < 4; i++)
			in[i] = mp_at(&p.b, 4096 + 200 * i, 200);
		memset(p.b.buf, 0, 8192);
		OK(dat_ep_post_recv(p.b.ep, 4, in, mp_cookie(n), DAT_COMPLETION_DEFAULT_FLAG));
		OK(dat_ep_post_send(p.a.ep, (DAT_COUNT)n, out, mp_cookie(n), 0));
		CHECK(DTO(p.a.req, DAT_DTO_SEND, n, DAT_DTO_SUCCESS).transfered_length == sum);
		CHECK(DTO(p.b.recv, DAT_DTO_RECEIVE, n, DAT_DTO_SUCCESS).transfered_length == sum);
		r = mp_rmt(&p.b, 0, sum);
		OK(dat_ep_post_rdma_write(p.a.ep, (DAT_COUNT)n, out, mp_cookie(n), &r, 0));
		CHECK(DTO(p.a.req, DAT_DTO_RDMA_WRITE, n, DAT_DTO_SUCCESS).transfered_length == sum);
		mp_settle(&p);
		CHECK(!memcmp(p.b.buf, p.b.buf + 4096, sum));
		CHECK(mp_painted(p.b.buf, 7, n));
		if (n > 1)
			CHECK(mp_painted(p.b.buf + 7, 107, n + 1));
	}
}

static void large(void)
{
	static const uint32_t sizes[] = { 63, 64, 65, 1023, 4096, 4097, 65536, MP_BUF / 2 - 1 };

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t n = sizes[i];

		mp_paint(p.a.buf, n, i);
		OK(mp_recv(&p.b, 0, n, i));
		OK(mp_send(&p.a, 0, n, i, 0));
		DTO(p.a.req, DAT_DTO_SEND, i, DAT_DTO_SUCCESS);
		DTO(p.b.recv, DAT_DTO_RECEIVE, i, DAT_DTO_SUCCESS);
		CHECK(mp_painted(p.b.buf, n, i));
		OK(mp_read(&p.a, MP_BUF / 2, &p.b, 0, n, i, 0));
		DTO(p.a.req, DAT_DTO_RDMA_READ, i, DAT_DTO_SUCCESS);
		CHECK(mp_painted(p.a.buf + MP_BUF / 2, n, i));
		/* changed right after the post: IOVs and small data are the consumer's again */
	}
}

/* Reads go in parallel up to the limit of the endpoint; a fence waits for them. */
static void fence(void)
{
	mp_paint(p.b.buf, 65536, 1);
	for (uint64_t i = 0; i < 8; i++)
		OK(mp_read(&p.a, 0, &p.b, 0, 65536, i, 0));
	OK(mp_write(&p.a, 0, &p.b, 100000, 65536, 8, DAT_COMPLETION_BARRIER_FENCE_FLAG));
	for (uint64_t i = 0; i < 8; i++)
		DTO(p.a.req, DAT_DTO_RDMA_READ, i, DAT_DTO_SUCCESS);
	DTO(p.a.req, DAT_DTO_RDMA_WRITE, 8, DAT_DTO_SUCCESS);
	mp_settle(&p);
	CHECK(mp_painted(p.b.buf + 100000, 65536, 1));
}

/* A fenced request of few bytes carries what the Read in front of it fetched into the same memory. */
static void fence_small(unsigned int rounds)
{
	const int fenced = DAT_COMPLETION_BARRIER_FENCE_FLAG;
	static const uint32_t sizes[] = { 1, 16, 64, 65 };

	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t n = sizes[i % 4];

		memset(p.a.buf, 0xee, 128);
		mp_paint(p.b.buf, n, i);
		OK(mp_recv(&p.b, 1000, n, i));
		OK(mp_read(&p.a, 0, &p.b, 0, n, i, 0));
		OK(mp_send(&p.a, 0, n, i, fenced));
		OK(mp_write(&p.a, 0, &p.b, 2000, n, i, fenced));
		DTO(p.a.req, DAT_DTO_RDMA_READ, i, DAT_DTO_SUCCESS);
		DTO(p.a.req, DAT_DTO_SEND, i, DAT_DTO_SUCCESS);
		DTO(p.a.req, DAT_DTO_RDMA_WRITE, i, DAT_DTO_SUCCESS);
		DTO(p.b.recv, DAT_DTO_RECEIVE, i, DAT_DTO_SUCCESS);
		CHECK_MSG(mp_painted(p.b.buf + 1000, n, i), "Send %u of %u bytes", i, n);
		mp_settle(&p);
		CHECK_MSG(mp_painted(p.b.buf + 2000, n, i), "Write %u of %u bytes", i, n);
	}
}

int main(int argc, char **argv)
{
	unsigned int n = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 0) : 20000;

	p.ep.max_request_dtos = SLOTS;
	p.ep.max_recv_dtos = 64;
	p.qlen = 64;
	mp_join(&p);
	suppressed(n);
	mixed(n / 10);
	vectors();
	large();
	fence();
	fence_small(400);
	/* Receives come late: without them the queue fills up to its limit. Over iWARP a message
	 * must not arrive before its receive. */
	if (!mp_is_iwarp()) {
		limit();
		limit_done(SLOTS);
		mp_none(p.a.req);
	}
	mp_close(&p);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dtest.h"

#include <stdio.h>

/*
 * Many connections: all requests of a burst are sent before the first answer is handled, and each
 * connection carries a message both ways, so that a mix-up is found.
 */

enum { BURSTS = 5, WORD = 64 };

static uint64_t seed(bool server, int burst, int i)
{
	return (server ? 5000 : 6000) + burst * DTD_BACKLOG + i;
}

static DAT_LMR_TRIPLET piece(const struct dtl_mem *mem, bool target, int i)
{
	return dtl_segment(mem->context, mem->start + WORD * (2 * i + target), WORD);
}

static enum dtd_result make(struct dtd *d, struct dtl_mem *mem, struct dtl_end *e, int i)
{
	struct dtl_end_wish wish = dtd_wish(d);
	DAT_LMR_TRIPLET seg = piece(mem, true, i);

	wish.recvs = wish.requests = 2;
	DTD_NEED(dtl_end_make(e, &d->ia, &wish) == 0);
	DTD_NEED(dtl_post_recv(e, &seg, 1, i) == 0);
	return DTD_PASS;
}

static enum dtd_result exchange(struct dtd *d, struct dtl_mem *mem, struct dtl_end *e, int burst)
{
	DAT_LMR_TRIPLET seg;
	int i;

	for (i = 0; i < DTD_BACKLOG; i++) {
		seg = piece(mem, false, i);
		dtl_fill(mem->start + WORD * 2 * i, WORD, seed(dtd_is_server(d), burst, i));
		DTD_NEED(dtl_post_send(&e[i], &seg, 1, i) == 0);
	}
	for (i = 0; i < DTD_BACKLOG; i++) {
		DTD_NEED(dtl_reap(&e[i], e[i].request, i, NULL) == 0);
		DTD_NEED(dtl_reap(&e[i], e[i].recv, i, NULL) == 0);
		DTD_NEED(dtl_differs(mem->start + WORD * (2 * i + 1), WORD,
				     seed(!dtd_is_server(d), burst, i)) < 0);
	}
	return DTD_PASS;
}

static enum dtd_result one_burst(struct dtd *d, struct dtl_mem *mem, int burst, uint64_t *ns)
{
	struct dtl_end e[DTD_BACKLOG];
	uint64_t since;
	int i;

	for (i = 0; i < DTD_BACKLOG; i++)
		if (make(d, mem, &e[i], i) != DTD_PASS)
			return DTD_FAIL;
	DTD_NEED(dtd_step(d, 110 + burst) == 0);
	since = dtl_now_ns();
	if (dtd_meet_many(d, e, DTD_BACKLOG, 200 + burst * DTD_BACKLOG) != DTD_PASS)
		return DTD_FAIL;
	*ns += dtl_now_ns() - since;
	if (exchange(d, mem, e, burst) != DTD_PASS)
		return DTD_FAIL;
	DTD_NEED(dtd_step(d, 120 + burst) == 0);
	for (i = 0; i < DTD_BACKLOG; i++)
		DTD_NEED(dtl_end_drop(&e[i]) == 0);
	return DTD_PASS;
}

enum dtd_result dtd_check_many(struct dtd *d)
{
	struct dtl_mem mem;
	uint64_t ns = 0;
	int i;

	DTD_NEED(dtl_mem_make(&mem, &d->ia, 2 * WORD * DTD_BACKLOG, DAT_MEM_PRIV_ALL_FLAG) == 0);
	for (i = 0; i < BURSTS; i++)
		if (one_burst(d, &mem, i, &ns) != DTD_PASS)
			return DTD_FAIL;
	DTD_NEED(dtl_mem_drop(&mem) == 0);
	if (d->o->verbose)
		printf("       %d connections, %.0f per second\n", BURSTS * DTD_BACKLOG,
		       BURSTS * DTD_BACKLOG * 1e9 / (double)(ns ? ns : 1));
	return DTD_PASS;
}

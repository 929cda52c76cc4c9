/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dtest.h"

#include <endian.h>
#include <string.h>

#if DTL_V2
#include <dat2/dat_ib_extensions.h>
#endif

/*
 * Datagrams (IB extension): a connection request yields the peer's address, to which both ends
 * send. A network may lose some, so each end sends over the standing connection which ones it has,
 * and missing ones are sent again.
 */

#if DTL_V2

enum { GRH = 40, MOST = 64, ROUNDS = 20, QUIET_MS = 500 };

struct transfer {
	struct dtl_end e;
	struct dtl_mem mem;
	DAT_IB_EXTENSION_EVENT_DATA address;
	int n;
	uint64_t size;			/* bytes of a datagram: its number, then a pattern */
	uint64_t all, have, theirs;	/* one bit each */
	char *slots;			/* for MOST that arrive, behind the one that is sent */
};

static uint64_t seed(bool server, int i)
{
	return (server ? 8000 : 9000) + i;
}

static char *slot(const struct transfer *t, int i)
{
	return t->slots + (GRH + t->size) * i;
}

static int post_recv(struct transfer *t, int i)
{
	DAT_LMR_TRIPLET seg = dtl_segment(t->mem.context, slot(t, i), GRH + t->size);

	return dtl_post_recv(&t->e, &seg, 1, i);
}

/* Waits for the next completion of EVD, which must be a success. Returns 1 if none came in time. */
static int reap(struct dtd *d, struct transfer *t, DAT_EVD_HANDLE evd, long ms,
		DAT_DTO_COMPLETION_EVENT_DATA *ret)
{
	DAT_EVENT ev;
	int r = dtl_next(t->e.how, d->cno, evd, ms, &ev);

	if (r != 0)
		return r;
	*ret = ev.event_data.dto_completion_event_data;
	if (((int)ev.event_number == DAT_IB_DTO_EVENT ||
	     ev.event_number == DAT_DTO_COMPLETION_EVENT) &&
	    ret->status == DAT_DTO_SUCCESS && ret->ep_handle == t->e.ep)
		return 0;
	dtl_complain("a datagram's completion is %s, %s", dtl_event_name(ev.event_number),
		     dtl_status_name(ret->status));
	return -1;
}

static int send_one(struct dtd *d, struct transfer *t, int i)
{
	uint64_t nr = htobe64(i);
	DAT_LMR_TRIPLET seg = dtl_segment(t->mem.context, t->mem.start, t->size);
	DAT_DTO_COOKIE cookie = { .as_64 = i };
	DAT_DTO_COMPLETION_EVENT_DATA done;

	memcpy(t->mem.start, &nr, sizeof(nr));
	dtl_fill(t->mem.start + 8, t->size - 8, seed(dtd_is_server(d), i));
	if (dtl_check(dat_ib_post_send_ud(t->e.ep, 1, &seg, &t->address.remote_ah, cookie,
					  DAT_COMPLETION_DEFAULT_FLAG), "dat_ib_post_send_ud") != 0)
		return -1;
	return reap(d, t, t->e.request, DTL_TIMEOUT_MS, &done) == 0 &&
	       done.user_cookie.as_64 == (DAT_UINT64)i ? 0 : -1;
}

static int take(struct dtd *d, struct transfer *t, const DAT_DTO_COMPLETION_EVENT_DATA *got)
{
	uint64_t nr, at = got->user_cookie.as_64;
	char *data;

	if (at >= (uint64_t)t->n || got->transfered_length != GRH + t->size) {
		dtl_complain("a datagram of %llu bytes arrived for slot %llu",
			     (unsigned long long)got->transfered_length, (unsigned long long)at);
		return -1;
	}
	data = slot(t, at) + GRH;
	memcpy(&nr, data, sizeof(nr));
	nr = be64toh(nr);
	if (nr >= (uint64_t)t->n ||
	    dtl_differs(data + 8, t->size - 8, seed(!dtd_is_server(d), nr)) >= 0) {
		dtl_complain("data mismatch: a datagram");
		return -1;
	}
	t->have |= 1ull << nr;
	memset(data, 0, t->size);
	return post_recv(t, at);
}

static int one_round(struct dtd *d, struct transfer *t)
{
	DAT_DTO_COMPLETION_EVENT_DATA got;
	int i, r = 0;

	for (i = 0; i < t->n; i++)
		if (!(t->theirs >> i & 1) && send_one(d, t, i) != 0)
			return -1;
	while (t->have != t->all && (r = reap(d, t, t->e.recv, QUIET_MS, &got)) == 0)
		if (take(d, t, &got) != 0)
			return -1;
	return r < 0 ? -1 : 0;
}

static enum dtd_result exchange(struct dtd *d, struct transfer *t)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		DTD_NEED(one_round(d, t) == 0);
		DTD_NEED(dtd_step_saying(d, 82 + i, t->have, &t->theirs) == 0);
		if (t->have == t->all && t->theirs == t->all)
			return DTD_PASS;
	}
	dtl_complain("datagrams do not arrive: of %d each way this end has those of mask 0x%llx, the peer "
		     "those of mask 0x%llx: see dapple why at both ends", t->n,
		     (unsigned long long)t->have, (unsigned long long)t->theirs);
	return DTD_FAIL;
}

static enum dtd_result fetch_address(struct dtd *d, struct transfer *t)
{
	DAT_IB_EXT_TYPE want = dtd_is_server(d) ? DAT_IB_UD_PASSIVE_REMOTE_AH : DAT_IB_UD_REMOTE_AH;
	DAT_EVENT ev;

	if (dtd_meet_ud(d, &t->e, 81, &ev) != DTD_PASS)
		return DTD_FAIL;
	memcpy(&t->address, ev.event_extension_data, sizeof(t->address));
	DTD_NEED(t->address.type == want && t->address.remote_ah.ah);
	/* The address outlives the request. */
	if (d->ia.attr.extension_version >= 209)
		DTD_NEED(dtl_check(dat_ib_ud_cm_free(t->e.ep, t->address.context.as_ptr),
				   "dat_ib_ud_cm_free") == 0);
	return DTD_PASS;
}

enum dtd_result dtd_check_datagrams(struct dtd *d)
{
	struct dtl_end_wish wish = dtd_wish(d);
	struct transfer t = { .n = d->o->burst < MOST ? d->o->burst : MOST };
	uint64_t most = dtd_mtu(&d->ia);
	int i;

	if (!(d->common & DTD_CAN_DATAGRAMS))
		return DTD_UNSUPP;
	t.all = t.n == MOST ? ~0ull : (1ull << t.n) - 1;
	t.size = d->o->size < 16 ? 16 : d->o->size;
	/* The ends may have ports of different MTU. */
	DTD_NEED(dtd_step_saying(d, 80, most, &t.theirs) == 0);
	most = most < t.theirs ? most : t.theirs;
	t.size = t.size < most ? t.size : most;
	t.theirs = 0;
	wish.datagrams = true;
	DTD_NEED(dtl_end_make(&t.e, &d->ia, &wish) == 0);
	DTD_NEED(dtl_mem_make(&t.mem, &d->ia, t.size + (GRH + t.size) * t.n,
			      DAT_MEM_PRIV_ALL_FLAG) == 0);
	t.slots = t.mem.start + t.size;
	for (i = 0; i < t.n; i++)
		DTD_NEED(post_recv(&t, i) == 0);
	if (fetch_address(d, &t) != DTD_PASS || exchange(d, &t) != DTD_PASS)
		return DTD_FAIL;
	if (d->ia.attr.extension_version >= 209)
		DTD_NEED(dtl_check(dat_ib_ud_ah_free(t.e.ep, &t.address.remote_ah),
				   "dat_ib_ud_ah_free") == 0);
	DTD_NEED(dtl_end_drop(&t.e) == 0);
	DTD_NEED(dtl_mem_drop(&t.mem) == 0);
	return DTD_PASS;
}

#else

enum dtd_result dtd_check_datagrams(struct dtd *d)
{
	(void)d;
	return DTD_UNSUPP;
}

#endif

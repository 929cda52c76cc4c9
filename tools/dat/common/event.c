/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dtl.h"

#include <sched.h>

/*
 * Waiting for events. Providers differ in their return value without an event (QUEUE_EMPTY from a
 * CNO, TIMEOUT_EXPIRED) and may return early, so the deadline is kept here.
 */

static bool is(DAT_RETURN r, DAT_RETURN type)
{
	return DAT_GET_TYPE(r) == type;
}

/* Tries once. Returns 0 with an event, 1 without, -1 for a failure. */
static int take(DAT_EVD_HANDLE evd, DAT_EVENT *ret)
{
	DAT_RETURN r = dat_evd_dequeue(evd, ret);

	if (r == DAT_SUCCESS)
		return 0;
	return is(r, DAT_QUEUE_EMPTY) ? 1 : dtl_check(r, "dat_evd_dequeue");
}

/* Sleeps until there may be an event. */
static int sleep_for_event(enum dtl_how how, DAT_CNO_HANDLE cno, DAT_TIMEOUT us)
{
	DAT_EVD_HANDLE hint;
	DAT_RETURN r;

	if (how == DTL_POLL) {
		sched_yield();
		return 0;
	}
	r = dat_cno_wait(cno, us, &hint);
	if (r == DAT_SUCCESS || is(r, DAT_QUEUE_EMPTY) || is(r, DAT_TIMEOUT_EXPIRED) ||
	    is(r, DAT_INTERRUPTED_CALL))
		return 0;
	return dtl_check(r, "dat_cno_wait");
}

static int wait_once(DAT_EVD_HANDLE evd, DAT_TIMEOUT us, DAT_EVENT *ret)
{
	DAT_COUNT more;
	DAT_RETURN r = dat_evd_wait(evd, us, 1, ret, &more);

	if (r == DAT_SUCCESS)
		return 0;
	if (is(r, DAT_TIMEOUT_EXPIRED) || is(r, DAT_INTERRUPTED_CALL))
		return 1;
	return dtl_check(r, "dat_evd_wait");
}

int dtl_next(enum dtl_how how, DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd, long ms, DAT_EVENT *ret)
{
	uint64_t end = dtl_now_ns() + (uint64_t)ms * 1000000, now;
	DAT_TIMEOUT us;
	int r;

	for (;;) {
		now = dtl_now_ns();
		us = now < end ? (end - now) / 1000 : 0;
		r = how == DTL_WAIT ? wait_once(evd, us, ret) : take(evd, ret);
		if (r <= 0 || now >= end)
			return r;
		if (how != DTL_WAIT && sleep_for_event(how, cno, us) != 0)
			return -1;
	}
}

static const char *side_of(const struct dtl_end *e, DAT_EVD_HANDLE evd)
{
	return evd == e->recv ? "receive" : "request";
}

/* Whether the event is the completion with this cookie, and a success. */
static int judge(struct dtl_end *e, DAT_EVD_HANDLE evd, const DAT_EVENT *ev, uint64_t cookie, uint64_t *ret_length)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &ev->event_data.dto_completion_event_data;
	const char *side = side_of(e, evd);

	if (ev->event_number != DAT_DTO_COMPLETION_EVENT)
		dtl_complain("%s came instead of a %s completion", dtl_event_name(ev->event_number), side);
	else if (dto->status != DAT_DTO_SUCCESS)
		dtl_complain("a %s ended with %s", side, dtl_status_name(dto->status));
	else if (dto->user_cookie.as_64 != cookie || dto->ep_handle != e->ep)
		dtl_complain("a %s completed out of order: cookie 0x%llx, expected 0x%llx", side,
			     (unsigned long long)dto->user_cookie.as_64,
			     (unsigned long long)cookie);
	else {
		if (ret_length)
			*ret_length = dto->transfered_length;
		return 0;
	}
	return -1;
}

static int wait_completion(struct dtl_end *e, DAT_EVD_HANDLE evd, DAT_EVENT *ret)
{
	int r = dtl_next(e->how, e->cno, evd, DTL_TIMEOUT_MS, ret);

	if (r > 0)
		dtl_complain("a %s completion did not come within %d s", side_of(e, evd), DTL_TIMEOUT_MS / 1000);
	return r == 0 ? 0 : -1;
}

int dtl_reap(struct dtl_end *e, DAT_EVD_HANDLE evd, uint64_t cookie, uint64_t *ret_length)
{
	DAT_EVENT ev;

	return wait_completion(e, evd, &ev) == 0 ? judge(e, evd, &ev, cookie, ret_length) : -1;
}

int dtl_reap_parting(struct dtl_end *e, uint64_t cookie)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT ev;

	if (wait_completion(e, e->request, &ev) != 0)
		return -1;
	dto = &ev.event_data.dto_completion_event_data;
	/* siw of 6.1 takes a Send that it has transmitted whole for one that failed, if the peer has closed the stream */
	if (ev.event_number == DAT_DTO_COMPLETION_EVENT && dto->user_cookie.as_64 == cookie && dto->ep_handle == e->ep &&
	    (dto->status == DAT_DTO_ERR_FLUSHED || dto->status == DAT_DTO_ERR_LOCAL_EP))
		return 0;
	return judge(e, e->request, &ev, cookie, NULL);
}

int dtl_reap_late(struct dtl_end *e, DAT_EVD_HANDLE evd, uint64_t cookie, uint64_t *ret_length)
{
	DAT_EVENT ev;
	int r;

	do
		r = dtl_next(e->how, e->cno, evd, 10 * DTL_TIMEOUT_MS, &ev);
	while (r > 0);
	return r == 0 ? judge(e, evd, &ev, cookie, ret_length) : -1;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat_evd_create, _query, _free, _resize and the modes, without traffic. */
#include "events_lib.h"

static const int streams[] = {
	DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG, DAT_EVD_DTO_FLAG, DAT_EVD_CONNECTION_FLAG,
	DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
};

static const DAT_RETURN no_evd = (DAT_RETURN)DAT_ERROR(DAT_INVALID_HANDLE,
							DAT_INVALID_HANDLE_EVD_REQUEST);

/* Each of the 63 mixes of streams can be created, queried and waited for. */
static void mixes(DAT_IA_HANDLE ia)
{
	for (int mix = 1; mix < 64; mix++) {
		DAT_EVD_HANDLE evd;
		DAT_EVD_PARAM p;
		DAT_EVENT ev;
		DAT_COUNT n = -1;
		int flags = 0;

		for (int i = 0; i < 6; i++)
			if (mix & 1 << i)
				flags |= streams[i];
		OK(dat_evd_create(ia, 5, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags, &evd));
		OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &p));
		CHECK(p.ia_handle == ia);
		CHECK(p.evd_qlen >= 5);
		CHECK((int)p.evd_flags == flags);
		CHECK(p.cno_handle == DAT_HANDLE_NULL);
		CHECK((p.evd_state & 0xf) == (DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE));
		CHECK((p.evd_state & 0x30) == DAT_EVD_STATE_CONFIG_THRESHOLD);
		WANT(dat_evd_wait(evd, 0, 1, &ev, &n), ERR(DAT_TIMEOUT_EXPIRED, 0));
		CHECK(n == 0);
		EMPTY(evd, flags & (DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG));
		WANT(ev_post(evd, 1), flags & DAT_EVD_SOFTWARE_FLAG ?
					      DAT_SUCCESS :
					      ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
		OK(dat_evd_free(evd));
		WANT(dat_evd_free(evd), no_evd);
	}
}

static void create_refused(DAT_IA_HANDLE ia)
{
	DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)&evd, was = evd;
	DAT_IA_ATTR attr;

	OK(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	WANT(dat_evd_create(DAT_HANDLE_NULL, 1, NULL, DAT_EVD_DTO_FLAG, &evd),
	     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
	WANT(dat_evd_create(ia, 0, NULL, DAT_EVD_DTO_FLAG, &evd),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	WANT(dat_evd_create(ia, -7, NULL, DAT_EVD_DTO_FLAG, &evd),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	WANT(dat_evd_create(ia, 1, NULL, (DAT_EVD_FLAGS)0, &evd),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4));
	WANT(dat_evd_create(ia, 1, NULL, (DAT_EVD_FLAGS)0x402, &evd),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4));
	WANT(dat_evd_create(ia, 1, NULL, DAT_EVD_DTO_FLAG, NULL),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5));
	WANT(dat_evd_create(ia, attr.max_evd_qlen + 1, NULL, DAT_EVD_DTO_FLAG, &evd),
	     ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD));
	CHECK(evd == was);
	OK(dat_evd_create(ia, attr.max_evd_qlen, NULL, DAT_EVD_DTO_FLAG, &evd));
	OK(dat_evd_free(evd));
}

static void query_refused(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM p;

	WANT(dat_evd_query(evd, (DAT_EVD_PARAM_MASK)0x20, &p),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	WANT(dat_evd_query(evd, DAT_EVD_FIELD_ALL, NULL),
	     ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	for (int bit = 1; bit <= DAT_EVD_FIELD_EVD_FLAGS; bit <<= 1)
		OK(dat_evd_query(evd, (DAT_EVD_PARAM_MASK)bit, &p));
}

static DAT_EVD_STATE state(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM p;

	OK(dat_evd_query(evd, DAT_EVD_FIELD_EVD_STATE, &p));
	return (DAT_EVD_STATE)(p.evd_state & 0xf);
}

/* The substates are independent of each other, and each call may be repeated. */
static void modes(DAT_EVD_HANDLE evd)
{
	for (int i = 0; i < 2; i++)
		OK(dat_evd_disable(evd));
	CHECK(state(evd) == (DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_WAITABLE));
	for (int i = 0; i < 2; i++)
		OK(dat_evd_set_unwaitable(evd));
	CHECK(state(evd) == (DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_UNWAITABLE));
	for (int i = 0; i < 2; i++)
		OK(dat_evd_enable(evd));
	CHECK(state(evd) == (DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_UNWAITABLE));
	for (int i = 0; i < 2; i++)
		OK(dat_evd_clear_unwaitable(evd));
	CHECK(state(evd) == (DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE));
}

/* Unwaitable concerns dat_evd_wait only. */
static void unwaitable(DAT_EVD_HANDLE evd)
{
	DAT_COUNT n;
	DAT_EVENT ev;

	OK(dat_evd_set_unwaitable(evd));
	OK(ev_post(evd, 7));
	WANT(dat_evd_wait(evd, 0, 1, &ev, &n),
	     ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE));
	WANT(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &ev, &n),
	     ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE));
	OK(dat_evd_dequeue(evd, &ev));
	ev_is(&ev, evd, 7);
	OK(dat_evd_clear_unwaitable(evd));
}

/* Up and down with events in the queue, across its wrap; never below the queued events. */
static void resize(DAT_EVD_HANDLE evd)
{
	uintptr_t in = 0, out = 0;
	DAT_EVD_PARAM p;
	DAT_EVENT ev;

	WANT(dat_evd_resize(evd, 0), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	WANT(dat_evd_resize(evd, -1), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	WANT(dat_evd_resize(evd, 1 << 30), ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD));
	for (int size = 4; size < 400; size += 37) {
		OK(dat_evd_resize(evd, size));
		OK(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &p));
		CHECK(p.evd_qlen >= size);
		while (ev_post(evd, in) == DAT_SUCCESS)
			in++;
		CHECK(in - out >= (uintptr_t)size);
		WANT(ev_post(evd, in), ERR(DAT_QUEUE_FULL, 0));
		CHECK(DAT_GET_TYPE(dat_evd_resize(evd, size / 2)) == DAT_INVALID_STATE);
		for (int i = 0; i < size / 2; i++) {
			OK(dat_evd_dequeue(evd, &ev));
			ev_is(&ev, evd, out++);
		}
	}
	while (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS)
		ev_is(&ev, evd, out++);
	CHECK(in == out);
	OK(dat_evd_resize(evd, 4));
}

static void software(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	memset(&ev, 0, sizeof(ev));
	WANT(dat_evd_post_se(evd, NULL), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	WANT(dat_evd_post_se(evd, &ev), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	WANT(dat_evd_dequeue(evd, NULL), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	/* the event is the consumer's, unchanged */
	ev.event_number = DAT_SOFTWARE_EVENT;
	ev.event_data.software_event_data.pointer = &ev;
	ev.event_extension_data[7] = 0x1234567890abcdefu;
	OK(dat_evd_post_se(evd, &ev));
	memset(&ev, 0, sizeof(ev));
	OK(dat_evd_dequeue(evd, &ev));
	ev_is(&ev, evd, (uintptr_t)&ev);
	CHECK(ev.event_extension_data[7] == 0x1234567890abcdefu);
}

int main(void)
{
	DAT_EVD_HANDLE async, evd;
	DAT_IA_HANDLE ia = ev_open(&async);

	mixes(ia);
	create_refused(ia);
	for (int with_cq = 0; with_cq < 2; with_cq++) {
		OK(dat_evd_create(ia, 4, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)(DAT_EVD_SOFTWARE_FLAG |
				  (with_cq ? DAT_EVD_DTO_FLAG : 0)), &evd));
		query_refused(evd);
		modes(evd);
		unwaitable(evd);
		resize(evd);
		software(evd);
		OK(dat_evd_free(evd));
	}
	/* the EVD of dat_ia_open ends with the adapter */
	WANT(dat_evd_free(async), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_ASYNC));
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	return 0;
}

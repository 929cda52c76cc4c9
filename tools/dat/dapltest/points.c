/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "points.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "six.h"

#define QUALS 1000	/* qualifiers above the base that are tried */

struct lane_request {
	struct ctl_hello hello;
	uint32_t lane;		/* network order */
};

/* Tests of one server run beside each other: each starts its search after the previous one. */
static DAT_CONN_QUAL next_quals(DAT_CONN_QUAL base, uint32_t n)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static unsigned taken;
	unsigned first;

	pthread_mutex_lock(&lock);
	first = taken % QUALS;
	if (first + n > QUALS)
		first = 0;
	taken = first + n;
	pthread_mutex_unlock(&lock);
	return base + 1 + first;
}

static bool is_taken(DAT_RETURN r)
{
	return DAT_GET_TYPE(r) == DAT_CONN_QUAL_IN_USE ||
	       DAT_GET_TYPE(r) == DAT_CONN_QUAL_UNAVAILABLE;
}

static int begin(struct dtt_points *d, struct dtl_ia *ia, uint32_t n)
{
	*d = (struct dtt_points){ .ia = ia, .evd = DAT_HANDLE_NULL };
	if (dtl_check(dat_evd_create(ia->ia, n + 1, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &d->evd),
		      "dat_evd_create (requests to connect)") != 0)
		return -1;
	d->psp = calloc(n, sizeof(*d->psp));
	d->rsp = calloc(n, sizeof(*d->rsp));
	return d->psp && d->rsp ? 0 : -1;
}

static DAT_RETURN open_psp(struct dtt_points *d, DAT_CONN_QUAL qual)
{
	DAT_RETURN r = dat_psp_create(d->ia->ia, qual, d->evd, DAT_PSP_CONSUMER_FLAG, &d->psp[d->n_psp]);

	if (r == DAT_SUCCESS) {
		d->quals[d->n_quals++] = qual;
		d->n_psp++;
	}
	return r;
}

static DAT_RETURN open_rsp(struct dtt_points *d, DAT_CONN_QUAL qual, struct dtt_lane *lane)
{
	DAT_RETURN r = dat_rsp_create(d->ia->ia, qual, lane->end.ep, d->evd, &d->rsp[d->n_rsp]);

	if (r == DAT_SUCCESS) {
		d->quals[d->n_quals++] = qual;
		d->n_rsp++;
	}
	return r;
}

/* LANE is NULL for a public point. */
static int open_somewhere(struct dtt_points *d, DAT_CONN_QUAL base, struct dtt_lane *lane)
{
	DAT_RETURN r = DAT_SUCCESS;
	int i;

	for (i = 0; i < QUALS; i++) {
		DAT_CONN_QUAL qual = next_quals(base, 1);

		r = lane ? open_rsp(d, qual, lane) : open_psp(d, qual);
		if (!is_taken(r))
			break;
	}
	return dtl_check(r, lane ? "dat_rsp_create" : "dat_psp_create");
}

int dtt_points_open(struct dtt_points *d, struct dtl_ia *ia, DAT_CONN_QUAL base,
		   struct dtt_lane **lanes, uint32_t n, bool rsp)
{
	uint32_t i;

	if (begin(d, ia, n) != 0)
		return -1;
	if (!rsp)
		return open_somewhere(d, base, NULL);
	for (i = 0; i < n; i++)
		if (open_somewhere(d, base, lanes[i]) != 0)
			return -1;
	return 0;
}

static int close_points(struct dtt_points *d)
{
	int bad = 0;

	while (d->n_psp)
		bad |= dtl_check(dat_psp_free(d->psp[--d->n_psp]), "dat_psp_free");
	while (d->n_rsp)
		bad |= dtl_check(dat_rsp_free(d->rsp[--d->n_rsp]), "dat_rsp_free");
	d->n_quals = 0;
	return bad;
}

static DAT_RETURN open_row(struct dtt_points *d, DAT_CONN_QUAL first, struct dtt_lane **lanes, uint32_t n, bool rsp)
{
	DAT_RETURN r = DAT_SUCCESS;
	uint32_t i;

	for (i = 0; r == DAT_SUCCESS && i < n; i++)
		r = rsp ? open_rsp(d, first + i, lanes[i]) : open_psp(d, first + i);
	return r;
}

int dtt_points_open_row(struct dtt_points *d, struct dtl_ia *ia, DAT_CONN_QUAL base,
			struct dtt_lane **lanes, uint32_t n, bool rsp)
{
	DAT_RETURN r = DAT_SUCCESS;
	int i;

	if (begin(d, ia, n) != 0)
		return -1;
	if (n > QUALS) {
		dtl_complain("%u endpoints need as many qualifiers in a row: the test fails; use no more than %d", n, QUALS);
		return -1;
	}
	for (i = 0; i < QUALS; i++) {
		r = open_row(d, next_quals(base, n), lanes, n, rsp);
		if (!is_taken(r))
			break;
		if (close_points(d) != 0)
			return -1;
	}
	return dtl_check(r, rsp ? "dat_rsp_create" : "dat_psp_create");
}

/*
 * Returns the lane of a request: its private data names it, its service point has the endpoint, or it is that of the
 * service point's qualifier.
 */
static struct dtt_lane *asker(const struct dtt_points *d, const DAT_CR_ARRIVAL_EVENT_DATA *arrival,
			      const DAT_CR_PARAM *cr, struct dtt_lane **lanes, uint32_t n)
{
	struct lane_request request;
	uint32_t i;

	for (i = 0; d->n_rsp && i < n; i++)
		if (lanes[i]->end.ep == cr->local_ep_handle)
			return lanes[i];
	for (i = 0; lanes[0]->plan->six && i < d->n_psp; i++)
		if (d->quals[i] == arrival->conn_qual)
			return lanes[i];
	if (lanes[0]->plan->six || d->n_rsp || cr->private_data_size < (int)sizeof(request) ||
	    !ctl_hello_ok(cr->private_data, cr->private_data_size))
		return NULL;
	memcpy(&request, cr->private_data, sizeof(request));
	i = ntohl(request.lane);
	return i < n ? lanes[i] : NULL;
}

static int accept_one(struct dtt_points *d, struct dtt_lane **lanes, uint32_t n, struct dtt_lane **ret)
{
	DAT_CR_HANDLE cr;
	struct dtt_lane *lane;
	DAT_CR_PARAM param;
	DAT_EVENT ev;
	int r = dtl_next(DTL_WAIT, DAT_HANDLE_NULL, d->evd, DTL_TIMEOUT_MS, &ev);

	if (r > 0)
		dtl_complain("an endpoint of the client did not request its connection in time");
	if (r != 0)
		return -1;
	if (ev.event_number != DAT_CONNECTION_REQUEST_EVENT) {
		dtl_complain("a connection request was expected, and %s came", dtl_event_name(ev.event_number));
		return -1;
	}
	cr = ev.event_data.cr_arrival_event_data.cr_handle;
	if (dtl_check(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "dat_cr_query") != 0)
		return -1;
	lane = asker(d, &ev.event_data.cr_arrival_event_data, &param, lanes, n);
	if (!lane) {
		dtl_complain("a connection request belongs to no endpoint of this test");
		dtl_cr_reject(cr, NULL, 0);
		return -1;
	}
	*ret = lane;
	return dtl_check(dat_cr_accept(cr, d->n_rsp ? DAT_HANDLE_NULL : lane->end.ep, 0, NULL),
			 "dat_cr_accept");
}

/* The client's threads connect beside each other, but each waits for the memory of a lane before it connects the next. */
static int accept_row(struct dtt_points *d, struct dtt_lane **lanes, uint32_t n)
{
	struct dtt_lane *lane;
	uint32_t i;

	for (i = 0; i < n; i++)
		if (accept_one(d, lanes, n, &lane) != 0 || dtl_established(&lane->end, NULL) != 0 ||
		    dtt_lane_exchange(lane) != 0)
			return -1;
	return 0;
}

int dtt_points_accept(struct dtt_points *d, struct dtt_lane **lanes, uint32_t n)
{
	struct dtt_lane *lane;
	uint32_t i;

	if (lanes[0]->plan->six)
		return accept_row(d, lanes, n);
	for (i = 0; i < n; i++)
		if (accept_one(d, lanes, n, &lane) != 0)
			return -1;
	for (i = 0; i < n; i++)
		if (dtl_established(&lanes[i]->end, NULL) != 0)
			return -1;
	return 0;
}

int dtt_points_close(struct dtt_points *d)
{
	int bad = close_points(d);

	free(d->psp);
	free(d->rsp);
	if (d->evd != DAT_HANDLE_NULL)
		bad |= dtl_check(dat_evd_free(d->evd), "dat_evd_free");
	return bad;
}

/* Sends a lane's request, and waits for the answer. */
static int enter(struct dtt_lane *lane, uint32_t nr, const struct sockaddr_storage *to, uint64_t qual, const void *data,
		 int size)
{
	DAT_EVENT ev;

	if (dtl_connect(&lane->end, to, qual, data, size, &ev) != 0)
		return -1;
	if (!lane->end.connected)
		dtl_complain("endpoint %u is not connected: %s", nr, dtl_event_name(ev.event_number));
	return lane->end.connected ? 0 : -1;
}

int dtt_points_enter(struct dtt_lane **lanes, uint32_t n, const struct sockaddr_storage *to,
		    const uint64_t *quals, uint32_t n_quals)
{
	struct lane_request request;
	uint32_t i;

	if (n_quals != 1 && n_quals != n) {
		dtl_complain("the server opened %u service points for %u endpoints", n_quals, n);
		return -1;
	}
	ctl_hello_set(&request.hello);
	for (i = 0; i < n; i++) {
		request.lane = htonl(i);
		if (enter(lanes[i], i, to, quals[i % n_quals], &request, sizeof(request)) != 0)
			return -1;
	}
	return 0;
}

int dtt_points_enter_row(struct dtt_lane **lanes, uint32_t n, const struct sockaddr_storage *to, uint64_t first)
{
	int size = lanes[0]->plan->kind == 'T' ? sizeof(SIX_PRIVATE) - 1 : 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		if (enter(lanes[i], i, to, first + i, size ? SIX_PRIVATE : NULL, size) != 0 ||
		    dtt_lane_exchange(lanes[i]) != 0)
			return -1;
	return 0;
}

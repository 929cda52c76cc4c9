/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "points.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

#define QUALS 1000	/* qualifiers above the base that are tried */

struct lane_request {
	struct ctl_hello hello;
	uint32_t lane;		/* network order */
};

/* Tests of one server run beside each other: each starts its search after the previous one. */
static DAT_CONN_QUAL next_qual(DAT_CONN_QUAL base)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static unsigned n;
	unsigned mine;

	pthread_mutex_lock(&lock);
	mine = n++;
	pthread_mutex_unlock(&lock);
	return base + 1 + mine % QUALS;
}

static bool is_taken(DAT_RETURN r)
{
	return DAT_GET_TYPE(r) == DAT_CONN_QUAL_IN_USE ||
	       DAT_GET_TYPE(r) == DAT_CONN_QUAL_UNAVAILABLE;
}

static int open_psp(struct dtt_points *d, DAT_CONN_QUAL base)
{
	DAT_RETURN r = DAT_SUCCESS;
	int i;

	for (i = 0; i < QUALS; i++) {
		d->quals[0] = next_qual(base);
		r = dat_psp_create(d->ia->ia, d->quals[0], d->evd, DAT_PSP_CONSUMER_FLAG, &d->psp);
		if (!is_taken(r))
			break;
	}
	d->n_quals = 1;
	return dtl_check(r, "dat_psp_create");
}

static int open_rsp(struct dtt_points *d, DAT_CONN_QUAL base, struct dtt_lane *lane)
{
	DAT_RETURN r = DAT_SUCCESS;
	int i;

	for (i = 0; i < QUALS; i++) {
		d->quals[d->n_rsp] = next_qual(base);
		r = dat_rsp_create(d->ia->ia, d->quals[d->n_rsp], lane->end.ep, d->evd,
				   &d->rsp[d->n_rsp]);
		if (!is_taken(r))
			break;
	}
	if (dtl_check(r, "dat_rsp_create") != 0)
		return -1;
	d->n_quals = ++d->n_rsp;
	return 0;
}

int dtt_points_open(struct dtt_points *d, struct dtl_ia *ia, DAT_CONN_QUAL base,
		   struct dtt_lane **lanes, uint32_t n, bool rsp)
{
	uint32_t i;

	*d = (struct dtt_points){ .ia = ia, .psp = DAT_HANDLE_NULL, .evd = DAT_HANDLE_NULL };
	if (dtl_check(dat_evd_create(ia->ia, n + 1, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &d->evd),
		      "dat_evd_create (requests to connect)") != 0)
		return -1;
	if (!rsp)
		return open_psp(d, base);
	d->rsp = calloc(n, sizeof(*d->rsp));
	for (i = 0; d->rsp && i < n; i++)
		if (open_rsp(d, base, lanes[i]) != 0)
			return -1;
	return d->rsp ? 0 : -1;
}

/*
 * Returns the lane of a request: its private data names it, or its service point has the endpoint.
 */
static struct dtt_lane *asker(const struct dtt_points *d, const DAT_CR_PARAM *cr,
			      struct dtt_lane **lanes, uint32_t n)
{
	struct lane_request request;
	uint32_t i;

	for (i = 0; d->rsp && i < n; i++)
		if (lanes[i]->end.ep == cr->local_ep_handle)
			return lanes[i];
	if (d->rsp || cr->private_data_size < (int)sizeof(request) ||
	    !ctl_hello_ok(cr->private_data, cr->private_data_size))
		return NULL;
	memcpy(&request, cr->private_data, sizeof(request));
	i = ntohl(request.lane);
	return i < n ? lanes[i] : NULL;
}

static int accept_one(struct dtt_points *d, struct dtt_lane **lanes, uint32_t n)
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
	lane = asker(d, &param, lanes, n);
	if (!lane) {
		dtl_complain("a connection request belongs to no endpoint of this test");
		dtl_cr_reject(cr, NULL, 0);
		return -1;
	}
	return dtl_check(dat_cr_accept(cr, d->rsp ? DAT_HANDLE_NULL : lane->end.ep, 0, NULL),
			 "dat_cr_accept");
}

int dtt_points_accept(struct dtt_points *d, struct dtt_lane **lanes, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (accept_one(d, lanes, n) != 0)
			return -1;
	for (i = 0; i < n; i++)
		if (dtl_established(&lanes[i]->end, NULL) != 0)
			return -1;
	return 0;
}

int dtt_points_close(struct dtt_points *d)
{
	int bad = 0;
	uint32_t i;

	if (d->psp != DAT_HANDLE_NULL)
		bad |= dtl_check(dat_psp_free(d->psp), "dat_psp_free");
	for (i = 0; i < d->n_rsp; i++)
		bad |= dtl_check(dat_rsp_free(d->rsp[i]), "dat_rsp_free");
	free(d->rsp);
	if (d->evd != DAT_HANDLE_NULL)
		bad |= dtl_check(dat_evd_free(d->evd), "dat_evd_free");
	return bad;
}

int dtt_points_enter(struct dtt_lane **lanes, uint32_t n, const struct sockaddr_storage *to,
		    const uint64_t *quals, uint32_t n_quals)
{
	struct lane_request request;
	DAT_EVENT ev;
	uint32_t i;

	if (n_quals != 1 && n_quals != n) {
		dtl_complain("the server opened %u service points for %u endpoints", n_quals, n);
		return -1;
	}
	ctl_hello_set(&request.hello);
	for (i = 0; i < n; i++) {
		request.lane = htonl(i);
		if (dtl_connect(&lanes[i]->end, to, quals[i % n_quals], &request, sizeof(request),
				&ev) != 0)
			return -1;
		if (!lanes[i]->end.connected) {
			dtl_complain("endpoint %u is not connected: %s", i,
				     dtl_event_name(ev.event_number));
			return -1;
		}
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ends.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "six.h"
#include "points.h"
#include "job.h"

/*
 * The server: one service point for control connections, one thread per client. It ends at the
 * request of a client (-T Q), after the tests under way.
 */

#define BACKLOG 64
#define LOOK_MS 100	/* period at which the listener looks whether to end */

struct server {
	const struct dtt_options *o;
	struct dtl_ia ia;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int sessions;		/* lock */
	bool quit;		/* lock */
	int bad;		/* lock: tests that failed */
};

struct session {
	struct server *s;
	struct ctl ctl;
	bool six;		/* the client speaks version 6 */
};

/* --- one client --- */

static int send_quals(struct session *se, const struct dtt_points *points)
{
	struct ctl_ready ready;
	uint32_t i;

	ready.n_quals = points->n_quals;
	for (i = 0; i < points->n_quals; i++)
		ready.quals[i] = points->quals[i];
	return ctl_send_ready(&se->ctl, &ready);
}

/* A client of version 6 says no verdict: its last message on the lanes is one. */
static int run_job_six(struct session *se, const struct dtt_plan *plan, struct dtt_job *job,
		       struct dtt_points *points)
{
	struct server *s = se->s;

	if (dtt_points_open_row(points, &s->ia, s->o->qual, job->lanes, job->n, plan->rsp) != 0 ||
	    six_send_first(&se->ctl, points->quals[0]) != 0 ||
	    dtt_points_accept(points, job->lanes, job->n) != 0)
		return -1;
	return dtt_job_run(job) != 0 ? -1 : dtt_job_look(job);
}

static int run_job(struct session *se, const struct dtt_plan *plan, struct dtt_job *job,
		   struct dtt_points *points)
{
	struct server *s = se->s;
	union ctl_body body;
	int bad;

	if (plan->six)
		return run_job_six(se, plan, job, points);
	if (dtt_points_open(points, &s->ia, s->o->qual, job->lanes, job->n, plan->rsp) != 0 ||
	    send_quals(se, points) != 0 || dtt_points_accept(points, job->lanes, job->n) != 0)
		return -1;
	bad = dtt_job_run(job);
	if (ctl_recv(&se->ctl, &body) != CTL_DONE)
		return -1;
	if (!body.result.ok)
		dtl_complain("the client failed: %s", body.result.text);
	return bad || !body.result.ok ? -1 : dtt_job_look(job);
}

/* Version 6 has no word for it. */
static void send_result(struct session *se, bool ok, const char *text)
{
	if (!se->six)
		ctl_send_result(&se->ctl, CTL_RESULT, ok, text);
	else if (!ok)
		dtl_complain("a client's test failed: %s", text);
}

static int serve_test(struct session *se, const struct dtt_plan *plan)
{
	const char *fault = dtt_plan_fault(plan, &se->s->ia);
	struct dtt_points points = { .evd = DAT_HANDLE_NULL };
	struct dtt_job job;
	int bad;

	if (fault || dtt_job_make(&job, &se->s->ia, plan, DTT_SERVER, DAT_QOS_BEST_EFFORT) != 0) {
		send_result(se, false, fault ? fault : "the server could not make its endpoints");
		return -1;
	}
	bad = run_job(se, plan, &job, &points);
	send_result(se, !bad, bad ? "the server's end failed" : "passed");
	bad |= dtt_points_close(&points);
	return dtt_job_drop(&job) | bad;
}

static void serve_quit(struct session *se)
{
	struct server *s = se->s;

	pthread_mutex_lock(&s->lock);
	while (s->sessions > 1 && !s->quit)
		pthread_cond_wait(&s->changed, &s->lock);
	s->quit = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (se->six)
		six_send_first(&se->ctl, 0);
	else
		ctl_send_result(&se->ctl, CTL_RESULT, true, "the server ends");
}

static int hear_plan(struct session *se, union ctl_body *ret)
{
	if (se->six)
		return six_recv_plan(&se->ctl, &ret->plan);
	return ctl_recv(&se->ctl, ret) == CTL_REQUEST ? 0 : -1;
}

static void *session_main(void *arg)
{
	struct session *se = arg;
	struct server *s = se->s;
	union ctl_body body;
	DAT_EVENT ev;
	int bad = -1;

	if (dtl_established(&se->ctl.end, NULL) == 0 && hear_plan(se, &body) == 0) {
		bad = 0;
		if (s->o->debug)
			dtt_plan_print(&body.plan);
		if (body.plan.kind == 'Q')
			serve_quit(se);
		else
			bad = serve_test(se, &body.plan);
		/* The client disconnects first, after it has read the result. */
		if (dtl_next(DTL_WAIT, DAT_HANDLE_NULL, se->ctl.end.conn, DTL_TIMEOUT_MS,
			     &ev) == 0)
			se->ctl.end.connected = false;
	}
	bad |= ctl_drop(&se->ctl);
	pthread_mutex_lock(&s->lock);
	s->sessions--;
	s->bad += bad != 0;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	free(se);
	return NULL;
}

/* --- the listener --- */

static int start_session(struct server *s, DAT_CR_HANDLE cr, bool six)
{
	struct session *se = calloc(1, sizeof(*se));
	struct ctl_hello mine;
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	if (!se || ctl_make(&se->ctl, &s->ia, DAT_QOS_BEST_EFFORT) != 0) {
		free(se);
		return dtl_cr_reject(cr, NULL, 0), -1;
	}
	se->s = s;
	se->six = six;
	pthread_mutex_lock(&s->lock);
	s->sessions++;
	pthread_mutex_unlock(&s->lock);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	ctl_hello_set(&mine);
	r = dtl_accept(&se->ctl.end, cr, six ? NULL : &mine, six ? 0 : sizeof(mine));
	if (r == 0)
		r = pthread_create(&thread, &attr, session_main, se) ? -1 : 0;
	pthread_attr_destroy(&attr);
	if (r == 0)
		return 0;
	pthread_mutex_lock(&s->lock);
	s->sessions--;
	pthread_mutex_unlock(&s->lock);
	ctl_drop(&se->ctl);
	free(se);
	return -1;
}

static int answer(struct server *s, const DAT_EVENT *ev)
{
	DAT_CR_HANDLE cr = ev->event_data.cr_arrival_event_data.cr_handle;
	struct ctl_hello mine;
	DAT_CR_PARAM param;

	if (ev->event_number != DAT_CONNECTION_REQUEST_EVENT)
		return -1;
	if (dtl_check(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "dat_cr_query") != 0)
		return -1;
	if (ctl_hello_ok(param.private_data, param.private_data_size))
		return start_session(s, cr, false);
	if (!ctl_hello_there(param.private_data, param.private_data_size)) {
		printf("A client of the DAPL project's dapltest\n");
		fflush(stdout);
		return start_session(s, cr, true);
	}
	dtl_complain("a client of another version: it is rejected; run the same version at both ends");
	ctl_hello_set(&mine);
	return dtl_check(dtl_cr_reject(cr, &mine, sizeof(mine)), "dat_cr_reject");
}

static bool wants_to_end(struct server *s)
{
	bool quit;

	pthread_mutex_lock(&s->lock);
	quit = s->quit && s->sessions == 0;
	pthread_mutex_unlock(&s->lock);
	return quit;
}

static int listen_loop(struct server *s, DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;
	int r;

	while (!wants_to_end(s)) {
		r = dtl_next(DTL_WAIT, DAT_HANDLE_NULL, evd, LOOK_MS, &ev);
		if (r < 0)
			return -1;
		/* A failure to serve one client does not end the server. */
		if (r == 0)
			answer(s, &ev);
	}
	return 0;
}

/* Each has a pointer to s. */
static void await_sessions(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->sessions)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

/*
 * The first region of a zone may take seconds: kDAPL connects two endpoints for it. siw's client waits ten for its answer, so
 * that is done before one may come.
 */
static int warm_up(struct server *s)
{
	struct ctl c;

	return ctl_make(&c, &s->ia, DAT_QOS_BEST_EFFORT) != 0 ? -1 : ctl_drop(&c);
}

int dtt_server(const struct dtt_options *o)
{
	struct server s = { .o = o, .lock = PTHREAD_MUTEX_INITIALIZER,
			    .changed = PTHREAD_COND_INITIALIZER };
	DAT_PSP_HANDLE psp;
	DAT_EVD_HANDLE evd;
	int bad;

	if (dtl_ia_open(&s.ia, o->ia) != 0)
		return -1;
	if (warm_up(&s) != 0) {
		dtl_ia_close(&s.ia);
		return -1;
	}
	if (dtl_check(dat_evd_create(s.ia.ia, BACKLOG, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd),
		      "dat_evd_create") != 0) {
		dtl_ia_close(&s.ia);
		return -1;
	}
	if (dtl_check(dat_psp_create(s.ia.ia, o->qual, evd, DAT_PSP_CONSUMER_FLAG, &psp),
		      "dat_psp_create (another qualifier: -n)") != 0) {
		dat_evd_free(evd);
		dtl_ia_close(&s.ia);
		return -1;
	}
	printf("Dapltest: Service Point Ready - %s\n", o->ia);
	fflush(stdout);
	bad = listen_loop(&s, evd);
	await_sessions(&s);
	bad |= dtl_check(dat_psp_free(psp), "dat_psp_free");
	bad |= dtl_check(dat_evd_free(evd), "dat_evd_free");
	bad |= dtl_ia_close(&s.ia);
	printf("DT_cs_Server (%s):  Exiting.\n", o->ia);
	if (s.bad)
		dtl_complain("%d test%s failed", s.bad, s.bad == 1 ? "" : "s");
	return bad || s.bad ? -1 : 0;
}

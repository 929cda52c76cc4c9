/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ends.h"

#include <stdio.h>
#include <time.h>

#include "control.h"
#include "points.h"
#include "job.h"

#define TRIES 10

/* --- the control connection --- */

/* The client retries while the server is starting or has no room. */
static int reach(struct ctl *c, struct dtl_ia *ia, const struct dtt_options *o,
		 const struct sockaddr_storage *to)
{
	struct timespec delay = { 0, 100000000 };
	struct ctl_hello hello;
	DAT_EVENT ev;
	int i;

	ctl_hello_set(&hello);
	for (i = 0; i < TRIES; i++) {
		if (ctl_make(c, ia, o->qos) != 0)
			return -1;
		if (dtl_connect(&c->end, to, o->qual, &hello, sizeof(hello), &ev) != 0)
			break;
		if (c->end.connected)
			return 0;
		ctl_drop(c);
		if (ev.event_number != DAT_CONNECTION_EVENT_NON_PEER_REJECTED) {
			dtl_complain("no connection to %s, qualifier %llu (%s): no test runs; %s", o->host,
				     (unsigned long long)o->qual, dtl_event_name(ev.event_number),
				     ev.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED ?
				     "run the same version at both ends" :
				     "check the route to the host, and see dapple why");
			return -1;
		}
		nanosleep(&delay, NULL);
	}
	if (i == TRIES)
		dtl_complain("no server listens at %s, qualifier %llu: no test runs; start one there "
			     "with -T S", o->host, (unsigned long long)o->qual);
	else
		ctl_drop(c);
	return -1;
}

/* Reads the server's verdict. */
static int hear_result(struct ctl *c)
{
	union ctl_body body;

	if (ctl_recv(c, &body) != CTL_RESULT)
		return -1;
	if (!body.result.ok)
		dtl_complain("the server reports: %s", body.result.text);
	return body.result.ok ? 0 : -1;
}

/* --- tests --- */

static int run_test(struct ctl *c, const struct sockaddr_storage *to, struct dtt_job *job)
{
	union ctl_body body;
	int type = ctl_recv(c, &body), bad;

	if (type == CTL_RESULT)
		dtl_complain("the server refuses: %s", body.result.text);
	if (type != CTL_READY)
		return -1;
	bad = dtt_points_enter(job->lanes, job->n, to, body.ready.quals, body.ready.n_quals);
	if (bad)
		return -1;
	bad = dtt_job_run(job);
	if (ctl_send_result(c, CTL_DONE, !bad, bad ? "the client's end failed" : "passed") != 0)
		return -1;
	return hear_result(c) | bad;
}

static int do_test(struct ctl *c, struct dtl_ia *ia, const struct dtt_options *o,
		   const struct sockaddr_storage *to)
{
	struct dtt_job job;
	int bad;

	if (o->plan.kind == 'Q')
		return ctl_send_request(c, &o->plan) != 0 ? -1 : hear_result(c);
	if (dtt_job_make(&job, ia, &o->plan, DTT_CLIENT, o->qos) != 0)
		return -1;
	bad = ctl_send_request(c, &o->plan) != 0 ? -1 : run_test(c, to, &job);
	if (!bad)
		dtt_job_report(&job);
	return dtt_job_drop(&job) | bad;
}

int dtt_client(const struct dtt_options *o)
{
	struct sockaddr_storage to;
	const char *fault;
	struct dtl_ia ia;
	struct ctl ctl;
	int bad;

	if (dtl_resolve(o->host, &to) != 0 || dtl_ia_open(&ia, o->ia) != 0)
		return -1;
	fault = dtt_plan_fault(&o->plan, &ia);
	if (fault) {
		dtl_complain("the plan cannot be carried out (%s): no test runs; correct the operations", fault);
		dtl_ia_close(&ia);
		return -1;
	}
	if (o->debug)
		dtt_plan_print(&o->plan);
	printf("Server Name: %s\nDT_cs_Client: Starting Test ...\n", o->host);
	bad = reach(&ctl, &ia, o, &to);
	if (bad == 0) {
		bad = do_test(&ctl, &ia, o, &to);
		bad |= ctl_drop(&ctl);
	}
	bad |= dtl_ia_close(&ia);
	printf("DT_cs_Client: ========== End of Work -- Client Exiting\n");
	return bad;
}

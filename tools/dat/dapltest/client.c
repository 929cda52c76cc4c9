/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "six.h"
#include "points.h"
#include "job.h"

#define TRIES 10

/* --- the control connection --- */

/* Whether the server speaks version 6, which has no private data. */
static bool is_six(const DAT_EVENT *ev)
{
	const DAT_CONNECTION_EVENT_DATA *conn = &ev->event_data.connect_event_data;

	return !ctl_hello_there(conn->private_data, conn->private_data_size);
}

/* The client retries while the server is starting or has no room. */
static int reach(struct ctl *c, struct dtl_ia *ia, const struct dtt_options *o,
		 const struct sockaddr_storage *to, bool *ret_six)
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
		*ret_six = is_six(&ev);
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

/* Not on the stack, which is small in the kernel. */
static struct dtt_job *make_job(struct dtl_ia *ia, const struct dtt_plan *plan, DAT_QOS qos)
{
	struct dtt_job *job = malloc(sizeof(*job));

	if (!job)
		dtl_complain("no memory for a test: it does not run; raise the limit on memory");
	else if (dtt_job_make(job, ia, plan, DTT_CLIENT, qos) == 0)
		return job;
	free(job);
	return NULL;
}

/* Reports a test that was good. Returns 0, or -1 if it was not. */
static int drop_job(struct dtt_job *job, int bad)
{
	if (!bad)
		dtt_job_report(job);
	bad |= dtt_job_drop(job);
	free(job);
	return bad ? -1 : 0;
}

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

/* A server of version 6 leaves the control connection when it has said where to connect. */
static int hear_first(struct ctl *c, struct dtt_plan *plan, uint64_t *ret)
{
	return six_recv_first(c, plan, ret) != 0 ? -1 : dtl_disconnected(&c->end);
}

static int run_six(struct ctl *c, struct dtl_ia *ia, const struct dtt_options *o, const struct sockaddr_storage *to,
		   struct dtt_plan *plan)
{
	struct dtt_job *job = make_job(ia, plan, o->qos);
	uint64_t first;
	int bad;

	if (!job)
		return -1;
	bad = six_send_plan(c, plan) != 0 || hear_first(c, plan, &first) != 0 ||
	      dtt_points_enter_row(job->lanes, job->n, to, first) != 0 || dtt_job_run(job) != 0;
	return drop_job(job, bad);
}

static int do_test_six(struct ctl *c, struct dtl_ia *ia, const struct dtt_options *o,
		       const struct sockaddr_storage *to)
{
	struct dtt_plan *plan = malloc(sizeof(*plan));
	const char *fault;
	uint64_t first;
	int bad;

	if (!plan)
		return -1;
	*plan = o->plan;
	plan->six = true;
	printf("The server is the DAPL project's dapltest\n");
	fault = dtt_plan_fault(plan, ia);
	if (fault)
		dtl_complain("the plan cannot be carried out with the DAPL project's dapltest (%s): no test runs; correct the "
			     "operations", fault);
	if (fault)
		bad = -1;
	else if (plan->kind == 'Q')
		bad = six_send_plan(c, plan) != 0 || hear_first(c, plan, &first) != 0 ? -1 : 0;
	else
		bad = run_six(c, ia, o, to, plan);
	free(plan);
	return bad;
}

static int do_test(struct ctl *c, struct dtl_ia *ia, const struct dtt_options *o,
		   const struct sockaddr_storage *to)
{
	struct dtt_job *job;

	if (o->plan.kind == 'Q')
		return ctl_send_request(c, &o->plan) != 0 ? -1 : hear_result(c);
	job = make_job(ia, &o->plan, o->qos);
	if (!job)
		return -1;
	return drop_job(job, ctl_send_request(c, &o->plan) != 0 ? -1 : run_test(c, to, job));
}

int dtt_client(const struct dtt_options *o)
{
	struct sockaddr_storage to;
	const char *fault;
	struct dtl_ia ia;
	struct ctl ctl;
	bool six;
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
	bad = reach(&ctl, &ia, o, &to, &six);
	if (bad == 0) {
		bad = six ? do_test_six(&ctl, &ia, o, &to) : do_test(&ctl, &ia, o, &to);
		bad |= ctl_drop(&ctl);
	}
	bad |= dtl_ia_close(&ia);
	printf("DT_cs_Client: ========== End of Work -- Client Exiting\n");
	return bad;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "serve.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapters.h"
#include "attach_model.h"
#include "commands.h"
#include "control.h"
#include "util/clock.h"
#include "util/sys.h"

#define LOOK_NS (100 * UT_MS) /* between looks at the ports when opensm does not tell */

/* --- the model's upcalls --- */

static void deliver(void *ctx, struct fab_port *port, const struct mad *m)
{
	struct serve *s = ctx;

	/* Connection management belongs to adapters, as it does to the kernel on a host. */
	if (!s->adapters || !ad_deliver(s->adapters, port, m))
		attach_model_deliver(s->attachments, port, m);
}

static void changed(void *ctx, struct fab_port *port, unsigned what)
{
	struct serve *s = ctx;

	if (s->attachments)
		attach_model_changed(s->attachments, port, what);
}

static void depart(void *ctx, struct fab_port *port, const struct mad *m)
{
	struct serve *s = ctx;

	if (s->trunks)
		trunk_depart(s->trunks, port, m);
}

static void trunk_changed(void *ctx, struct fab_port *port)
{
	struct serve *s = ctx;

	if (s->trunks)
		trunk_port_changed(s->trunks, port);
}

static void crossed(void *ctx, const struct fab_port *out, const struct mad *m)
{
	struct serve *s = ctx;

	record_crossed(s->record, out, m);
}

static void passed(void *ctx, const struct fab_port *out, const uint8_t *bytes, size_t len)
{
	struct serve *s = ctx;

	record_passed(s->record, out, bytes, len);
}

static void tally(void *ctx)
{
	struct serve *s = ctx;

	if (s->adapters)
		ad_tally(s->adapters);
}

static const struct fab_ops model_ops = {
	.deliver = deliver, .changed = changed, .depart = depart, .trunk_changed = trunk_changed, .tally = tally,
};

static const struct fab_ops recorded_ops = {
	.deliver = deliver, .changed = changed, .depart = depart, .trunk_changed = trunk_changed, .crossed = crossed,
	.passed = passed, .tally = tally,
};

/* --- the report to `dapple fabric up` --- */

static void report(struct serve *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* If `up` has gone before its fabric is up, the fabric ends. */
static void report(struct serve *s, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	if (s->report < 0)
		return;
	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(line) - 1)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	if (write(s->report, line, (size_t)n) != n)
		s->ending = true;
}

void serve_report_failure(int report_fd, const char *fmt, ...)
{
	char text[8000];
	va_list ap;

	if (report_fd < 0)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	dprintf(report_fd, "failed %s\n", text);
}

static void report_end(struct serve *s)
{
	loop_del(s->loop, s->report);
	ut_close(s->report);
	s->report = -1;
}

void serve_subnet(const struct serve *s, struct subnet *ret)
{
	subnet_count(s->model, s->sms[0] ? fab_node_by_name(s->model, opensm_node(s->sms[0])) : NULL, ret);
}

static bool waits_for(const struct serve *s, enum opensm_sweep outcome)
{
	return s->report >= 0 && s->sms[0] && opensm_sweep(s->sms[0]) == outcome;
}

/* Only the ports tell: after errors opensm sweeps again and says in its own way how that went, or its log cannot be read. */
static bool must_look(const struct serve *s)
{
	return waits_for(s, OPENSM_HAS_ERRORS) || waits_for(s, OPENSM_UNKNOWN);
}

/* The tables of a large fabric are not looked at after each MAD. */
static bool is_time_to_look(const struct serve *s)
{
	if (waits_for(s, OPENSM_SUBNET_UP))
		return true;
	return ut_now() >= s->look_at && (must_look(s) || (waits_for(s, OPENSM_SWEEPS) && s->model->sm_set != s->reported));
}

/*
 * Called once a round while `up` waits. The subnet is up when opensm says so, since from then on its SA answers, and the
 * ports of the model agree.
 */
static void report_progress(struct serve *s)
{
	struct subnet n;

	if (!is_time_to_look(s))
		return;
	serve_subnet(s, &n);
	s->look_at = ut_now() + s->model->n_nodes * 20 * UT_US + (must_look(s) ? LOOK_NS : 0);
	if (!waits_for(s, OPENSM_SWEEPS) && subnet_is_up(&n)) {
		report(s, "up %u", n.apart);
		report_end(s);
	} else if (s->model->sm_set != s->reported) {
		s->reported = s->model->sm_set;
		report(s, "progress %u %u %u", n.active, n.linked, n.without_lid);
	}
}

/* --- subnet managers --- */

static void sm_ended(void *arg, struct opensm *sm)
{
	struct serve *s = arg;
	char *text = NULL;
	size_t len = 0;
	FILE *f;
	int status;

	opensm_has_ended(sm, &status);
	/* One that was to sweep once (-o) has done it. */
	if (s->report < 0 || opensm_sweep(sm) == OPENSM_SUBNET_UP)
		return;
	f = open_memstream(&text, &len);
	if (f) {
		opensm_print_output(sm, f);
		fclose(f);
	}
	serve_report_failure(s->report, "opensm on node %s has ended (status %d): the fabric has no subnet manager; see its output:\n%s",
	       opensm_node(sm), status, text ? text : "");
	free(text);
	report_end(s);
	s->ending = true;
}

struct opensm *serve_sm_of(const struct serve *s, const char *node)
{
	unsigned i;

	for (i = 0; i < SERVE_SMS_MAX; i++)
		if (s->sms[i] && strcmp(opensm_node(s->sms[i]), node) == 0)
			return s->sms[i];
	return NULL;
}

bool serve_sm_stop(struct serve *s, const char *node)
{
	unsigned i;

	for (i = 0; i < SERVE_SMS_MAX; i++)
		if (s->sms[i] && strcmp(opensm_node(s->sms[i]), node) == 0) {
			opensm_stop(s->sms[i]);
			s->sms[i] = NULL;
			return true;
		}
	return false;
}

int serve_sm_start(struct serve *s, struct fab_node *n, char *const *words)
{
	struct opensm_spec spec = { .fabric = s->name, .node = n->name, .dir = s->dir, .words = words,
				    .port_guid = n->ports[n->type != FAB_SWITCH].guid };
	struct opensm *old = serve_sm_of(s, n->name);
	int status;
	unsigned i;

	if (old && !opensm_has_ended(old, &status))
		return -EBUSY;
	serve_sm_stop(s, n->name);
	if (!opensm_is_there())
		return -ENOENT;
	for (i = 0; i < SERVE_SMS_MAX; i++)
		if (!s->sms[i]) {
			s->sms[i] = opensm_start(s->loop, &spec, sm_ended, s);
			return s->sms[i] ? 0 : -errno;
		}
	return -ENOSPC;
}

void serve_node_gone(void *arg, struct fab_node *n)
{
	struct serve *s = arg;

	serve_sm_stop(s, n->name);
	ad_node_gone(s->adapters, n);
	attach_model_removed(s->attachments, n);
}

/* --- what ends a fabric --- */

static void on_signal(void *arg, uint32_t events)
{
	struct serve *s = arg;
	struct signalfd_siginfo si;

	if (read(s->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		s->ending = true;
}

static void on_session_end(void *arg, uint32_t events)
{
	struct serve *s = arg;

	s->ending = true;
}

/* `up` was ended before the fabric was up. */
static void on_report_gone(void *arg, uint32_t events)
{
	struct serve *s = arg;

	s->ending = true;
}

static void on_adapters(void *arg, uint32_t events)
{
	struct serve *s = arg;

	ad_serve(s->adapters);
}

static int open_adapters(struct serve *s)
{
	int r = ad_open(s->dir, s->model, s->is_hopping, &s->adapters);

	return r < 0 ? r : loop_add(s->loop, ad_fd(s->adapters), EPOLLIN, on_adapters, s);
}

static int watch_signals(struct serve *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? -errno : loop_add(s->loop, s->signals, EPOLLIN, on_signal, s);
}

/* The leader of this session, a shell or the runner of a job; or an owner. One that has ended already is not watched. */
static int watch_process(struct serve *s, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd >= 0)
		loop_add(s->loop, fd, EPOLLIN, on_session_end, s);
	return fd;
}

/* --- life --- */

static int open_doors(struct serve *s)
{
	char why[ATT_WHY_MAX];

	s->loop = loop_new();
	if (!s->loop || watch_signals(s) < 0) {
		serve_report_failure(s->report, "the machine refuses a poll loop (%s): the fabric does not start; raise the limit on "
		       "descriptors (ulimit -n)", strerror(errno));
		return 1;
	}
	if (attach_model_open(&s->attachments, s->loop, s->dir, s->model, why) < 0) {
		serve_report_failure(s->report, "%s", why);
		return 1;
	}
	s->control = control_open(s->dir, s->loop, commands_execute, s);
	if (!s->control || open_adapters(s) < 0) {
		serve_report_failure(s->report, "the sockets in %s cannot be made (%s): the fabric does not start; set "
		       "DAPPLE_RUNTIME_DIR to a shorter path", s->dir, strerror(errno));
		return 1;
	}
	return 0;
}

static int open_trunks(struct serve *s, const struct serve_config *c)
{
	char why[512];

	if (!c->trunk)
		return 0;
	s->trunks = trunk_open(s->loop, s->model, c->trunk, why, sizeof(why));
	if (!s->trunks)
		serve_report_failure(s->report, "%s", why);
	else
		trunk_join(s->trunks, s->adapters);
	return s->trunks ? 0 : 1;
}

/* The earliest deadline of the model, its packets, the trunks and the report. */
static uint64_t next_deadline(const struct serve *s)
{
	const uint64_t at[] = { fab_next(s->model), ad_next(s->adapters), s->trunks ? trunk_next(s->trunks) : UT_NEVER,
				must_look(s) ? s->look_at : UT_NEVER };
	uint64_t next = UT_NEVER;
	size_t i;

	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		next = at[i] < next ? at[i] : next;
	return next;
}

static int start_sm(struct serve *s, const struct serve_config *c)
{
	struct fab_node *n = c->sm ? fab_node_by_name(s->model, c->sm) : NULL;
	int r;

	if (!c->sm) {
		report(s, "up 0");
		report_end(s);
		return 0;
	}
	if (!n) {
		serve_report_failure(s->report, "the fabric has no node \"%s\": neither fabric nor subnet manager is started; "
				     "name a node of the topology by --sm", c->sm);
		return 1;
	}
	r = serve_sm_start(s, n, c->sm_words);
	if (r < 0)
		serve_report_failure(s->report, "opensm cannot be started (%s): the ports stay in state INIT; install the package "
		       "opensm, or give --sm none", strerror(-r));
	return r < 0;
}

static void close_doors(struct serve *s)
{
	unsigned i;

	for (i = 0; i < SERVE_SMS_MAX; i++)
		if (s->sms[i])
			opensm_stop(s->sms[i]);
	if (s->trunks)
		ad_on_depart(s->adapters, NULL, NULL);
	trunk_close(s->trunks);
	s->trunks = NULL;
	control_close(s->control);
	if (s->adapters)
		loop_del(s->loop, ad_fd(s->adapters));
	ad_close(s->adapters);
	if (s->attachments)
		attachments_close(s->attachments);
	loop_free(s->loop);
	ut_close(s->session);
	ut_close(s->owner);
	ut_close(s->signals);
	ut_close(s->report);
	place_remove(s->dir);
}

int serve_run(const struct serve_config *c)
{
	struct serve s = { .model = c->model, .report = c->report, .session = -1, .owner = -1, .signals = -1, .started = ut_now(),
			   .has_hosts = c->has_hosts, .is_hopping = c->is_hopping };
	int r;

	snprintf(s.name, sizeof(s.name), "%s", c->name);
	snprintf(s.dir, sizeof(s.dir), "%s", c->dir);
	r = open_doors(&s);
	if (r == 0) {
		s.record = c->capture ? record_open(c->capture, c->capture_name) : NULL;
		s.model->ops = s.record ? &recorded_ops : &model_ops;
		s.model->ctx = &s;
		if (c->is_session_bound)
			s.session = watch_process(&s, getsid(0));
		if (c->owner)
			s.owner = watch_process(&s, c->owner);
		loop_add(s.loop, s.report, 0, on_report_gone, &s);
		r = open_trunks(&s, c);
		if (r == 0)
			r = start_sm(&s, c);
	}
	while (r == 0 && !s.ending) {
		loop_once(s.loop, next_deadline(&s));
		attachments_settle(s.attachments);
		fab_run(s.model, ut_now());
		if (s.trunks)
			trunk_run(s.trunks, ut_now());
		ad_settle(s.adapters);
		record_settle(s.record);
		report_progress(&s);
	}
	s.model->ops = &(const struct fab_ops){ 0 };
	close_doors(&s);
	record_close(s.record);
	fab_free(s.model);
	return r;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "state.h"

#include "lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS 1e9

/* The reply that is being read: its time comes first, a counter names only its adapter. */
struct reading {
	struct state *s;
	uint64_t time;
	long pid;
	char comm[STATE_WORD];
};

static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "-");
}

static uint32_t behind_slash(const char *v)
{
	const char *slash = v ? strchr(v, '/') : NULL;

	return slash ? (uint32_t)strtoul(slash + 1, NULL, 10) : 0;
}

static void take_qp(struct reading *r, const struct line *l)
{
	struct state *s = r->s;
	const char *dev = line_value(l, "link");
	struct state_qp *q;

	s->qp = realloc(s->qp, (s->n_qp + 1) * sizeof(*s->qp));
	if (!s->qp)
		abort();
	q = &s->qp[s->n_qp++];
	*q = (struct state_qp){ .pid = (long)line_number(l, "pid"), .qpn = (uint32_t)line_number(l, "lqpn"),
				.rqpn = (uint32_t)line_number(l, "rqpn"), .sq = (uint32_t)line_number(l, "sq"),
				.sq_max = behind_slash(line_value(l, "sq")), .rq = (uint32_t)line_number(l, "rq"),
				.rq_max = behind_slash(line_value(l, "rq")), .posted = (uint32_t)line_number(l, "posted"),
				.sent = (uint32_t)line_number(l, "sent"), .received = (uint32_t)line_number(l, "received"),
				.retries = (unsigned)line_number(l, "retries") };
	copy(q->comm, sizeof(q->comm), line_value(l, "comm"));
	snprintf(q->dev, sizeof(q->dev), "%.*s", (int)strcspn(dev, "/"), dev);
	copy(q->type, sizeof(q->type), line_value(l, "type"));
	copy(q->state, sizeof(q->state), line_value(l, "state"));
	copy(q->peer, sizeof(q->peer), line_value(l, "peer"));
	copy(q->way, sizeof(q->way), line_value(l, "way"));
	copy(q->reason, sizeof(q->reason), line_value(l, "reason"));
	copy(q->waits, sizeof(q->waits), line_value(l, "waits"));
}

static struct state_dev *dev_of(struct reading *r, const char *name)
{
	struct state *s = r->s;
	struct state_dev *d;

	for (size_t i = 0; i < s->n_dev; i++)
		if (s->dev[i].pid == r->pid && !strcmp(s->dev[i].dev, name))
			return &s->dev[i];
	s->dev = realloc(s->dev, (s->n_dev + 1) * sizeof(*s->dev));
	if (!s->dev)
		abort();
	d = &s->dev[s->n_dev++];
	*d = (struct state_dev){ .pid = r->pid, .time = r->time };
	copy(d->dev, sizeof(d->dev), name);
	copy(d->comm, sizeof(d->comm), r->comm);
	return d;
}

/* "counter DEV NAME VALUE" */
static void take_counter(struct reading *r, const struct line *l)
{
	if (l->n < 2)
		return;
	for (int i = 0; i < ENG_C_COUNT; i++)
		if (!strcmp(eng_counter_rows[i].name, l->pair[1].word))
			dev_of(r, l->pair[0].value)->counter[i] = strtoull(l->pair[1].value, NULL, 10);
}

static void on_line(char *text, void *arg)
{
	struct reading *r = arg;
	struct line l;

	if (!line_read(text, &l))
		return;
	if (!strcmp(l.pair[0].word, "time")) {
		r->time = line_number(&l, "time");
		r->pid = (long)line_number(&l, "pid");
		copy(r->comm, sizeof(r->comm), line_value(&l, "comm"));
	} else if (!strcmp(l.pair[0].word, "link")) {
		take_qp(r, &l);
	} else if (!strcmp(l.pair[0].word, "counter")) {
		take_counter(r, &l);
	}
}

/* --- rates --- */

static const struct state_qp *qp_before(const struct state *before, const struct state_qp *q)
{
	for (size_t i = 0; i < before->n_qp; i++)
		if (before->qp[i].pid == q->pid && before->qp[i].qpn == q->qpn && !strcmp(before->qp[i].dev, q->dev))
			return &before->qp[i];
	return NULL;
}

static const struct state_dev *dev_before(const struct state *before, const struct state_dev *d)
{
	for (size_t i = 0; i < before->n_dev; i++)
		if (before->dev[i].pid == d->pid && !strcmp(before->dev[i].dev, d->dev))
			return &before->dev[i];
	return NULL;
}

static double seconds_of(const struct state *s, const struct state *before, const struct state_qp *q)
{
	for (size_t i = 0; i < s->n_dev; i++)
		if (s->dev[i].pid == q->pid && !strcmp(s->dev[i].dev, q->dev)) {
			const struct state_dev *old = dev_before(before, &s->dev[i]);

			return old ? (double)(s->dev[i].time - old->time) / NS : 0;
		}
	return 0;
}

static void rate_qp(const struct state *s, const struct state *before, struct state_qp *q)
{
	const struct state_qp *old = qp_before(before, q);
	double dt = old ? seconds_of(s, before, q) : 0;

	if (dt <= 0)
		return;
	memcpy(q->history, old->history, sizeof(q->history));
	q->n_history = old->n_history;
	/* Counted modulo 2^32; a RESET begins anew. */
	q->send_rate = q->sent - old->sent < UINT32_MAX / 2 ? (q->sent - old->sent) / dt : 0;
	q->recv_rate = q->received - old->received < UINT32_MAX / 2 ? (q->received - old->received) / dt : 0;
	if (q->n_history == STATE_HISTORY)
		memmove(q->history, q->history + 1, --q->n_history * sizeof(q->history[0]));
	q->history[q->n_history++] = (float)(q->send_rate + q->recv_rate);
}

static void rate_dev(struct state_dev *d, const struct state_dev *old)
{
	double dt = (double)(d->time - old->time) / NS;

	for (int i = 0; i < ENG_C_COUNT && dt > 0; i++)
		d->rate[i] = d->counter[i] >= old->counter[i] ? (double)(d->counter[i] - old->counter[i]) / dt : 0;
}

void state_read(struct state *ret, const struct state *before)
{
	struct reading r = { .s = ret };
	char why[200];

	*ret = (struct state){ 0 };
	ret->processes = lines_ask(0, "show top", on_line, &r, why);
	for (size_t i = 0; before && i < ret->n_qp; i++)
		rate_qp(ret, before, &ret->qp[i]);
	for (size_t i = 0; before && i < ret->n_dev; i++) {
		const struct state_dev *old = dev_before(before, &ret->dev[i]);

		if (old)
			rate_dev(&ret->dev[i], old);
	}
}

void state_free(struct state *s)
{
	free(s->qp);
	free(s->dev);
	*s = (struct state){ 0 };
}

const char *state_limit(const struct state_qp *q)
{
	if (strcmp(q->state, "RTS") != 0)
		return "-";
	if (!strcmp(q->waits, "rnr") || !strcmp(q->waits, "credit"))
		return "receiver";
	if (!strcmp(q->waits, "retry") || !strcmp(q->waits, "socket") || q->retries)
		return "network";
	if (q->sq && q->sq >= q->sq_max - q->sq_max / 4)
		return "path";
	return q->send_rate > 0 ? "sender" : "-";
}

double state_rate(const struct state *s, enum eng_counter c)
{
	double sum = 0;

	for (size_t i = 0; i < s->n_dev; i++)
		sum += s->dev[i].rate[c];
	return sum;
}

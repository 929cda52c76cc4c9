/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "table.h"

#include "../run/text.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const char *const table_sort_names[TABLE_SORTS] = { "rate", "process", "queue pair", "latency", "retries" };

/* --- order --- */

static enum table_sort sort_by;
static bool sort_turned;

static int of_numbers(double a, double b)
{
	return a < b ? -1 : a > b;
}

static int compare(const void *x, const void *y)
{
	const struct state_qp *a = x, *b = y;
	int r;

	switch (sort_by) {
	case TABLE_BY_PID: r = of_numbers((double)a->pid, (double)b->pid); break;
	case TABLE_BY_QP: r = of_numbers(a->qpn, b->qpn); break;
	case TABLE_BY_LATENCY: r = of_numbers(b->p99_us, a->p99_us); break;
	case TABLE_BY_RETRIES: r = of_numbers(b->retries, a->retries); break;
	default: r = of_numbers(b->send_rate + b->recv_rate, a->send_rate + a->recv_rate); break;
	}
	if (r == 0)
		r = of_numbers((double)a->pid, (double)b->pid);
	if (r == 0)
		r = of_numbers(a->qpn, b->qpn);
	return sort_turned ? -r : r;
}

void table_sort(struct state *s, enum table_sort by, bool turned)
{
	sort_by = by;
	sort_turned = turned;
	if (s->n_qp)
		qsort(s->qp, s->n_qp, sizeof(*s->qp), compare);
}

bool table_has(const struct state_qp *q, const char *text)
{
	const char *const words[] = { q->comm, q->dev, q->type, q->state, q->peer, q->way, q->reason, q->waits };
	char number[32];

	snprintf(number, sizeof(number), "%ld", q->pid);
	if (!*text || !strcmp(number, text))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(words[i], text))
			return true;
	return false;
}

/* --- text --- */

/* 1234567: "1.23M"; five characters at most. */
static const char *short_number(double v, char out[16])
{
	static const char units[] = { 0, 'k', 'M', 'G', 'T' };
	unsigned u = 0;

	while (v >= 999.5 && u < sizeof(units) - 1) {
		v /= 1000;
		u++;
	}
	if (!u)
		snprintf(out, 16, "%.0f", v);
	else
		snprintf(out, 16, v < 9.995 ? "%.2f%c" : v < 99.95 ? "%.1f%c" : "%.0f%c", v, units[u]);
	return out;
}

void table_sums(const struct state *s, double seconds, char out[TABLE_LINE])
{
	double sends = 0, receives = 0;
	char a[16], b[16], c[16], d[16], e[16];

	for (size_t i = 0; i < s->n_qp; i++) {
		sends += s->qp[i].send_rate;
		receives += s->qp[i].recv_rate;
	}
	snprintf(out, TABLE_LINE, "%d processes, %zu queue pairs, in %.1f s: %s requests/s, %s receives/s, %s B/s sent, "
		 "%s repeats/s, %s RNR/s", s->processes, s->n_qp, seconds, short_number(sends, a), short_number(receives, b),
		 short_number(state_rate(s, ENG_C_tx_bytes) + state_rate(s, ENG_C_direct_tx_bytes), c),
		 short_number(state_rate(s, ENG_C_retransmits), d), short_number(state_rate(s, ENG_C_rnr_nak_retry_err), e));
}

void table_head(bool latency, char out[TABLE_LINE])
{
	snprintf(out, TABLE_LINE, "%7s %-12s %-12s %8s %-7s %-5s %-15s %-10s %-13s %6s %6s %9s %9s %-7s %-8s%s", "PID", "PROGRAM",
		 "ADAPTER", "QP", "TYPE", "STATE", "PEER", "WAY", "REASON", "SEND/s", "RECV/s", "SQ", "RQ", "WAITS", "LIMIT",
		 latency ? "    p50us    p99us" : "");
}

/* The highest value of the history is a whole character. */
static void put_bars(const struct state_qp *q, unsigned bars, char *out, size_t size)
{
	static const char *const eighths[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	unsigned from = q->n_history > bars ? q->n_history - bars : 0;
	float most = 1;

	for (unsigned i = from; i < q->n_history; i++)
		most = q->history[i] > most ? q->history[i] : most;
	for (unsigned i = from; i < q->n_history; i++) {
		unsigned k = (unsigned)(q->history[i] / most * 8.0f + 0.5f);
		int n = snprintf(out, size, "%s", eighths[k > 8 ? 8 : k]);

		if (n < 0 || (size_t)n >= size)
			return;
		out += n;
		size -= (size_t)n;
	}
}

void table_row(const struct state_qp *q, bool latency, unsigned bars, char out[TABLE_LINE])
{
	char sq[24], rq[24], a[16], b[16];
	int n;

	snprintf(sq, sizeof(sq), "%" PRIu32 "/%" PRIu32, q->sq, q->sq_max);
	snprintf(rq, sizeof(rq), "%" PRIu32 "/%" PRIu32, q->rq, q->rq_max);
	n = snprintf(out, TABLE_LINE, "%7ld %-12.12s %-12.12s 0x%06" PRIx32 " %-7s %-5s %-15s %-10s %-13s %6s %6s %9s %9s %-7s %-8s",
		     q->pid, q->comm, q->dev, q->qpn, q->type, q->state, q->peer, q->way, q->reason, short_number(q->send_rate, a),
		     short_number(q->recv_rate, b), sq, rq, q->waits, state_limit(q));
	if (latency && n > 0 && n < TABLE_LINE)
		n += q->p99_us > 0 ? snprintf(out + n, TABLE_LINE - (size_t)n, " %8.1f %8.1f", q->p50_us, q->p99_us)
				   : snprintf(out + n, TABLE_LINE - (size_t)n, " %8s %8s", "-", "-");
	if (bars && n > 0 && n < TABLE_LINE - 1) {
		out[n++] = ' ';
		out[n] = 0;
		put_bars(q, bars, out + n, TABLE_LINE - (size_t)n);
	}
}

/* --- JSON --- */

static void put_text(FILE *out, const char *name, const char *v)
{
	fprintf(out, "\"%s\":\"", name);
	text_json(out, v, SIZE_MAX);
	fputs("\",", out);
}

static void put_qp(FILE *out, const struct state_qp *q)
{
	fprintf(out, "{\"pid\":%ld,", q->pid);
	put_text(out, "comm", q->comm);
	put_text(out, "dev", q->dev);
	fprintf(out, "\"lqpn\":%" PRIu32 ",\"rqpn\":%" PRIu32 ",", q->qpn, q->rqpn);
	put_text(out, "type", q->type);
	put_text(out, "state", q->state);
	put_text(out, "peer", q->peer);
	put_text(out, "way", q->way);
	put_text(out, "reason", q->reason);
	put_text(out, "waits", q->waits);
	put_text(out, "limit", state_limit(q));
	fprintf(out, "\"sq\":%" PRIu32 ",\"sq-max\":%" PRIu32 ",\"rq\":%" PRIu32 ",\"rq-max\":%" PRIu32 ",\"retries\":%u,", q->sq,
		q->sq_max, q->rq, q->rq_max, q->retries);
	fprintf(out, "\"sends-per-s\":%.1f,\"receives-per-s\":%.1f", q->send_rate, q->recv_rate);
	if (q->p99_us > 0)
		fprintf(out, ",\"p50-us\":%.2f,\"p99-us\":%.2f", q->p50_us, q->p99_us);
	fputs(",\"history\":[", out);
	for (unsigned i = 0; i < q->n_history; i++)
		fprintf(out, "%s%.1f", i ? "," : "", (double)q->history[i]);
	fputs("]}", out);
}

static void put_dev(FILE *out, const struct state_dev *d)
{
	bool first = true;

	fprintf(out, "{\"pid\":%ld,", d->pid);
	put_text(out, "comm", d->comm);
	put_text(out, "dev", d->dev);
	fputs("\"per-s\":{", out);
	for (int i = 0; i < ENG_C_COUNT; i++)
		if (d->rate[i] > 0) {
			fprintf(out, "%s\"%s\":%.1f", first ? "" : ",", eng_counter_rows[i].name, d->rate[i]);
			first = false;
		}
	fputs("}}", out);
}

void table_json(const struct state *s, FILE *out)
{
	fprintf(out, "{\"processes\":%d,\"qps\":[", s->processes);
	for (size_t i = 0; i < s->n_qp; i++) {
		fputs(i ? "," : "", out);
		put_qp(out, &s->qp[i]);
	}
	fputs("],\"adapters\":[", out);
	for (size_t i = 0; i < s->n_dev; i++) {
		fputs(i ? "," : "", out);
		put_dev(out, &s->dev[i]);
	}
	fputs("]}\n", out);
}

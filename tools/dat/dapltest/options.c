/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_IA "dapple-roce-lo"
#define DEFAULT_WINDOW 16

static const char common[] = "D:n:dR:h";

/* The options of each test beside the common ones. */
static const struct mode {
	char kind;
	const char *letters, *usage;
} modes[] = {
	{ 'S', "", "" },
	{ 'Q', "s:", "-s HOST" },
	{ 'T', "s:i:t:w:VPQr", "-s HOST [-t THREADS] [-w ENDPOINTS] [-i ITERATIONS] [-V] [-P|-Q] "
	  "[-r] OP OP ...\n        OP: client|server SR|RR|RW [SIZE [SEGMENTS]] [-f]" },
	{ 'P', "s:i:m:p:", "-s HOST [-m b|p] [-i ITERATIONS] [-p WINDOW] RR|RW [SIZE [SEGMENTS]]" },
	{ 'L', "w:m:", "[-w WIDTH] [-m MOST] [limit_ia|limit_pz|limit_cno|limit_evd|limit_ep|"
	  "limit_rsp|limit_psp|limit_lmr|limit_rpost|limit_size_lmr ...]" },
	{ 'F', "f:i:t:v:s:", "-f hwconn|endpoint|pz|mem|connmgt|queryinfo [CASE ...]" },
	{ 'I', "", "" },
};

static void usage(FILE *to)
{
	size_t i;

	fprintf(to, "usage: dapple-dapltest [-f FILE] [-T S|Q|T|P|L|F|I] [-D IA] [-n QUALIFIER] "
		"[-d] [-R BE|HT|LL|EC|PM] ...\n");
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		fprintf(to, "  -T %c %s\n", modes[i].kind, modes[i].usage);
}

static int fault(const char *format, const char *what)
{
	fprintf(stderr, "dapple-dapltest: ");
	fprintf(stderr, format, what);
	fprintf(stderr, "\n");
	usage(stderr);
	return -1;
}

static int number(const char *text, long least, long most, long *ret)
{
	char *end;

	errno = 0;
	*ret = strtol(text, &end, 0);
	if (errno || *end || end == text || *ret < least || *ret > most)
		return fault("\"%s\" is not a number in the range of this option", text);
	return 0;
}

static int quality(const char *text, DAT_QOS *ret)
{
	static const struct {
		const char *name;
		DAT_QOS qos;
	} all[] = {
		{ "BE", DAT_QOS_BEST_EFFORT }, { "HT", DAT_QOS_HIGH_THROUGHPUT },
		{ "LL", DAT_QOS_LOW_LATENCY }, { "EC", DAT_QOS_ECONOMY },
		{ "PM", DAT_QOS_PREMIUM },
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i].name, text) == 0) {
			*ret = all[i].qos;
			return 0;
		}
	return fault("-R %s: use BE, HT, LL, EC or PM", text);
}

/* --- operations --- */

static bool all_digits(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s);
}

/* Reads SIZE SEGMENTS -f behind an operation, each optional. */
static int op_tail(char **words, int n, int at, struct dtt_op *op)
{
	long v;

	op->size = 4096;
	op->segments = 1;
	if (at < n && all_digits(words[at])) {
		if (number(words[at++], 0, INT_MAX, &v) != 0)
			return -1;
		op->size = v;
	}
	if (at < n && all_digits(words[at])) {
		if (number(words[at++], 1, DTT_SEGMENTS_MAX, &v) != 0)
			return -1;
		op->segments = v;
	}
	if (at < n && strcmp(words[at], "-f") == 0) {
		op->late = true;
		at++;
	}
	return at;
}

static int op_type(const char *word, enum dtt_type *ret)
{
	int i;

	for (i = 0; i < 3; i++)
		if (strcmp(word, dtt_type_names[i]) == 0) {
			*ret = i;
			return 0;
		}
	return fault("\"%s\" is no operation: use SR, RR or RW", word);
}

static int parse_ops(struct dtt_plan *p, char **words, int n)
{
	int at = 0;

	while (at < n) {
		struct dtt_op op = { .side = DTT_CLIENT };

		if (p->n_ops == 100)
			return fault("%s", "the operations are more than 100: give fewer");
		if (p->kind == 'T') {
			op.side = strcmp(words[at], "server") == 0;
			if (!op.side && strcmp(words[at], "client") != 0)
				return fault("an operation begins with client or server, not with %s",
					     words[at]);
			at++;
		}
		if (at == n)
			return fault("%s", "the last operation lacks SR, RR or RW");
		if (op_type(words[at], &op.type) != 0)
			return -1;
		at = op_tail(words, n, at + 1, &op);
		if (at < 0)
			return -1;
		p->ops[p->n_ops++] = op;
	}
	return 0;
}

/* Late Sends need the Receive of a pair: one of the client, then one of the server. */
static int check_pairs(const struct dtt_plan *p)
{
	int n[2] = { 0, 0 };
	uint32_t i;

	for (i = 0; i < p->n_ops; i++)
		n[p->ops[i].side] += p->ops[i].late;
	if (n[DTT_CLIENT] != n[DTT_SERVER])
		return fault("%s", "-f must appear in pairs: one client SR, one server SR");
	return 0;
}

static int finish_plan(struct dtt_options *o, char **words, int n)
{
	if (parse_ops(&o->plan, words, n) != 0)
		return -1;
	if (o->kind == 'P' && (o->plan.n_ops != 1 || o->plan.ops[0].type == DTT_SR))
		return fault("%s", "the performance test takes one operation, RR or RW");
	if (o->kind == 'T') {
		if (o->plan.verify)
			dtt_plan_add_syncs(&o->plan);
		else if (o->plan.n_ops == 0)
			return fault("%s", "the transaction test needs operations");
	}
	return check_pairs(&o->plan);
}

/* --- options --- */

static int take_number(uint32_t *to, long most)
{
	long v;

	if (number(optarg, 1, most, &v) != 0)
		return -1;
	*to = v;
	return 0;
}

static int take_common(struct dtt_options *o, int letter)
{
	long v;

	switch (letter) {
	case 'D':
		o->ia = optarg;
		return 0;
	case 'n':
		if (number(optarg, 1, LONG_MAX, &v) != 0)
			return -1;
		o->qual = v;
		return 0;
	case 'd':
		o->debug++;
		return 0;
	case 'R':
		return quality(optarg, &o->qos);
	case 's':
		o->host = optarg;
		return 0;
	case 'h':
		usage(stdout);
		return 1;
	default:
		usage(stderr);
		return -1;
	}
}

static int take(struct dtt_options *o, int letter)
{
	struct dtt_plan *p = &o->plan;
	uint32_t v;

	switch (letter) {
	case 'i':
		return take_number(&p->iterations, INT_MAX);
	case 't':
		return take_number(&p->threads, DTT_LANES_MAX);
	case 'w':
		if (o->kind == 'T')
			return take_number(&p->ends, DTT_LANES_MAX);
		if (take_number(&v, 1000) != 0)
			return -1;
		o->width = v;
		return 0;
	case 'v':		/* of the old FFT: endpoints for stress cases */
		return take_number(&p->ends, DTT_LANES_MAX);
	case 'V':
		p->verify = true;
		return 0;
	case 'P':
		p->how = DTL_POLL;
		return 0;
	case 'Q':
		p->how = DTL_CNO;
		return 0;
	case 'r':
		p->rsp = true;
		return 0;
	case 'p':
		return take_number(&p->window, 65536);
	case 'f':
		o->feature = optarg;
		return 0;
	case 'm':
		if (o->kind == 'L') {
			if (take_number(&v, INT_MAX) != 0)
				return -1;
			o->most = v;
			return 0;
		}
		if (strcmp(optarg, "b") != 0 && strcmp(optarg, "p") != 0)
			return fault("-m %s: use b (blocking) or p (polling)", optarg);
		p->how = *optarg == 'p' ? DTL_POLL : DTL_WAIT;
		return 0;
	default:
		return take_common(o, letter);
	}
}

static const struct mode *mode_of(char kind)
{
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (modes[i].kind == kind)
			return &modes[i];
	return NULL;
}

/* -T comes first, since it determines the letters of the others. */
static int take_kind(struct dtt_options *o, int argc, char **argv)
{
	if (argc < 2 || strncmp(argv[1], "-T", 2) != 0) {
		optind = 1;
		return 0;
	}
	if (argv[1][2]) {
		o->kind = argv[1][3] ? '?' : argv[1][2];
		optind = 2;
	} else {
		o->kind = argc > 2 && argv[2][0] && !argv[2][1] ? argv[2][0] : '?';
		optind = 3;
	}
	return mode_of(o->kind) ? 0 : fault("-T takes one of %s", "S Q T P L F I");
}

int dtt_options_parse(int argc, char **argv, struct dtt_options *ret)
{
	struct dtt_options o = { .kind = 'S', .ia = DEFAULT_IA, .qual = DTT_QUAL, .width = 1,
		.qos = DAT_QOS_BEST_EFFORT, .most = 1000,
		.plan = { .threads = 1, .ends = 1, .iterations = 1000,
			  .window = DEFAULT_WINDOW, .how = DTL_WAIT } };
	char letters[64] = "+";
	int letter, r;

	if (take_kind(&o, argc, argv) != 0)
		return -1;
	o.plan.kind = o.kind;
	if (o.kind == 'F')
		o.plan.iterations = 1;
	strcat(strcat(letters, common), mode_of(o.kind)->letters);
	while ((letter = getopt(argc, argv, letters)) != -1) {
		r = take(&o, letter);
		if (r != 0)
			return r;
	}
	o.names = argv + optind;
	o.n_names = argc - optind;
	if (strchr("QTP", o.kind) && !o.host)
		return fault("-T %s needs the server's name: -s HOST", (char[]){ o.kind, 0 });
	if (o.kind == 'F' && !o.feature)
		return fault("%s", "-T F needs a feature: -f NAME");
	if (strchr("SQI", o.kind) && o.n_names)
		return fault("argument \"%s\" is one word too many", o.names[0]);
	if (strchr("TP", o.kind) && finish_plan(&o, o.names, o.n_names) != 0)
		return -1;
	*ret = o;
	return 0;
}

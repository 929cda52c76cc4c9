/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapple fault: rules of faults (src/link/rules.h) for a command or a running process; the catalogue. */
#include "../run/ask.h"
#include "../run/run.h"
#include "catalogue.h"
#include "try.h"

#include "link/rules.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	const char *file, *adapter, *only;
	long pid, timeout_s;
	bool list, off, show, compare;
};

/* Returns 0 or an exit code after a sentence. */
static int read_option(struct run_opts *o, const char *name, struct options *q)
{
	static const struct {
		const char *name;
		size_t at;
	} flags[] = { { "list", offsetof(struct options, list) }, { "off", offsetof(struct options, off) },
		      { "show", offsetof(struct options, show) }, { "compare", offsetof(struct options, compare) } },
	  texts[] = { { "file", offsetof(struct options, file) }, { "adapter", offsetof(struct options, adapter) },
		      { "only", offsetof(struct options, only) } };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (!strcmp(name, flags[i].name)) {
			*(bool *)((char *)q + flags[i].at) = true;
			return 0;
		}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(name, texts[i].name))
			return (*(const char **)((char *)q + texts[i].at) = run_opts_value(o)) ? 0 : RUN_EXIT_USAGE;
	if (!strcmp(name, "pid"))
		return run_opts_number(o, 1, INT_MAX, &q->pid) ? 0 : RUN_EXIT_USAGE;
	if (!strcmp(name, "timeout"))
		return run_opts_number(o, 1, 3600, &q->timeout_s) ? 0 : RUN_EXIT_USAGE;
	return run_usage_error("fault", "option \"%s\" is unknown", name);
}

static int list(void)
{
	for (size_t i = 0; i < fault_catalogue_rows; i++) {
		const struct fault_row *r = &fault_catalogue[i];

		printf("%-18s %-6s %s\n%-25s a right program %s\n", r->name, r->adapter ? r->adapter : "any", r->rules, "",
		       r->right);
	}
	return 0;
}

/* Rules, or a name of the catalogue. Returns NULL after a sentence. */
static const char *rules_of(const char *text)
{
	const struct fault_row *row = fault_find(text);
	struct link_rules check;
	char word[100];

	if (row)
		return row->rules;
	if (link_rules_read(text, &check, word, sizeof(word)) == 0)
		return text;
	run_usage_error("fault", "the word \"%s\" is none of a rule", word);
	return NULL;
}

static int tell(const struct options *q, const char *rules)
{
	char request[4096], why[200], *reply;
	unsigned long without_packets;
	const char *line;

	snprintf(request, sizeof(request), "%s", q->show ? "fault-show" : "fault");
	if (rules && (size_t)snprintf(request, sizeof(request), "fault %s", rules) >= sizeof(request))
		return run_usage_error("fault", "the rules are longer than %zu octets", sizeof(request) - 10);
	reply = ask_pid(q->pid, request, why, sizeof(why));
	if (!reply) {
		run_say("process %ld: it takes no rules (%s): nothing is changed; name a process of yours that runs on "
			"Dapple's libraries and has opened an adapter", q->pid, why);
		return 1;
	}
	/* The number of adapters, a line; and of the queue pairs that stay without packets. */
	line = strchr(reply, '\n');
	without_packets = line ? strtoul(line, NULL, 10) : 0;
	if (q->show)
		fputs(reply, stdout);
	else if (without_packets)
		run_say("process %ld: %lu of its queue pairs take shared memory, which has no packets: rules on packets do not "
			"reach them; connect them again, or start the program with the rules", q->pid, without_packets);
	free(reply);
	return 0;
}

static int start(const struct options *q, const char *rules, char **words)
{
	char path[PATH_MAX + 1];
	int r;

	if (q->file) {
		path[0] = '@';
		if (!realpath(q->file, path + 1)) {
			run_say("%s: there is no such file: no program is started; name a file with rules", q->file);
			return 1;
		}
		rules = path;
	}
	setenv("DAPPLE_FAULT", rules, 1);
	r = run_env_apply(&(struct run_env){ .adapter = q->adapter, .preload = true });
	return r ? r : run_exec(words);
}

static int try(const struct options *q, char **words)
{
	struct fault_try t = { .adapter = q->adapter, .only = q->only, .timeout_s = q->timeout_s, .compare = q->compare,
			       .words = words };

	if (!*words)
		return run_usage_error("fault", "the program to try is missing");
	if (q->only && !fault_find(q->only))
		return run_usage_error("fault", "--only names \"%s\", which is not in the list", q->only);
	return fault_try(&t);
}

int run_cmd_fault(int argc, char **argv)
{
	struct run_opts o = { .command = "fault", .argv = argv, .argc = argc, .index = 1 };
	struct options q = { .timeout_s = 60 };
	bool trying = argc > 1 && !strcmp(argv[1], "try");
	const char *name, *rules = NULL;
	int r;

	o.index += trying;
	while ((name = run_opts_next(&o)))
		if ((r = read_option(&o, name, &q)))
			return r;
	if (q.adapter && (r = run_adapter_check("fault", q.adapter)))
		return r;
	if (q.list)
		return list();
	if (trying)
		return try(&q, argv + o.index);
	if (!q.file && !q.off && !q.show) {
		if (o.index >= argc)
			return run_usage_error("fault", "the rules are missing");
		rules = rules_of(argv[o.index++]);
		if (!rules)
			return RUN_EXIT_USAGE;
		if (o.index < argc && !strcmp(argv[o.index], "--"))
			o.index++;
	}
	if (q.pid)
		return tell(&q, rules);
	if (o.index >= argc)
		return run_usage_error("fault", "the program to run, or --pid, is missing");
	return start(&q, rules, argv + o.index);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "enter.h"
#include "needs.h"
#include "place.h"
#include "resolve.h"
#include "run.h"
#include "up.h"
#include "util/sys.h"

/*
 * dapple fabric: the commands start or end a fabric process, enter one of its nodes, or are sent to it as words.
 */

static struct run_opts options(int argc, char **argv)
{
	return (struct run_opts){ .command = "fabric", .argv = argv, .argc = argc, .index = 1 };
}

/* The only option of most commands. Returns 0 with the fabric's name, or an exit code. */
static int take_fabric(struct run_opts *o, char ret[PLACE_NAME_MAX + 1])
{
	const char *name, *given = NULL;

	while ((name = run_opts_next(o))) {
		if (strcmp(name, "fabric") != 0)
			return run_usage_error("fabric", "option \"%s\" is unknown", name);
		given = run_opts_value(o);
		if (!given)
			return RUN_EXIT_USAGE;
	}
	return place_pick(given, ret);
}

/* --- up, down, list --- */

static const struct up_option {
	const char *name;
	size_t at;		/* a const char * of struct up_wish */
} up_options[] = {
	{ "topology", offsetof(struct up_wish, topology) },
	{ "tree", offsetof(struct up_wish, tree) },
	{ "torus", offsetof(struct up_wish, torus) },
	{ "sm", offsetof(struct up_wish, sm) },
	{ "prefix", offsetof(struct up_wish, prefix) },
	{ "capture", offsetof(struct up_wish, capture) },
	{ "trunk", offsetof(struct up_wish, trunk.peer) },
	{ "trunk-bind", offsetof(struct up_wish, trunk.bind) },
	{ "trunk-key", offsetof(struct up_wish, trunk.key) },
};

static void take_ipoib(struct up_wish *w, bool is_connected)
{
	w->hosts = true;
	if (is_connected || w->network == HOSTS_BRIDGE)
		w->network = is_connected ? HOSTS_IPOIB_CONNECTED : HOSTS_IPOIB;
}

static int take_up_option(struct up_wish *w, struct run_opts *o, const char *name)
{
	const char *value;
	size_t i;

	for (i = 0; i < sizeof(up_options) / sizeof(up_options[0]); i++)
		if (strcmp(name, up_options[i].name) == 0) {
			value = run_opts_value(o);
			memcpy((char *)w + up_options[i].at, &value, sizeof(value));
			return value ? 0 : RUN_EXIT_USAGE;
		}
	if (strcmp(name, "nodes") == 0)
		return run_opts_number(o, 1, 8128, &w->nodes) ? 0 : RUN_EXIT_USAGE;
	if (strcmp(name, "wait") == 0)
		return run_opts_number(o, 1, 86400, &w->wait_s) ? 0 : RUN_EXIT_USAGE;
	if (strcmp(name, "foreground") == 0)
		w->foreground = true;
	else if (strcmp(name, "keep") == 0)
		w->keep = true;
	else if (strcmp(name, "hosts") == 0)
		w->hosts = true;
	else if (strcmp(name, "ipoib") == 0 || strcmp(name, "connected") == 0)
		take_ipoib(w, *name == 'c');
	else if (strcmp(name, "hop") == 0)
		w->hop = true;
	else
		return run_usage_error("fabric", "option \"%s\" is unknown", name);
	return 0;
}

static int cmd_up(int argc, char **argv)
{
	struct up_wish w = { .nodes = 2, .sm = "opensm", .wait_s = 60 };
	struct run_opts o = options(argc, argv);
	const char *name, *given = NULL;
	int r;

	/* The name may stand before, among or behind the options. */
	for (;;) {
		name = run_opts_next(&o);
		r = name ? take_up_option(&w, &o, name) : 0;
		if (r)
			return r;
		if (name)
			continue;
		if (given || o.ended_by_dashes || o.index >= argc)
			break;
		given = argv[o.index++];
	}
	if (o.index < argc && !o.ended_by_dashes)
		return run_usage_error("fabric", "argument \"%s\" is unexpected: options of opensm stand behind --",
				       argv[o.index]);
	if (!w.trunk.peer != !w.trunk.key)
		return run_usage_error("fabric", "--trunk needs --trunk-key FILE, and the key needs the trunk");
	w.sm_words = argv + o.index;
	if (given)
		r = place_pick(given, w.name);
	else
		r = place_pick(PLACE_DEFAULT, w.name);
	return r ? r : up_start(&w);
}

static int cmd_down(int argc, char **argv)
{
	struct run_opts o = options(argc, argv);
	char name[PLACE_NAME_MAX + 1];
	const char *option, *given = NULL;
	int r;

	while ((option = run_opts_next(&o))) {
		if (strcmp(option, "fabric") != 0)
			return run_usage_error("fabric", "option \"%s\" is unknown", option);
		given = run_opts_value(&o);
	}
	if (o.index < argc)
		given = argv[o.index++];
	r = place_pick(given, name);
	return r ? r : up_stop(name);
}

static void list_one(void *arg, const char *name)
{
	char *const words[] = { (char *)"status" };
	char *text = NULL, sm[64] = "-";
	int pid, nodes, switches, active, linked, age, *n = arg;

	if (control_ask(name, 1, words, -1, &text) == 0 &&
	    sscanf(text, "%d\t%d\t%d\t%d/%d\t%63[^\t]\t%d", &pid, &nodes, &switches, &active, &linked, sm, &age) == 7) {
		if (!(*n)++)
			printf("%-16s  %7s  %5s  %8s  %-13s  %-8s  %s\n", "fabric", "process", "nodes", "switches",
			       "ports active", "opensm", "age");
		printf("%-16s  %7d  %5d  %8d  %5d of %-4d  %-8s  %d s\n", name, pid, nodes, switches, active, linked, sm,
		       age);
	}
	free(text);
}

static int cmd_list(int argc, char **argv)
{
	struct run_opts o = options(argc, argv);
	const char *name = run_opts_next(&o);
	int n = 0;

	if (name)
		return run_usage_error("fabric", "option \"%s\" is unknown", name);
	place_each(list_one, &n);
	if (!n)
		printf("no fabric runs; dapple fabric up starts one\n");
	return 0;
}

/* --- run, agent --- */

static int cmd_run(int argc, char **argv)
{
	struct run_opts o = options(argc, argv);
	char fabric[PLACE_NAME_MAX + 1], libdir[PATH_MAX];
	const char *node;
	int r = take_fabric(&o, fabric);

	if (r)
		return r;
	if (o.index >= argc)
		return run_usage_error("fabric", "the node is missing: dapple fabric run NODE -- COMMAND");
	node = argv[o.index++];
	if (o.index < argc && strcmp(argv[o.index], "--") == 0)
		o.index++;
	if (o.index >= argc)
		return run_usage_error("fabric", "the program to run is missing");
	r = enter_node(fabric, node);
	if (r)
		return r;
	if (run_libdir(libdir, sizeof(libdir)) == 0)
		run_needs_check(libdir, argv[o.index]);
	return run_exec(argv + o.index);
}

/* As a remote shell has it: the words are one command line for a shell. */
static char *join(char **words)
{
	size_t len = 1;
	char **w, *line;

	for (w = words; *w; w++)
		len += strlen(*w) + 1;
	line = calloc(1, len);
	for (w = words; line && *w; w++) {
		strcat(line, *w);
		if (w[1])
			strcat(line, " ");
	}
	return line;
}

/*
 * dapple fabric agent [options of ssh] NODE COMMAND...: what mpirun calls in place of ssh, with
 * --mca plm_rsh_agent "dapple fabric agent".
 */
static int cmd_agent(int argc, char **argv)
{
	char fabric[PLACE_NAME_MAX + 1], *shell[] = { (char *)"/bin/sh", (char *)"-c", NULL, NULL };
	const char *node;
	int at = 1, r;

	while (at < argc && argv[at][0] == '-') {
		if (strcmp(argv[at], "--help") == 0)
			return run_usage_error("fabric", "agent takes a node and a command line, as ssh does");
		at += strchr("lpioF", argv[at][1]) && argv[at][1] && !argv[at][2] ? 2 : 1;
	}
	if (at + 1 >= argc)
		return run_usage_error("fabric", "agent needs a node and a command line, as ssh does");
	node = argv[at++];
	r = place_pick(NULL, fabric);
	if (r == 0)
		r = enter_node(fabric, node);
	if (r)
		return r;
	shell[2] = join(argv + at);
	return shell[2] ? run_exec(shell) : 1;
}

static int cmd_resolve(int argc, char **argv)
{
	struct run_opts o = options(argc, argv);
	char fabric[PLACE_NAME_MAX + 1];
	int r = take_fabric(&o, fabric);

	if (r)
		return r;
	if (o.index + 2 != argc)
		return run_usage_error("fabric", "resolve takes a node, and an IP address or a GID");
	return resolve_name(fabric, argv[o.index], argv[o.index + 1]);
}

/* --- commands that the fabric process executes --- */

static int send_words(int argc, char **argv, int input)
{
	struct run_opts o = options(argc, argv);
	char fabric[PLACE_NAME_MAX + 1];
	char **words = argv + argc;	/* from the end: the command's name stands before its arguments */
	int r = take_fabric(&o, fabric);

	if (r)
		return r;
	words = argv + o.index - 1;
	words[0] = argv[0];
	r = control_call(fabric, argc - o.index + 1, words, input);
	if (r == RUN_EXIT_USAGE)
		return run_usage_error("fabric", "the arguments of \"%s\" are wrong", argv[0]);
	return r;
}

static int cmd_words(int argc, char **argv)
{
	return send_words(argc, argv, -1);
}

static int cmd_edit(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[argc - 1] : NULL;
	int fd, r;

	if (!path || path[0] == '-')
		return run_usage_error("fabric", "the file of the new topology is missing: dapple fabric edit FILE");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		run_say("the topology \"%s\" cannot be opened (%s): the fabric stays as it is; name a file that this user "
			"may read", path, strerror(errno));
		return 1;
	}
	r = send_words(argc - 1, argv, fd);
	ut_close(fd);
	return r;
}

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
} subcommands[] = {
	{ "up", cmd_up }, { "down", cmd_down }, { "list", cmd_list }, { "show", cmd_words }, { "link", cmd_words },
	{ "node", cmd_words }, { "edit", cmd_edit }, { "sm", cmd_words }, { "run", cmd_run }, { "agent", cmd_agent },
	{ "resolve", cmd_resolve },
};

int run_cmd_fabric(int argc, char **argv)
{
	struct run_opts o = options(argc, argv);
	size_t i;

	if (argc < 2 || argv[1][0] == '-') {
		if (run_opts_next(&o))
			return run_usage_error("fabric", "option \"%s\" is unknown", o.name);
		return run_usage_error("fabric", "a command is missing: up, down, list, show, link, node, edit, sm, run, agent or resolve");
	}
	for (i = 0; i < sizeof(subcommands) / sizeof(subcommands[0]); i++)
		if (strcmp(argv[1], subcommands[i].name) == 0)
			return subcommands[i].main(argc - 1, argv + 1);
	return run_usage_error("fabric", "the command \"%s\" is unknown", argv[1]);
}

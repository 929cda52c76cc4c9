/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "up.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control.h"
#include "generate.h"
#include "hosts.h"
#include "mgmt/addresses.h"
#include "mgmt/port.h"
#include "mgmt/topology.h"
#include "run.h"
#include "serve.h"
#include "util/clock.h"
#include "util/rng.h"
#include "util/sys.h"

#define TOPOLOGY_MAX (256u << 20)
#define STOP_MS 30000
#define LOOK_MS 20

/* --- the model --- */

static char *read_all(FILE *f, size_t *ret_len)
{
	size_t cap = 65536, n = 0;
	char *text = malloc(cap), *more;

	while (text) {
		n += fread(text + n, 1, cap - n, f);
		if (n < cap || cap >= TOPOLOGY_MAX)
			break;
		more = realloc(text, cap * 2);
		if (!more) {
			free(text);
			return NULL;
		}
		text = more;
		cap *= 2;
	}
	*ret_len = n;
	return text;
}

static int read_topology(struct fab *f, const char *path)
{
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	char why[FAB_TOPOLOGY_WHY] = "no memory", *text;
	size_t len;
	int r;

	if (!file) {
		run_say("the topology \"%s\" cannot be opened (%s): no fabric is started; name a file that this user may "
			"read", path, strerror(errno));
		return 1;
	}
	text = read_all(file, &len);
	if (file != stdin)
		fclose(file);
	r = text ? fab_topology_read(f, text, len, why) : -ENOMEM;
	free(text);
	if (r < 0)
		run_say("the topology \"%s\" cannot be used: %s: no fabric is started; correct the file", path, why);
	return r < 0;
}

/* Numbers separated by "x". Returns how many, or 0 if the text is something else. */
static unsigned numbers(const char *text, unsigned *ret, unsigned max, const char **ret_rest)
{
	unsigned n = 0;
	char *end;

	for (;;) {
		unsigned long v = strtoul(text, &end, 10);

		if (end == text || v < 1 || v > 65535 || n == max)
			return 0;
		ret[n++] = (unsigned)v;
		*ret_rest = end;
		if (*end != 'x')
			return n;
		text = end + 1;
	}
}

static int build_tree(struct fab *f, const char *text)
{
	unsigned v[4] = { 0, 0, 1, 1 }, n;
	const char *rest = "";
	int r;

	n = numbers(text, v, 4, &rest);
	if (n < 2 || *rest)
		return run_usage_error("fabric", "--tree is \"%s\", but must be LEAVESxNODES, LEAVESxNODESxSPINES or "
				       "LEAVESxNODESxSPINESxLINKS", text);
	r = generate_tree(f, v[0], v[1], v[2], v[3]);
	if (r == -EINVAL)
		return run_usage_error("fabric", "--tree %s needs a switch of more than 254 ports, or more than 16384 "
				       "nodes", text);
	return r < 0;
}

static int build_torus(struct fab *f, const char *text)
{
	unsigned size[3] = { 1, 1, 1 }, nodes = 1, n;
	const char *rest = "";
	int r;

	n = numbers(text, size, 3, &rest);
	if (n && *rest == ':')
		n = numbers(rest + 1, &nodes, 1, &rest);
	if (!n || *rest)
		return run_usage_error("fabric", "--torus is \"%s\", but must be XxY or XxYxZ, and :NODES behind it for "
				       "more than one node on a switch", text);
	r = generate_torus(f, size, nodes);
	if (r == -EINVAL)
		return run_usage_error("fabric", "--torus %s has more than 16384 nodes, or a switch of more than 254 ports",
				       text);
	return r < 0;
}

/* With a trunk, a fabric that has none gets one: at the last free port of its first switch. */
static int add_trunk(struct fab *f)
{
	struct fab_node *n;
	unsigned i;

	ut_list_each(n, &f->nodes, link)
		for (i = 1; i <= n->n_ports; i++)
			if (n->ports[i].is_trunk)
				return 0;
	ut_list_each(n, &f->nodes, link)
		for (i = n->n_ports; n->type == FAB_SWITCH && i > 0; i--)
			if (!n->ports[i].peer) {
				n->ports[i].trunk = 1;
				fab_port_trunk(&n->ports[i], true);
				return 0;
			}
	run_say("no switch has a free port: no trunk can be made, and no fabric is started; add a line [PORT] \"trunk 1\" to "
		"the topology");
	return 1;
}

/* Names of generated nodes differ from those of the other host, and with them the GUIDs. */
static void set_prefix(const struct up_wish *w)
{
	static char prefix[32];

	if (w->prefix) {
		generate_prefix(w->prefix);
	} else if (w->trunk.peer) {
		gethostname(prefix, sizeof(prefix) - 2);
		strcat(prefix, "-");
		generate_prefix(prefix);
	}
}

/* Two processes that a trunk joins give their hosts addresses of two regions, which their names tell apart. */
static uint32_t region_of(const struct up_wish *w)
{
	char host[HOST_NAME_MAX + 1] = "";
	const char *at = w->prefix;
	uint32_t h = 2166136261u;	/* FNV-1a */

	if (!at) {
		gethostname(host, sizeof(host) - 1);
		at = host;
	}
	for (; *at; at++)
		h = (h ^ (uint8_t)*at) * 16777619u;
	return 1 + h % (ADDR_REGIONS - 1);
}

static int build(struct fab *f, const struct up_wish *w)
{
	set_prefix(w);
	if (w->topology)
		return read_topology(f, w->topology);
	if (w->tree)
		return build_tree(f, w->tree);
	if (w->torus)
		return build_torus(f, w->torus);
	return generate_nodes(f, (unsigned)w->nodes) < 0;
}

/* The SM's node: the first end node in the order of the text, which is the one that ibsim takes as well. */
static const char *sm_node(const struct fab *f, const char *sm)
{
	const struct fab_node *n;

	if (strcmp(sm, "none") == 0)
		return NULL;
	if (strcmp(sm, "opensm") != 0)
		return sm;
	ut_list_each(n, &f->nodes, link)
		if (n->type == FAB_CA && n->ports[1].peer)
			return n->name;
	return NULL;
}

/* --- the fabric process --- */

static void set_streams(const char *dir)
{
	char path[PLACE_MAX + 8];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), log;

	snprintf(path, sizeof(path), "%s/log", dir);
	log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	dup2(null, 0);
	dup2(log >= 0 ? log : null, 1);
	dup2(log >= 0 ? log : null, 2);
}

static int serve(const struct up_wish *w, const char *dir, struct fab *f, FILE *capture, int report)
{
	struct serve_config c = { .name = w->name, .dir = dir, .model = f, .sm = sm_node(f, w->sm),
				  .sm_words = w->sm_words, .trunk = w->trunk.peer ? &w->trunk : NULL, .is_session_bound = !w->keep,
				  .has_hosts = w->hosts, .is_hopping = w->hop, .capture = capture, .capture_name = w->capture,
				  .owner = w->owned ? getppid() : 0, .report = report };
	pid_t holder = 0;
	int lock = place_lock(dir, &holder), r;

	if (lock < 0) {
		serve_report_failure(report, "the fabric \"%s\" cannot be locked (%s, process %d): it is not started a second "
				     "time; end it by dapple fabric down %s", w->name, strerror(-lock), (int)holder,
				     w->name);
		return 1;
	}
	place_clean(dir);
	r = w->hosts ? hosts_start(dir, w->name, w->network) : 0;
	if (r == 0) {
		set_streams(dir);
		r = serve_run(&c);
	} else {
		dprintf(report, "refused\n");
		place_remove(dir);
	}
	ut_close(lock);
	return r;
}

/* --- waiting for it --- */

struct progress {
	const struct up_wish *w;
	bool is_terminal, is_up, has_failed;
	unsigned active, linked, without_lid, apart;
	char line[8192];
	size_t len;
};

static void take_line(struct progress *p, const char *line)
{
	if (sscanf(line, "progress %u %u %u", &p->active, &p->linked, &p->without_lid) == 3) {
		if (p->is_terminal)
			dprintf(2, "\r%u of %u ports active, %u without LID\033[K", p->active, p->linked, p->without_lid);
	} else if (sscanf(line, "up %u", &p->apart) == 1) {
		p->is_up = true;
	} else if (strcmp(line, "refused") == 0) {
		p->has_failed = true;	/* the fabric process has said why */
	} else if (strncmp(line, "failed ", 7) == 0) {
		p->has_failed = true;
		dprintf(2, "%sdapple: %s\n", p->is_terminal ? "\r\033[K" : "", line + 7);
	} else {
		fprintf(stderr, "%s\n", line);	/* lines behind "failed" */
	}
}

static bool read_lines(struct progress *p, int fd)
{
	ssize_t n = read(fd, p->line + p->len, sizeof(p->line) - 1 - p->len);
	char *at = p->line, *nl;

	if (n <= 0)
		return false;
	p->len += (size_t)n;
	p->line[p->len] = '\0';
	while ((nl = strchr(at, '\n'))) {
		*nl = '\0';
		take_line(p, at);
		at = nl + 1;
	}
	p->len -= (size_t)(at - p->line);
	memmove(p->line, at, p->len + 1);
	if (p->len == sizeof(p->line) - 1)
		p->len = 0;
	return true;
}

/* Returns true if the subnet is up. Until it is, the fabric process ends if the pipe does. */
static bool wait_up(const struct up_wish *w, int fd, unsigned *ret_apart)
{
	struct progress p = { .w = w, .is_terminal = isatty(2) && !w->quiet };
	uint64_t until = ut_now() + (uint64_t)w->wait_s * UT_S, now;
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	while ((now = ut_now()) < until) {
		int r = poll(&pfd, 1, (int)((until - now) / UT_MS) + 1);

		if (r > 0 && !read_lines(&p, fd))
			break;
		if (p.is_up)
			break;
	}
	if (p.is_terminal)
		fprintf(stderr, "\r\033[K");
	if (!p.is_up && !p.has_failed && now >= until)
		run_say("the subnet of \"%s\" is not up after %ld s (%u of %u ports are active, %u have no LID): the fabric is "
			"ended; raise --wait, or look for the reason with --sm none and opensm in dapple fabric run", w->name,
			w->wait_s, p.active, p.linked, p.without_lid);
	else if (!p.is_up && !p.has_failed)
		run_say("the fabric process of \"%s\" has ended: there is no fabric; report it", w->name);
	*ret_apart = p.apart;
	return p.is_up;
}

static void say_up(const struct up_wish *w, const struct fab *f, const char *sm, unsigned apart, uint64_t ns)
{
	const struct fab_node *n;
	const char *first = NULL;
	unsigned switches = 0;

	ut_list_each(n, &f->nodes, link) {
		switches += n->type == FAB_SWITCH;
		if (!first && n->type == FAB_CA)
			first = n->name;
	}
	printf("fabric %s: %u node%s, %u switch%s, ", w->name, f->n_nodes - switches, f->n_nodes - switches == 1 ? "" : "s", switches,
	       switches == 1 ? "" : "es");
	if (sm)
		printf("up in %.2f s with opensm on %s\n", (double)ns / 1e9, sm);
	else
		printf("without a subnet manager: its ports stay in state INIT\n");
	if (apart)
		printf("%u ports have a link, but no path from %s: they stay in state INIT\n", apart, sm);
	if (first)
		printf("try: dapple fabric run %s -- ibstat\n", first);
}

/* Until the fabric process ends; a signal to this one ends it. Returns its status. */
static int stay(pid_t pid)
{
	sigset_t set;
	int status, got;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (waitpid(pid, &status, WNOHANG) != pid)
		if (sigwait(&set, &got) == 0 && got != SIGCHLD)
			kill(pid, SIGTERM);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int start_process(const struct up_wish *w, const char *dir, struct fab *f, FILE *capture)
{
	uint64_t begun = ut_now();
	int report[2], status;
	unsigned apart;
	bool up;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC) < 0) {
		run_say("a pipe cannot be made (%s): no fabric is started; raise the limit on descriptors (ulimit -n)",
			strerror(errno));
		return 1;
	}
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		run_say("the fabric process cannot be started (%s): there is no fabric; raise the limit on processes (ulimit -u)",
			strerror(errno));
		return 1;
	}
	if (pid == 0) {
		ut_close(report[0]);
		setpgid(0, 0);
		if (w->foreground)
			prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(serve(w, dir, f, capture, report[1]));
	}
	ut_close(report[1]);
	up = wait_up(w, report[0], &apart);
	ut_close(report[0]);
	if (!up) {
		kill(pid, SIGTERM);
		waitpid(pid, &status, 0);
		return WIFEXITED(status) && WEXITSTATUS(status) == RUN_EXIT_SKIP ? RUN_EXIT_SKIP : 1;
	}
	if (!w->quiet)
		say_up(w, f, sm_node(f, w->sm), apart, ut_now() - begun);
	fflush(stdout);
	return w->foreground ? stay(pid) : 0;
}

static int refuse_running(const char *name, const char *dir)
{
	pid_t holder = place_holder(dir);

	if (!holder)
		return 0;
	run_say("the fabric \"%s\" runs already (process %d): it is not started a second time; end it by dapple fabric down "
		"%s, or choose another name", name, (int)holder, name);
	return 1;
}

static int refuse_option(const struct up_wish *w)
{
	const char *option = opensm_refused_option(w->sm_words);

	if (option)
		run_say("the option %s of opensm makes it a daemon: the fabric could not end it and is not started; leave the "
			"option out, since opensm runs in the background of the fabric already", option);
	return option != NULL;
}

/* Returns NULL if there shall be none, or after a sentence with *ret 1. */
static FILE *open_capture(const struct up_wish *w, int *ret)
{
	FILE *file = w->capture ? fopen(w->capture, "we") : NULL;

	if (w->capture && !file) {
		run_say("the capture \"%s\" cannot be written (%s): no fabric is started; name a file in a directory where this "
			"user may write", w->capture, strerror(errno));
		*ret = 1;
	}
	return file;
}

int up_start(const struct up_wish *w)
{
	struct fab *f = fab_new(NULL, NULL, ut_rng_seed());
	char dir[PLACE_MAX];
	FILE *capture = NULL;
	int r = f ? place_dir(w->name, dir) : 1;

	if (r == 0)
		r = refuse_running(w->name, dir);
	if (r == 0)
		r = build(f, w);
	if (r == 0 && w->trunk.peer) {
		f->region = region_of(w);
		r = add_trunk(f);
	}
	if (r == 0)
		r = refuse_option(w);
	if (r == 0 && strcmp(w->sm, "none") != 0 && !opensm_is_there()) {
		run_say("opensm is not installed: the fabric would have no subnet manager and is not started; install the "
			"package opensm (packaging/deps test), or give --sm none");
		r = 1;
	}
	if (r == 0)
		capture = open_capture(w, &r);
	if (r == 0)
		r = start_process(w, dir, f, capture);
	if (capture)
		fclose(capture);
	fab_free(f);
	return r;
}

/* --- ending it --- */

/* A process of another pid namespace (a container that shares the runtime directory) shows its end by its lock alone. */
static bool lock_is_gone(const char *dir)
{
	uint64_t until = ut_now() + STOP_MS * UT_MS;

	while (place_holder(dir)) {
		if (ut_now() >= until)
			return false;
		poll(NULL, 0, LOOK_MS);
	}
	return true;
}

static bool process_is_gone(pid_t pid)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int r;

	if (p.fd < 0)
		return true;
	r = poll(&p, 1, STOP_MS);
	ut_close(p.fd);
	return r > 0;
}

static int wait_end(const char *name, const char *dir, pid_t pid)
{
	if (pid == PLACE_FOREIGN ? lock_is_gone(dir) : process_is_gone(pid))
		return 0;
	run_say("the process %d of the fabric \"%s\" has not ended within 30 s: the fabric may still run; end it by kill -9 "
		"%d", (int)pid, name, (int)pid);
	return 1;
}

int up_stop(const char *name)
{
	char *const words[] = { (char *)"down" };
	char dir[PLACE_MAX];
	pid_t pid;
	int r = place_dir(name, dir);

	if (r)
		return r;
	pid = place_holder(dir);
	r = control_call(name, 1, words, -1);
	return r || !pid ? r : wait_end(name, dir, pid);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapple capture: listens at a socket, gives the settings to processes that connect, reads their rings, and writes what
 * they have recorded into a pcapng file or as lines. A full disk ends the capture: the sessions are closed, the
 * processes take their observers away, and a program that was started here runs on.
 */
#include "../run/ask.h"
#include "../run/run.h"
#include "filter.h"
#include "pace.h"
#include "pcapng.h"
#include "render.h"
#include "sources.h"

#include "observe/place.h"
#include "proto/ib/frame_shm.h"
#include "util/clock.h"
#include "wire/ib_fields.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RING_MB 16
#define BUSY_MS 2
#define IDLE_MS 20
#define AFTER_MS 1000 /* for processes that are about to leave, after the command has ended */
#define NICE 5
#define COMMENT 400
#define LINE 600

struct capture {
	const char *file, *adapter;
	bool live, all, ended;
	long ring_mb, payload, pid, mtu, percent;
	struct filter *filter;
	struct pace pace;
	struct pcapng pcapng;
	FILE *out;
	struct sources *sources;
	struct render *render;
	int listener;
	char path[OBS_PATH + 32];

	/* The record in work, for the packets made of it. */
	struct source *src;
	const struct source_entry *entry;
	unsigned frames;
};

/* --- one packet --- */

static uint64_t wall(const struct source *src, uint64_t time)
{
	return time + (uint64_t)src->offset;
}

static void ends_of(const struct source_entry *e, uint32_t ret[2])
{
	ret[0] = e->h.flow.qpn;
	ret[1] = 0;
	if ((e->h.kind == OBS_MESSAGE || e->h.kind == OBS_ACCESS) && e->h.have >= OBS_HEADER) {
		struct ibp_header n = ibp_header_get(e->bytes);

		ret[0] = n.src_qpn;
		ret[1] = n.dest_qpn;
	} else if (e->h.kind == OBS_DATAGRAM && e->h.have >= WIRE_BTH_LEN) {
		ret[1] = (uint32_t)wire_get_BTH_dest_qpn(e->bytes);
	}
}

static void compose(const struct capture *c, const struct render_frame *f, const uint32_t qpns[2], char *out, size_t size)
{
	const struct source_entry *e = c->entry;
	const char *way = render_way((enum obs_way)e->h.way);
	int n = snprintf(out, size, "%s%s%s[%" PRIu32 "]", way, *way ? ", " : "", c->src->program, c->src->pid);

	if (qpns[0])
		n += snprintf(out + n, size - (size_t)n, " QP 0x%06" PRIx32, qpns[0]);
	if (qpns[1])
		n += snprintf(out + n, size - (size_t)n, " to QP 0x%06" PRIx32, qpns[1]);
	if (e->peer)
		n += snprintf(out + n, size - (size_t)n, ", received %.1f us later by %s[%" PRIu32 "]",
			      (double)(int64_t)(e->peer_time - e->h.time) / 1000, e->peer->program, e->peer->pid);
	if (f->note)
		snprintf(out + n, size - (size_t)n, "; %s", f->note);
}

static void print_line(const struct capture *c, const char *text, const char *comment, bool out)
{
	uint64_t t = wall(c->src, c->entry->h.time);
	time_t s = (time_t)(t / UT_S);
	char stamp[16];
	struct tm tm;

	localtime_r(&s, &tm);
	strftime(stamp, sizeof(stamp), "%H:%M:%S", &tm);
	printf("%s.%06" PRIu64 " %s %s %s (%s)\n", stamp, (uint64_t)(t % UT_S / 1000), c->src->adapter, out ? "sent" : "got", text,
	       comment);
}

static enum pcapng_link link_of(const struct source *src)
{
	return !strncmp(src->adapter, "dpl_ib", 6) ? PCAPNG_ERF : PCAPNG_RAW;
}

static void on_frame(void *arg, const struct render_frame *f)
{
	struct capture *c = arg;
	char text[LINE], comment[COMMENT];
	struct filter_packet p = { .record = &c->entry->h, .program = c->src->program, .adapter = c->src->adapter,
				   .pid = c->src->pid, .out = f->out };
	bool first = !c->frames++;

	if (c->filter || (c->live && first))
		live_text(text, sizeof(text), f->data, f->have, f->len, f->lids, &p.group);
	ends_of(c->entry, p.qpns);
	if (c->filter && !filter_keeps(c->filter, &p))
		return;
	compose(c, f, p.qpns, comment, sizeof(comment));
	if (c->live && first)
		print_line(c, text, comment, f->out);
	if (c->out)
		pcapng_packet(&c->pcapng, (uint32_t)((uintptr_t)c->src->user - 1), link_of(c->src), wall(c->src, c->entry->h.time), f->out,
			      f->data, f->have, f->len, comment);
}

static void on_record(struct source *src, const struct source_entry *e, void *arg)
{
	struct capture *c = arg;

	c->src = src;
	c->entry = e;
	c->frames = 0;
	render_record(c->render, &e->h, e->bytes);
}

static void began(struct source *src, void *arg)
{
	struct capture *c = arg;
	char name[2 * OBS_NAME + 32], text[2 * OBS_NAME + 160];

	snprintf(name, sizeof(name), "%s of %s[%" PRIu32 "]", src->adapter, src->program, src->pid);
	snprintf(text, sizeof(text), "adapter %s of process %" PRIu32 " (%s); its CLOCK_MONOTONIC is %.9f s behind "
		 "CLOCK_REALTIME", src->adapter, src->pid, src->program, (double)src->offset / 1e9);
	if (c->out)
		src->user = (void *)(uintptr_t)(pcapng_interface(&c->pcapng, link_of(src), name, text) + 1);
}

/* --- the end --- */

static void count(struct source *src, void *arg)
{
	struct capture *c = arg;
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (c->out && src->user)
		pcapng_statistics(&c->pcapng, (uint32_t)((uintptr_t)src->user - 1), (uint64_t)t.tv_sec * UT_S +
				  (uint64_t)t.tv_nsec, src->received, src->lost);
	if (src->lost)
		run_say("%s of %s[%" PRIu32 "]: %" PRIu64 " of %" PRIu64 " records were overwritten before they were read: "
			"the capture lacks them; give a larger --ring, or a --filter", src->adapter, src->program, src->pid,
			src->lost, src->received + src->lost);
	if (src->broken)
		run_say("%s of %s[%" PRIu32 "]: its ring has an impossible record: the rest is not captured; start that "
			"program again", src->adapter, src->program, src->pid);
}

/* The processes go on without observers. */
static void give_up(struct capture *c, int error)
{
	run_say("%s: it cannot be written (%s): the capture ends here, the program runs on; make room on the disk",
		c->file, strerror(error));
	sources_end(c->sources);
	close(c->listener);
	c->listener = -1;
	unlink(c->path);
	c->ended = true;
}

/* Reads some records of each ring, or all. Returns true if there are more. */
static bool turn(struct capture *c, bool all)
{
	unsigned n;

	/* A process that left before its ring is read has written all that it will. */
	sources_serve(c->sources, began, c);
	do
		n = sources_read(c->sources, PACE_RECORDS);
	while (n && all);
	sources_give(c->sources, all, on_record, c);
	if (c->live)
		fflush(stdout);
	if (c->out && !c->ended) {
		pcapng_flush(&c->pcapng);
		if (c->pcapng.error)
			give_up(c, c->pcapng.error);
	}
	return n >= PACE_RECORDS;
}

/* --- the beginning --- */

static int listen_for_processes(struct capture *c)
{
	char dir[OBS_PATH];
	int r = obs_place(dir, sizeof(dir));

	if (r == 0) {
		snprintf(c->path, sizeof(c->path), "%s/%s-%d", dir, c->all ? "all" : "capture", (int)getpid());
		c->listener = obs_place_listen(c->path);
		r = c->listener < 0 ? c->listener : 0;
	}
	if (r < 0)
		run_say("the runtime directory: no socket can be made in it (%s): nothing is captured; see dapple doctor",
			strerror(-r));
	return r;
}

/* A file that was there has its reader's mode from now on; a device keeps its own. */
static bool make_private(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (!S_ISREG(st.st_mode) || fchmod(fd, 0600) == 0);
}

static int open_file(struct capture *c)
{
	int fd;

	if (!c->file)
		return 0;
	if (!strcmp(c->file, "-")) {
		c->out = stdout;
	} else {
		fd = open(c->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
		c->out = fd < 0 || !make_private(fd) ? NULL : fdopen(fd, "w");
	}
	if (!c->out) {
		run_say("%s: it cannot be opened (%s): nothing is captured; name another file", c->file, strerror(errno));
		return -1;
	}
	setvbuf(c->out, NULL, _IOFBF, 1 << 20);
	pcapng_begin(&c->pcapng, c->out, "dapple capture " DAPPLE_VERSION);
	return 0;
}

/* The process connects while it answers, so this waits for both. Returns an exit code. */
static int ask_process(const struct capture *c, const char *request)
{
	char why[200], *reply;

	reply = ask_pid(c->pid, request, why, sizeof(why));
	if (!reply) {
		run_say("process %ld: it cannot be captured (%s): nothing is captured; name a process of yours that runs on "
			"Dapple's libraries and has opened an adapter", c->pid, why);
		return 1;
	}
	free(reply);
	return 0;
}

/* A child asks, since the parent has to serve the processes that connect meanwhile. */
static pid_t ask(struct capture *c)
{
	char request[OBS_PATH + 64];
	pid_t pid = fork();

	if (pid == 0) {
		snprintf(request, sizeof(request), "capture %s", c->path);
		if (c->pid)
			_exit(ask_process(c, request));
		ask_all(request);
		_exit(0);
	}
	return pid;
}

static pid_t start(struct capture *c, char **words)
{
	pid_t pid = fork();
	sigset_t none;
	int r;

	if (pid != 0)
		return pid;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setenv(OBS_CAPTURE_ENV, c->path, 1);
	r = run_env_apply(&(struct run_env){ .adapter = c->adapter, .preload = true });
	_exit(r ? r : run_exec(words));
}

/* --- the loop --- */

static void accept_all(struct capture *c)
{
	int fd;

	while (c->listener >= 0 && (fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		if (!obs_place_is_ours(fd) || sources_add(c->sources, fd) < 0)
			close(fd);
}

/* Waits for sessions, signals or the next look at the rings. Returns true at a signal that ends the capture. */
static bool wait_some(struct capture *c, int signals, int ms)
{
	struct pollfd v[SOURCES_MAX + 2] = { { .fd = c->listener, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	int n = 2 + sources_poll(c->sources, v + 2, SOURCES_MAX);
	struct signalfd_siginfo s;

	poll(v, (nfds_t)n, ms);
	if (v[0].revents)
		accept_all(c);
	return read(signals, &s, sizeof(s)) == sizeof(s) && s.ssi_signo != SIGCHLD;
}

static int exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Returns true if the capture is over: command: after the command and what it has left behind; a process: when that has
 * gone. */
static bool is_over(const struct capture *c, bool command, bool child, uint64_t limit, bool met)
{
	bool any = sources_any(c->sources);

	if (child || c->all)
		return false;
	return command ? !any || ut_now() > limit : met && !any;
}

static int run(struct capture *c, pid_t child, bool command, int signals)
{
	uint64_t limit = 0;
	bool met = false, more;
	int code = 0, status, busy = IDLE_MS;

	for (;;) {
		bool end = wait_some(c, signals, busy) && !(command && child > 0);

		more = turn(c, false);
		met |= sources_any(c->sources);
		busy = pace_wait(&c->pace, sources_any(c->sources) ? BUSY_MS : IDLE_MS, sources_live(c->sources), more);
		if (child > 0 && waitpid(child, &status, WNOHANG) == child) {
			child = 0;
			code = exit_code(status);
			limit = ut_now() + AFTER_MS * UT_MS;
			end |= !command && code;
			met |= code == 0 && c->pid;
		}
		if (end || is_over(c, command, child > 0, limit, met))
			break;
	}
	sources_end(c->sources);
	turn(c, true);
	return code;
}

/* --- the command --- */

static int read_option(struct run_opts *o, const char *name, struct capture *c)
{
	char why[100];
	const char *v;

	if (!strcmp(name, "live") || !strcmp(name, "all")) {
		*(name[0] == 'l' ? &c->live : &c->all) = true;
		return 0;
	}
	if (!strcmp(name, "ring"))
		return run_opts_number(o, 1, 1024, &c->ring_mb) ? 0 : RUN_EXIT_USAGE;
	if (!strcmp(name, "payload"))
		return run_opts_number(o, 0, OBS_COPY, &c->payload) ? 0 : RUN_EXIT_USAGE;
	if (!strcmp(name, "pid"))
		return run_opts_number(o, 1, INT32_MAX, &c->pid) ? 0 : RUN_EXIT_USAGE;
	if (!strcmp(name, "cpu"))
		return run_opts_number(o, 1, 100, &c->percent) ? 0 : RUN_EXIT_USAGE;
	if (!strcmp(name, "mtu"))
		return run_opts_number(o, 256, 4096, &c->mtu) ? 0 : RUN_EXIT_USAGE;
	v = run_opts_value(o);
	if (!v)
		return RUN_EXIT_USAGE;
	if (!strcmp(name, "o")) {
		c->file = v;
	} else if (!strcmp(name, "adapter")) {
		c->adapter = v;
		return run_adapter_check("capture", v);
	} else if (!strcmp(name, "filter")) {
		filter_free(c->filter);
		c->filter = filter_read(v, why, sizeof(why));
		if (!c->filter)
			return run_usage_error("capture", "--filter has the word \"%s\", which is no term", why);
	} else {
		return run_usage_error("capture", "option \"%s\" is unknown", name);
	}
	return 0;
}

static int check(struct capture *c, bool command)
{
	if (command + !!c->pid + c->all != 1)
		return run_usage_error("capture", "one of a command, --pid and --all is needed, and no two");
	if (c->mtu & (c->mtu - 1))
		return run_usage_error("capture", "--mtu must be 256, 512, 1024, 2048 or 4096");
	if (!c->file)
		c->live = true;
	if (c->live && c->file && !strcmp(c->file, "-"))
		return run_usage_error("capture", "--live and -o - both need the standard output");
	return 0;
}

static int watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int capture(struct capture *c, char **words)
{
	struct obs_config cfg = { .ring_bytes = (uint64_t)c->ring_mb << 20, .payload = (uint32_t)c->payload,
				  .out = 1, .in = 1 };
	int signals = watch_signals(), code;
	pid_t child;

	signal(SIGPIPE, SIG_IGN);
	if (listen_for_processes(c) < 0)
		return 1;
	if (open_file(c) < 0) {
		unlink(c->path);
		return 1;
	}
	pace_begin(&c->pace, c->percent);
	c->sources = sources_new(&cfg);
	c->render = render_new((uint32_t)c->mtu, on_frame, c);
	if (!c->render)
		abort();
	child = words ? start(c, words) : ask(c);
	setpriority(PRIO_PROCESS, 0, NICE);
	code = child < 0 ? 1 : run(c, child, words != NULL, signals);
	if (c->listener >= 0)
		unlink(c->path);
	sources_each(c->sources, count, c);
	if (c->out && !c->ended)
		pcapng_flush(&c->pcapng);
	if (c->out && c->out != stdout && fclose(c->out) != 0 && !c->ended)
		run_say("%s: it cannot be written (%s): its end is lacking; make room on the disk", c->file, strerror(errno));
	sources_free(c->sources);
	render_free(c->render);
	return code;
}

int run_cmd_capture(int argc, char **argv)
{
	struct run_opts o = { .command = "capture", .argv = argv, .argc = argc, .index = 1 };
	struct capture c = { .ring_mb = RING_MB, .mtu = 4096, .percent = PACE_PERCENT, .listener = -1 };
	const char *name;
	bool command;
	int r;

	while ((name = run_opts_next(&o)))
		if ((r = read_option(&o, name, &c)))
			return r;
	command = o.index < argc;
	r = check(&c, command);
	if (r == 0)
		r = capture(&c, command ? argv + o.index : NULL);
	filter_free(c.filter);
	return r;
}

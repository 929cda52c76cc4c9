/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "file.h"

#include "../run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define LOOK_MS 500
#define SIGNALS 65
#define HIGH_FD 1024 /* the descriptors of the recorder are below that, and below the limit */

/* --- the strings --- */

struct text {
	char *p;
	size_t n, room;
};

static bool append(struct text *t, const char *s)
{
	size_t n = strlen(s) + 1;

	if (t->n + n > t->room)
		return false;
	memcpy(t->p + t->n, s, n);
	t->n += n;
	return true;
}

static bool append_all(struct text *t, char **v)
{
	for (; *v; v++)
		if (!append(t, *v))
			return false;
	return append(t, "");
}

static bool write_strings(struct replay_run *r, struct text *t)
{
	char dir[PATH_MAX];

	return getcwd(dir, sizeof(dir)) && append(t, r->exe) && append(t, dir) && append_all(t, r->args) && append_all(t, environ);
}

static char **split(char **p, char *end)
{
	size_t n = 0, room = 64;
	char **v = malloc(room * sizeof(*v));

	while (v && *p < end && **p) {
		if (n + 1 == room)
			v = realloc(v, (room *= 2) * sizeof(*v));
		if (!v)
			break;
		v[n++] = *p;
		*p += strlen(*p) + 1;
	}
	if (!v)
		abort();
	v[n] = NULL;
	*p += 1;
	return v;
}

static bool read_strings(struct replay_run *r)
{
	size_t n = r->head.strings;
	char *p = n <= RP_STRINGS_MAX ? malloc(n + 1) : NULL, *end = p + n;

	if (!p || pread(r->file, p, n, sizeof(r->head)) != (ssize_t)n)
		return false;
	*end = '\0';
	r->exe = p;
	p += strlen(p) + 1;
	if (p >= end)
		return false;
	r->dir = p;
	p += strlen(p) + 1;
	r->args = split(&p, end);
	r->env = split(&p, end);
	return r->args[0] && p <= end + 1;
}

/* --- the file --- */

static int cannot(const char *path, const char *done)
{
	run_say("%s: it cannot be %s (%s): nothing is recorded; name a file in a directory of yours, with room for it", path, done,
		strerror(errno));
	return REPLAY_REFUSED;
}

/* What no call of the program tells. */
static void read_inheritance(struct rp_file *h)
{
	struct rlimit stack;
	sigset_t blocked;

	if (getrlimit(RLIMIT_STACK, &stack) == 0)
		h->stack = stack.rlim_cur;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int sig = 1; sig < SIGNALS; sig++) {
		struct sigaction a;

		h->blocked |= (uint64_t)(sigismember(&blocked, sig) == 1) << (sig - 1);
		h->ignored |= (uint64_t)(sigaction(sig, NULL, &a) == 0 && a.sa_handler == SIG_IGN) << (sig - 1);
	}
}

static void set_inheritance(const struct rp_file *h)
{
	struct rlimit stack;
	sigset_t blocked;

	sigemptyset(&blocked);
	for (int sig = 1; sig < SIGNALS; sig++) {
		struct sigaction a = { .sa_handler = h->ignored >> (sig - 1) & 1 ? SIG_IGN : SIG_DFL };

		sigaction(sig, &a, NULL);
		if (h->blocked >> (sig - 1) & 1)
			sigaddset(&blocked, sig);
	}
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	if (getrlimit(RLIMIT_STACK, &stack) == 0) {
		stack.rlim_cur = h->stack;
		setrlimit(RLIMIT_STACK, &stack);
	}
}

static bool write_head(const struct replay_run *r)
{
	struct rp_file h = r->head;

	return pwrite(r->file, &h, sizeof(h), 0) == sizeof(h);
}

int replay_create(struct replay_run *r, const char *exe, char **args, uint64_t limit)
{
	struct text t = { .room = RP_STRINGS_MAX };

	r->exe = strdup(exe);
	r->args = args;
	t.p = malloc(t.room);
	if (!r->exe || !t.p)
		abort();
	if (!write_strings(r, &t)) {
		run_say("the arguments and the environment are longer than a record holds (1 MiB): nothing is recorded; use env -i");
		return REPLAY_REFUSED;
	}
	memcpy(r->head.magic, RP_MAGIC, sizeof(r->head.magic));
	r->head.version = RP_VERSION;
	r->head.limit = limit;
	r->head.strings = t.n;
	read_inheritance(&r->head);
	r->file = open(r->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (r->file < 0)
		return cannot(r->path, "made");
	if (!write_head(r) ||
	    pwrite(r->file, t.p, t.n, sizeof(r->head)) != (ssize_t)t.n || ftruncate(r->file, (off_t)(RP_EVENTS_AT + limit)) < 0)
		return cannot(r->path, "written");
	free(t.p);
	return 0;
}

/* A process that has outlived the run has left its end in the file, and the command has seen none. */
static void take_end(struct replay_run *r)
{
	struct rp_control c;

	if (r->head.ended || pread(r->file, &c, sizeof(c), RP_CONTROL_AT) != sizeof(c) || !c.exited)
		return;
	r->head.ended = 1;
	r->head.used = c.used;
	r->head.events = c.events;
	r->head.messages = c.messages;
	r->head.status = c.status;
}

static bool read_head(struct replay_run *r)
{
	if (pread(r->file, &r->head, sizeof(r->head), 0) != sizeof(r->head) || memcmp(r->head.magic, RP_MAGIC, sizeof(r->head.magic)))
		return false;
	take_end(r);
	return true;
}

int replay_open(struct replay_run *r, const char *path)
{
	struct stat st;

	r->path = path;
	r->file = open(path, O_RDONLY | O_CLOEXEC);
	if (r->file < 0) {
		run_say("%s: it cannot be read (%s): nothing is replayed; name a file of dapple record", path, strerror(errno));
		return REPLAY_REFUSED;
	}
	if (!read_head(r) || fstat(r->file, &st) < 0 || (uint64_t)st.st_size < RP_EVENTS_AT + r->head.used + sizeof(struct rp_event) ||
	    !read_strings(r)) {
		run_say("%s: it is no record: nothing is replayed; name a file of dapple record", path);
		return REPLAY_REFUSED;
	}
	if (r->head.version != RP_VERSION) {
		run_say("%s: it is a record of another version (%u, this one has %u): nothing is replayed; use the dapple that made it", path,
			r->head.version, RP_VERSION);
		return REPLAY_REFUSED;
	}
	return 0;
}

static bool map_control(struct replay_run *r, int fd, off_t at)
{
	void *p = mmap(NULL, sizeof(*r->control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);

	if (p != MAP_FAILED)
		r->control = p;
	return p != MAP_FAILED;
}

bool replay_attach(struct replay_run *r, const char *path)
{
	memset(r, 0, sizeof(*r));
	r->path = path;
	r->file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (r->file < 0)
		return false;
	if (read_head(r) && read_strings(r) && map_control(r, r->file, RP_CONTROL_AT))
		return true;
	close(r->file);
	return false;
}

void replay_control(struct replay_run *r, bool recording)
{
	char whole[PATH_MAX];

	if (r->control)
		munmap(r->control, sizeof(*r->control));
	if (r->control_fd > 0 && r->control_fd != r->file)
		close(r->control_fd);
	r->control_fd = recording ? r->file : memfd_create("dapple-control", MFD_CLOEXEC);
	if (r->control_fd < 0 || (!recording && ftruncate(r->control_fd, sizeof(*r->control)) < 0) ||
	    !map_control(r, r->control_fd, recording ? RP_CONTROL_AT : 0))
		abort();
	if (!recording || !realpath(r->path, whole) || strlen(whole) >= sizeof(r->control->family))
		return; /* children are not recorded */
	strcpy(r->control->family, whole);
}

/* The loader goes on without a library of LD_PRELOAD that it does not find, and the program would run in earnest. */
static bool has_preloads(const struct replay_run *r)
{
	char *list = NULL, *at, *path;
	bool there = true;

	for (char **e = r->env; *e; e++)
		if (!strncmp(*e, "LD_PRELOAD=", 11))
			list = at = strdup(*e + 11);
	while (list && there && (path = strsep(&at, ": "))) {
		there = !strchr(path, '/') || access(path, R_OK) == 0;
		if (!there)
			run_say("%s: the library of the record is not there (%s): nothing is replayed; install the same Dapple at the same place",
				path, strerror(errno));
	}
	free(list);
	return there;
}

int replay_check(const struct replay_run *r)
{
	if (chdir(r->dir) < 0) {
		run_say("%s: the directory of the run is not there (%s): nothing is replayed; make it", r->dir, strerror(errno));
		return REPLAY_REFUSED;
	}
	if (access(r->exe, X_OK) < 0) {
		run_say("%s: the program of the record is not there (%s): nothing is replayed; install the same one at the same place", r->exe,
			strerror(errno));
		return REPLAY_REFUSED;
	}
	return has_preloads(r) ? 0 : REPLAY_REFUSED;
}

/* --- the program --- */

static void set_descriptors(const struct replay_run *r, const char *how)
{
	struct rlimit limit;
	char value[64];
	int top = HIGH_FD;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < HIGH_FD)
		top = (int)limit.rlim_cur;
	dup2(r->file, top - 1);
	if (r->control_fd != r->file)
		dup2(r->control_fd, top - 2);
	snprintf(value, sizeof(value), RP_ENV_FORM, how, r->control_fd == r->file ? top - 1 : top - 2, top - 1);
	setenv(RP_ENV, value, 1);
}

int replay_exec(const struct replay_run *r, const char *how)
{
	if (r->env)
		environ = r->env;
	if (personality(ADDR_NO_RANDOMIZE) < 0) {
		run_say("addresses cannot be fixed (personality: %s): no program is started; permit it in the container's seccomp profile",
			strerror(errno));
		return REPLAY_REFUSED;
	}
	set_descriptors(r, how);
	set_inheritance(&r->head);
	execv(r->exe, r->args);
	run_say("cannot start %s (%s): no program runs; check its path and permissions", r->exe, strerror(errno));
	return errno == ENOENT || errno == ENOTDIR ? 127 : 126;
}

int replay_finish(struct replay_run *r, int status)
{
	const struct rp_control *c = r->control;

	r->head.used = c->used;
	r->head.events = c->events;
	r->head.messages = c->messages;
	r->head.stopped = c->stop;
	r->head.status = status;
	r->head.ended = 1;
	if (write_head(r) && ftruncate(r->file, (off_t)(RP_EVENTS_AT + c->used + sizeof(struct rp_event))) == 0)
		return 0;
	return cannot(r->path, "ended");
}

static volatile pid_t program;

static void pass_on(int sig)
{
	if (program > 0)
		kill(program, sig);
}

/* Keys of the terminal reach the program as well. */
static void outlive(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, pass = { .sa_handler = pass_on };

	sigaction(SIGINT, &ignore, NULL);
	sigaction(SIGQUIT, &ignore, NULL);
	sigaction(SIGTERM, &pass, NULL);
}

int replay_wait(pid_t pid, bool (*watch)(void *arg), void *arg)
{
	struct pollfd p = { .events = POLLIN };
	int status = 0;

	program = pid;
	outlive();
	p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	while (p.fd >= 0 && poll(&p, 1, LOOK_MS) <= 0)
		if (watch && !watch(arg))
			kill(pid, SIGKILL);
	close(p.fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	program = 0;
	return status;
}

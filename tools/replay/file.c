/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "file.h"

#include "../run/run.h"
#include "pack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
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
	    pwrite(r->file, t.p, t.n, sizeof(r->head)) != (ssize_t)t.n || ftruncate(r->file, (off_t)(RP_IMAGE_AT + limit)) < 0)
		return cannot(r->path, "written");
	free(t.p);
	return 0;
}

/* A process that has outlived the run has left its end in the file, and the command has seen none. Returns true. */
static bool take_end(struct replay_run *r)
{
	struct rp_control c;

	if (r->head.ended || pread(r->file, &c, sizeof(c), RP_CONTROL_AT) != sizeof(c) || !c.exited)
		return true;
	r->head.ended = 1;
	r->head.used = c.used;
	r->head.events = c.events;
	r->head.messages = c.messages;
	r->head.status = c.status;
	return true;
}

static bool read_head(struct replay_run *r)
{
	return pread(r->file, &r->head, sizeof(r->head), 0) == sizeof(r->head) && !memcmp(r->head.magic, RP_MAGIC, sizeof(r->head.magic));
}

static int not_a_record(const char *path)
{
	run_say("%s: it is no record: nothing is replayed; name a file of dapple record", path);
	return REPLAY_REFUSED;
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
	if (!read_head(r))
		return not_a_record(path);
	if (r->head.version != RP_VERSION) {
		run_say("%s: it is a record of another version (%u, this one has %u): nothing is replayed; use the dapple that made it", path,
			r->head.version, RP_VERSION);
		return REPLAY_REFUSED;
	}
	if (r->head.packed && replay_unpack(r))
		return REPLAY_REFUSED;
	if (!r->head.events_at || fstat(r->file, &st) < 0 || !take_end(r) ||
	    (uint64_t)st.st_size < r->head.events_at + r->head.used + sizeof(struct rp_event) || !read_strings(r))
		return not_a_record(path);
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
	if (read_head(r) && take_end(r) && read_strings(r) && map_control(r, r->file, RP_CONTROL_AT))
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

static int find_loader(char *ret, size_t size)
{
	char dir[PATH_MAX];
	int r = run_libdir(dir, sizeof(dir));

	if (r == 0 && (size_t)snprintf(ret, size, "%s/" RP_LOADER, dir) >= size)
		r = REPLAY_REFUSED;
	return r;
}

int replay_exec(const struct replay_run *r, const char *how)
{
	char loader[PATH_MAX];
	bool recording = !strcmp(how, RP_RECORD);

	if (!recording && (find_loader(loader, sizeof(loader)) || clearenv()))
		return REPLAY_REFUSED;
	/* A replay's own pages come to other places than those of the record. */
	if (personality(recording ? ADDR_NO_RANDOMIZE : 0) < 0) {
		run_say("addresses cannot be fixed (personality: %s): no program is started; permit it in the container's seccomp profile",
			strerror(errno));
		return REPLAY_REFUSED;
	}
	set_descriptors(r, how);
	set_inheritance(&r->head);
	execv(recording ? r->exe : loader, r->args);
	run_say("cannot start %s (%s): no program runs; check its path and permissions", recording ? r->exe : loader, strerror(errno));
	return errno == ENOENT || errno == ENOTDIR ? 127 : 126;
}

int replay_finish(struct replay_run *r, int status)
{
	const struct rp_control *c = r->control;

	/* The recorder's. */
	if (pread(r->file, &r->head.events_at, sizeof(r->head.events_at), offsetof(struct rp_file, events_at)) != sizeof(r->head.events_at))
		return cannot(r->path, "ended");
	r->head.used = c->used;
	r->head.events = c->events;
	r->head.messages = c->messages;
	r->head.stopped = c->stop;
	r->head.status = status;
	r->head.ended = 1;
	if (!write_head(r) || ftruncate(r->file, (off_t)(r->head.events_at + c->used + sizeof(struct rp_event))) < 0)
		return cannot(r->path, "ended");
	if (c->events)
		replay_pack(r);
	return 0;
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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The recorder begins before the constructors of all other libraries (-z initfirst). Where it finds no RP_ENV, or
 * descriptors that are not of a record, it does nothing: a program that the recorded one starts is not recorded.
 */
#include "start.h"

#include "clock.h"
#include "image.h"
#include "log.h"
#include "objects.h"
#include "raw.h"
#include "signals.h"
#include "state.h"
#include "turn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define REFUSED 125

enum rp_mode rp_mode;
bool rp_stays;
int rp_recorded_pid, rp_pid;
struct rp_control *rp_control;

static void say_where(void)
{
	static const char text[] = "dapple replay: the replay stops here; without --gdb it says why\n";

	RP_RAW3(SYS_write, 2, text, sizeof(text) - 1);
	RP_RAW3(SYS_tgkill, rp_pid, RP_RAW0(SYS_gettid), SIGTRAP);
}

void rp_stop(enum rp_stop why)
{
	bool recording = rp_mode == RP_RECORDING;

	if (!rp_control->stop)
		rp_control->stop = why;
	if (recording && (why == RP_FULL || why == RP_REPLACED)) {
		rp_mode = RP_OFF;
		rp_turn_free_all();
		return;
	}
	if (rp_stays)
		say_where();
	RP_RAW1(SYS_exit_group, REFUSED);
}

void rp_stop_at(enum rp_stop why, int64_t number, int64_t wanted)
{
	rp_control->number = number;
	rp_control->wanted = wanted;
	rp_stop(why);
}

/* --- threads --- */

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static create_fn *create;
static struct {
	void *(*run)(void *);
	void *arg;
	uint64_t mask; /* of signals, that it begins with */
} starts[RP_THREADS];

/* Returns the mask that was. */
static uint64_t set_mask(uint64_t mask)
{
	uint64_t before = 0;

	RP_RAW4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, 8);
	return before;
}

static void *run(void *p)
{
	struct rp_thread *t = p;

	if (rp_thread_begin(t) < 0)
		rp_stop_at(RP_SETUP, EPERM, 0);
	rp_turn_begin(t);
	if (rp_mode != RP_OFF)
		t->recorded_tid = (int)rp_event(RP_START, t->index, 0, t->tid);
	set_mask(starts[t->index].mask);
	return starts[t->index].run(starts[t->index].arg);
}

/* The new thread cannot go through the recorder until it has a place of its own, and until then no signal may come. What its
 * creator maps for it is recorded; from the clone() on (process.c) no call is. */
int rp_create(pthread_t *ret, const pthread_attr_t *attr, void *(*f)(void *), void *arg)
{
	struct rp_thread *t;
	int r;

	if (rp_mode == RP_OFF || !rp_me)
		return create(ret, attr, f, arg);
	t = rp_thread_new();
	if (!t) {
		rp_stop(RP_TOO_MANY);
		return EAGAIN;
	}
	starts[t->index].run = f;
	starts[t->index].arg = arg;
	rp_threads_settle();
	starts[t->index].mask = set_mask(RP_MASK);
	rp_me->creates = true;
	r = create(ret, attr, run, t);
	rp_me->creates = false;
	rp_me->selector = rp_mode != RP_OFF;
	set_mask(starts[t->index].mask);
	t->ended = r != 0;
	return r;
}

/* --- the beginning --- */

int rp_control_map(int fd, uint64_t offset, int fixed)
{
	long r = RP_RAW6(SYS_mmap, RP_CONTROL_MAP, sizeof(struct rp_control), PROT_READ | PROT_WRITE, MAP_SHARED | fixed, fd, offset);

	if (r < 0)
		return (int)r;
	rp_control = (void *)r;
	return 0;
}

/* A program may have inherited the variable and other descriptors of these numbers. */
static bool open_control(int fd, int file)
{
	struct rp_file head;

	if (RP_RAW4(SYS_pread64, file, &head, sizeof(head), 0) != sizeof(head) || memcmp(head.magic, RP_MAGIC, sizeof(head.magic)) ||
	    rp_control_map(fd, fd == file ? RP_CONTROL_AT : 0, MAP_FIXED_NOREPLACE) < 0)
		return false;
	if (fd != file)
		RP_RAW1(SYS_close, fd);
	return true;
}

static const char *find_variable(char **env)
{
	size_t n = strlen(RP_ENV);

	for (; *env; env++)
		if (!strncmp(*env, RP_ENV, n) && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

static bool read_environment(char **env, int *ret_control, int *ret_file)
{
	const char *v = find_variable(env);
	char how[8];

	if (!v || sscanf(v, "%7s %d %d", how, ret_control, ret_file) != 3)
		return false;
	rp_mode = RP_RECORDING;
	return !strcmp(how, RP_RECORD) && RP_RAW3(SYS_fcntl, *ret_control, F_GETFD, 0) == 0;
}

static void refuse(const char *step, int r)
{
	snprintf(rp_control->text, sizeof(rp_control->text), "%s", step);
	rp_stop_at(RP_SETUP, -r, 0);
}

static void begin_first_thread(void)
{
	struct rp_thread *t = rp_thread_new();
	int r = rp_signals_begin();

	if (r < 0)
		refuse("rt_sigaction", r);
	r = rp_thread_begin(t);
	if (r < 0)
		refuse("prctl(PR_SET_SYSCALL_USER_DISPATCH)", r);
	rp_turn_take(t);
}

static void open_log(int fd)
{
	struct rp_file head;
	int r = (int)RP_RAW4(SYS_pread64, fd, &head, sizeof(head), 0);

	if (r == sizeof(head))
		r = rp_log_open(fd, head.events_at, head.limit);
	if (r < 0)
		refuse("mmap", r);
}

/* In a replay the process goes on here: with the memory of the recorded one, and other descriptors. */
static int resume(int64_t how)
{
	int control = (int)(how >> 16 & 0xffff), fd = (int)(how >> 40);

	rp_mode = RP_REPLAYING;
	rp_stays = how & 2;
	rp_pid = (int)RP_RAW0(SYS_getpid);
	if (!open_control(control, fd))
		RP_RAW1(SYS_exit_group, REFUSED);
	return fd;
}

static int take_image(int fd)
{
	int64_t r = rp_image(fd);

	if (r < 0)
		refuse("a copy of the memory", (int)r);
	return r > 0 ? resume(r) : fd;
}

/* So early libc has no environment yet, but the loader passes it. */
__attribute__((constructor)) static void begin(int argc, char **argv, char **env)
{
	int control, fd, r;

	(void)argc;
	(void)argv;
	create = (create_fn *)dlsym(RTLD_NEXT, "pthread_create");
	if (!read_environment(env, &control, &fd) || !open_control(control, fd)) {
		rp_mode = RP_OFF;
		return;
	}
	rp_pid = (int)RP_RAW0(SYS_getpid);
	rp_control->pid = rp_pid;
	RP_RAW3(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
	r = rp_clock_begin();
	if (r < 0)
		refuse("mprotect(vdso)", r);
	fd = take_image(fd);
	open_log(fd);
	if (rp_mode == RP_REPLAYING)
		rp_image_resume();
	if (rp_stays)
		RP_RAW3(SYS_tgkill, rp_pid, RP_RAW0(SYS_gettid), SIGTRAP);
	rp_recorded_pid = (int)rp_event(RP_START, 0, 0, rp_pid);
	rp_threads[0].recorded_tid = rp_recorded_pid;
	rp_objects();
	begin_first_thread();
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tell.h"

#include "../run/run.h"
#include "wire/ib_text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	int kind;
	const char *name;
} names[] = {
	{ SYS_read, "read" }, { SYS_write, "write" }, { SYS_openat, "openat" }, { SYS_close, "close" }, { SYS_mmap, "mmap" },
	{ SYS_ioctl, "ioctl" }, { SYS_socket, "socket" }, { SYS_connect, "connect" }, { SYS_accept, "accept" }, { SYS_bind, "bind" },
	{ SYS_sendto, "sendto" }, { SYS_recvfrom, "recvfrom" }, { SYS_sendmsg, "sendmsg" }, { SYS_recvmsg, "recvmsg" },
	{ SYS_sendmmsg, "sendmmsg" }, { SYS_recvmmsg, "recvmmsg" }, { SYS_epoll_wait, "epoll_wait" },
	{ SYS_epoll_pwait, "epoll_pwait" }, { SYS_epoll_ctl, "epoll_ctl" }, { SYS_poll, "poll" }, { SYS_ppoll, "ppoll" },
	{ SYS_clock_gettime, "clock_gettime" }, { SYS_gettimeofday, "gettimeofday" }, { SYS_timerfd_settime, "timerfd_settime" },
	{ SYS_futex, "futex" }, { SYS_shmat, "shmat" }, { SYS_io_uring_setup, "io_uring_setup" }, { SYS_clone, "clone" }, { SYS_execve, "execve" },
	{ SYS_exit_group, "exit_group" }, { SYS_getpid, "getpid" }, { SYS_getrandom, "getrandom" }, { SYS_fcntl, "fcntl" },
	{ RP_START, "the start of a thread" }, { RP_OBJECTS, "the list of libraries" }, { RP_WOKEN, "the end of a wait" },
	{ RP_TICKS, "a look at the processor's counter" },
};

/* Two results may be in use at a time. */
static const char *name_of(long kind)
{
	static char texts[2][64];
	static int which;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].kind == kind)
			return names[i].name;
	which = !which;
	snprintf(texts[which], sizeof(texts[which]), kind > RP_SIGNAL ? "signal %ld" : "system call %ld",
		 kind > RP_SIGNAL ? kind - RP_SIGNAL : kind);
	return texts[which];
}

static const char *end_of(int status)
{
	static char texts[2][64];
	static int which;

	which = !which;
	if (WIFSIGNALED(status))
		snprintf(texts[which], sizeof(texts[which]), "signal %d (SIG%s)", WTERMSIG(status), sigabbrev_np(WTERMSIG(status)));
	else
		snprintf(texts[which], sizeof(texts[which]), "status %d", WEXITSTATUS(status));
	return texts[which];
}

static void tell_octets(const struct rp_control *c)
{
	char what[96], text[512];

	if (c->is_message)
		snprintf(what, sizeof(what), "message %lld", (long long)c->number);
	else
		snprintf(what, sizeof(what), "output to descriptor %lld behind message %lld", (long long)c->about, (long long)c->number);
	if (c->before_len != c->after_len)
		run_say("%s differs: it has %u octets, and %u were recorded: the replay ends; see docs/how-to/replay.md", what, c->after_len, c->before_len);
	else if (c->at < RP_PREFIX && c->at < c->before_len)
		run_say("%s differs: octet %u of %u is 0x%02x, and 0x%02x was recorded: the replay ends; see docs/how-to/replay.md", what, c->at, c->after_len,
			c->after[c->at], c->before[c->at]);
	else
		run_say("%s differs: one behind octet %u of its %u is another: the replay ends; see docs/how-to/replay.md", what, c->at, c->after_len);
	if (!c->is_message)
		return;
	wire_ib_text(text, sizeof(text), c->before, c->before_len < RP_PREFIX ? c->before_len : RP_PREFIX);
	dprintf(STDERR_FILENO, "  was: %s\n", text);
	wire_ib_text(text, sizeof(text), c->after, c->after_len < RP_PREFIX ? c->after_len : RP_PREFIX);
	dprintf(STDERR_FILENO, "  now: %s\n", text);
}

void replay_tell(const struct replay_run *r, bool replaying)
{
	const struct rp_control *c = r->control;
	unsigned long long messages = c->messages, events = c->events;
	uint32_t stop = c->stop;

	switch (stop) {
	case RP_FULL:
		run_say("%s: the record is at its limit, or the disk is full: the rest of the run is not recorded; give a larger --limit, or room",
			r->path);
		break;
	case RP_CALL:
		run_say("%s: its %s cannot be recorded: the program was ended; use a program without it", r->args[0], name_of(c->number));
		break;
	case RP_SHARES:
		run_say("%s: it shares memory with other processes (%s): their stores come without a call, so the program was ended; let it use pipes or sockets for that",
			r->args[0], c->text);
		break;
	case RP_TOO_MANY:
		run_say("%s: it has more than %d threads: the program was ended; use fewer", r->args[0], RP_THREADS);
		break;
	case RP_SETUP:
		run_say("the kernel refuses %s (%s): nothing is %s; Linux 5.11 or newer has it, and the container's seccomp profile must permit it",
			c->text, strerror((int)c->number), replaying ? "replayed" : "recorded");
		break;
	case RP_OTHER_CALL:
		run_say("the program differs from the record behind message %llu (event %llu): it comes to %s, and %s was recorded: the replay ends; see docs/how-to/replay.md", messages,
			events, name_of(c->number), name_of(c->wanted));
		break;
	case RP_OTHER_THREAD:
		run_say("the program differs from the record behind message %llu (event %llu): thread %lld does not run: the replay ends; see docs/how-to/replay.md", messages, events,
			(long long)c->number);
		break;
	case RP_OTHER_ADDRESS:
	case RP_PLACE:
		run_say("memory at %#llx cannot be had behind message %llu (event %llu): the replay ends here; raise ulimit -v, or give the machine more memory",
			(unsigned long long)c->number, messages, events);
		break;
	default:
		tell_octets(c);
	}
}

void tell_end(const struct replay_run *r, int status)
{
	run_say("the program ended with %s, and with %s when it was recorded, behind message %llu of %llu: the replay ends; see docs/how-to/replay.md", end_of(status),
		end_of(r->head.status), (unsigned long long)r->control->messages, (unsigned long long)r->head.messages);
}

bool replay_tell_record(const struct replay_run *r)
{
	struct stat st = { .st_size = 0 };

	stat(r->path, &st);
	run_say("%s: %llu events, %llu messages, %.1f MiB; run it again by: dapple replay %s", r->args[0], (unsigned long long)r->control->events,
		(unsigned long long)r->control->messages, (double)st.st_size / (1 << 20), r->path);
	return true;
}

void tell_same(const struct replay_run *r, long n)
{
	const struct rp_control *c = r->control;
	bool cut = !r->head.ended || r->head.stopped > RP_ENDED, killed = !cut && r->head.killed;

	run_say("%s: %ld %s as recorded: %llu events, %llu messages, %s%s%s", r->path, n, n == 1 ? "replay is" : "replays are",
		(unsigned long long)c->events, (unsigned long long)c->messages, cut ? "until the record ends before its program" : "end with ",
		cut ? "" : killed ? "a signal" : end_of(r->head.status), !cut && c->stop == RP_AT_END ? " from outside" : "");
}

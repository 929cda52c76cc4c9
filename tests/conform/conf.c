/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The runner. The parent never calls a verb; each check has a process, a
 * process group (its own children die with it) and a time limit.
 *
 * Exit: 0, 1 when a check failed, 77 when none ran.
 */
#include "conf.h"

#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_MS 180000
#define LIMIT_FULL_MS 600000

struct cf_adapter cf;

static int report_fd = -1; /* where a check's process says why */

static void say(const char *file, int line, const char *fmt, va_list ap)
{
	char text[1024];
	int n = 0;

	if (file)
		n = snprintf(text, sizeof(text), "%s:%d: ", strrchr(file, '/') ?
			     strrchr(file, '/') + 1 : file, line);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	if (write(report_fd, text, strlen(text)) < 0)
		fprintf(stderr, "%s\n", text);
}

void cf_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(file, line, fmt, ap);
	va_end(ap);
	_exit(1);
}

void cf_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(NULL, 0, fmt, ap);
	va_end(ap);
	_exit(77);
}

void cf_same(const char *file, int line, const char *what, long long got, long long want)
{
	if (got != want)
		cf_fail(file, line, "%s is %lld (0x%llx), not %lld (0x%llx)", what, got, got, want,
			want);
}

static const char *error_name(int e)
{
	const char *name = e ? strerrorname_np(e) : "success";

	return name ? name : "no errno value";
}

void cf_rc(const char *file, int line, const char *what, int rc, int want)
{
	int e = rc == -1 ? errno : rc < 0 ? -rc : rc;

	if (e != want)
		cf_fail(file, line, "%s gave %s (%d), not %s", what, error_name(e), rc,
			error_name(want));
}

/* --- undo list --- */

#define KEPT_MAX 8192

/* Slots at the end are free again when their object was undone, so that only objects that live at
 * once count. Undoing itself is outside the lock: it may wait. */
static struct kept {
	cf_undo undo;
	void *obj;
	const char *what;
} kept[KEPT_MAX];
static int n_kept;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

void cf_keep(cf_undo undo, void *obj, const char *what)
{
	bool room;

	pthread_mutex_lock(&kept_lock);
	room = n_kept < KEPT_MAX;
	if (room)
		kept[n_kept++] = (struct kept){ undo, obj, what };
	pthread_mutex_unlock(&kept_lock);
	if (!room)
		CF_DIE("too many objects in one check");
}

/* Takes one out; obj NULL: the last. False: there is none. */
static bool take_kept(const void *obj, struct kept *ret)
{
	int i;

	pthread_mutex_lock(&kept_lock);
	for (i = n_kept - 1; i >= 0; i--)
		if (obj ? kept[i].obj == obj : kept[i].obj != NULL)
			break;
	if (i >= 0) {
		*ret = kept[i];
		kept[i].obj = NULL;
	}
	while (n_kept && !kept[n_kept - 1].obj)
		n_kept--;
	pthread_mutex_unlock(&kept_lock);
	return i >= 0;
}

void cf_forget(const void *obj)
{
	struct kept k = { 0 };

	if (!take_kept(obj, &k))
		CF_DIE("nothing kept at %p", obj);
}

static void undo(const struct kept *k)
{
	int rc = k->undo(k->obj);

	if (rc)
		CF_DIE("%s at the end gave %s (%d)", k->what, error_name(rc), rc);
}

void cf_drop(void *obj)
{
	struct kept k = { 0 };

	if (!take_kept(obj, &k))
		CF_DIE("nothing kept at %p", obj);
	undo(&k);
}

void cf_undo_all(void)
{
	struct kept k = { 0 };

	while (take_kept(NULL, &k))
		undo(&k);
}

void cf_inherit_nothing(void)
{
	pthread_mutex_init(&kept_lock, NULL); /* whoever held it is not in this process */
	n_kept = 0;
}

/* --- one check --- */

/* Kinds of adapters, as bits. Those of InfiniBand and RoCE differ by their links alone. */
enum { ROCE = 1, IWARP = 2, INFINIBAND = 4 };

/* Rules that some kinds of adapter cannot have, and why. */
static const struct foreign {
	unsigned need;
	unsigned lack; /* the kinds that lack it */
	const char *why;
} foreign[] = {
	{ CF_UC, IWARP, "iWARP has no unreliable connections" },
	{ CF_UD, IWARP, "iWARP has no datagrams" },
	{ CF_XRC, IWARP, "iWARP has no XRC" },
	{ CF_MCAST, IWARP, "iWARP has no multicast" },
	{ CF_RNR, IWARP, "iWARP has no receiver-not-ready: a Send without a receive ends the stream" },
	{ CF_STEPS, IWARP, "an iWARP queue pair reaches RTS with its stream, not by attributes" },
	{ CF_SQD, IWARP, "SQD ends an iWARP connection" },
	{ CF_PSN, IWARP, "TCP counts, not the queue pair" },
	{ CF_TIMER, IWARP, "TCP has the timers and retransmits" },
	{ CF_PATH, IWARP, "a stream belongs to its two ends; no other end can address them" },
	{ CF_SELF, IWARP, "a stream has two ends, so that no queue pair is its own peer" },
	{ CF_PACKET, IWARP, "each segment of an iWARP message is judged for itself" },
	{ CF_GID, IWARP, "the GID of an iWARP adapter is its MAC" },
	{ CF_STREAM, ROCE | INFINIBAND, "connections are no streams here" },
	{ CF_ALT, ROCE | IWARP, "alternate paths exist on InfiniBand links only" },
	{ CF_MCAST, INFINIBAND, "the subnet manager makes groups: mckey in tests/fabric/adapter" },
};

static const char *why_foreign(const struct cf_check *c, unsigned kind)
{
	for (unsigned i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
		if (foreign[i].lack & kind && c->need & foreign[i].need)
			return foreign[i].why;
	return NULL;
}

/* Without opening it: a check may want to leave the network before that. */
static bool is_iwarp(void)
{
	struct ibv_device **list;
	bool r = false;
	int n = 0;

	list = ibv_get_device_list(&n);
	if (list && n)
		r = list[cf_wanted(list, n)]->transport_type == IBV_TRANSPORT_IWARP;
	if (list)
		ibv_free_device_list(list);
	return r;
}

/* The link layer is asked for where it decides. */
static unsigned kind_for(const struct cf_check *c)
{
	unsigned kind = ROCE;

	if (is_iwarp())
		return IWARP;
	if (c->need & (CF_ALT | CF_MCAST)) {
		cf_open();
		kind = cf.port.link_layer == IBV_LINK_LAYER_INFINIBAND ? INFINIBAND : ROCE;
		cf_undo_all();
	}
	return kind;
}

static void need(const struct cf_check *c)
{
	struct ibv_context *ctx;
	const struct ibv_device_attr *d = &cf.dev.orig_attr;
	const char *lacks = NULL;

	if (why_foreign(c, ROCE | IWARP | INFINIBAND)) {
		lacks = why_foreign(c, kind_for(c));
		if (lacks)
			cf_skip("%s", lacks);
	}
	if (!(c->need & (CF_RNR - 1) & ~CF_FULL))
		return;
	ctx = cf_open();
	if (c->need & CF_SRQ && !d->max_srq)
		lacks = "shared receive queues";
	if (c->need & CF_XRC && !(d->device_cap_flags & IBV_DEVICE_XRC))
		lacks = "XRC";
	if (c->need & CF_MW1 && !(d->device_cap_flags & IBV_DEVICE_MEM_WINDOW))
		lacks = "type 1 windows";
	if (c->need & CF_MW2 && !(d->device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A |
							 IBV_DEVICE_MEM_WINDOW_TYPE_2B)))
		lacks = "type 2 windows";
	if (c->need & CF_ATOMIC && d->atomic_cap == IBV_ATOMIC_NONE)
		lacks = "atomics";
	if (c->need & CF_MCAST && !d->max_mcast_grp)
		lacks = "multicast";
	for (int i = 0; i < 2; i++) {
		enum ibv_qp_type type = i ? IBV_QPT_UD : IBV_QPT_UC;
		struct ibv_pd *pd;
		struct ibv_cq *cq;
		struct ibv_qp *qp;

		if (!(c->need & (i ? CF_UD : CF_UC)))
			continue;
		pd = cf_pd(ctx);
		cq = cf_cq(ctx, 4, NULL);
		qp = ibv_create_qp(pd, &(struct ibv_qp_init_attr){
			.qp_type = type, .send_cq = cq, .recv_cq = cq,
			.cap = { 1, 1, 1, 1, 0 } });
		if (qp)
			ibv_destroy_qp(qp);
		else if (errno == EOPNOTSUPP)
			lacks = i ? "UD" : "UC";
		else
			CF_DIE("cannot create a %s QP: %s", i ? "UD" : "UC", strerror(errno));
	}
	cf_undo_all();
	/* CONFORM_STRICT: this adapter is known to have all, so a lack is a fault. */
	if (lacks && getenv("CONFORM_STRICT"))
		CF_DIE("the adapter lacks %s", lacks);
	if (lacks)
		cf_skip("the adapter lacks %s", lacks);
}

static void run_check(const struct cf_check *c)
{
	need(c);
	c->fn();
	cf_undo_all();
}

static void child(const struct cf_check *c, int fd)
{
	setpgid(0, 0);
	report_fd = fd;
	run_check(c);
	exit(0);
}

/* Fills why; returns the exit status, or 256 + signal. */
static int supervise(pid_t pid, int fd, int ms, char *why, size_t n)
{
	size_t have = 0;
	ssize_t got;
	uint64_t end = cf_ns() + ms * 1000000ull;
	int status, timed_out = 0;
	siginfo_t si;

	for (;;) {
		si.si_pid = 0;
		if (waitid(P_PID, pid, &si, WEXITED | WNOHANG | WNOWAIT) == 0 && si.si_pid)
			break;
		if (cf_ns() > end) {
			timed_out = 1;
			kill(-pid, SIGKILL);
			break;
		}
		if (cf_readable(fd, 5) && have + 1 < n) {
			got = read(fd, why + have, n - 1 - have);
			if (got > 0)
				have += got;
			else
				poll(NULL, 0, 1); /* closed; only the exit is missing */
		}
	}
	/* Processes that outlived the check (a peer that was not reaped) go with it. */
	kill(-pid, SIGKILL);
	waitpid(pid, &status, 0);
	while (have + 1 < n && cf_readable(fd, 0) && (got = read(fd, why + have, n - 1 - have)) > 0)
		have += got;
	why[have] = 0;
	if (timed_out) {
		snprintf(why + have, n - have, "%shung: no end after %d s", have ? "; " : "", ms / 1000);
		return 1;
	}
	return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

static char left_out_for[200]; /* the last skip's reason */

static int run_one(const struct cf_check *c, bool here)
{
	char why[2048];
	int p[2], rc;
	pid_t pid;
	uint64_t t0 = cf_ns();

	if (here) {
		report_fd = 2;
		run_check(c);
		return 0;
	}
	if (pipe(p) < 0)
		return 1;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(p[0]);
		child(c, p[1]);
	}
	setpgid(pid, pid);
	close(p[1]);
	rc = supervise(pid, p[0], (cf.full ? LIMIT_FULL_MS : LIMIT_MS) + (int)cf.seconds * 1000, why, sizeof(why));
	close(p[0]);
	if (rc == 77)
		snprintf(left_out_for, sizeof(left_out_for), "%.*s", (int)sizeof(left_out_for) - 1, why);
	if (rc == 0)
		printf("ok %s %s (%.2f s)\n", c->numbers, c->name, (cf_ns() - t0) / 1e9);
	else if (rc == 77)
		printf("skip %s %s # %s\n", c->numbers, c->name, why);
	else if (rc >= 256)
		printf("not ok %s %s # killed by signal %d (%s) %s\n", c->numbers, c->name, rc - 256,
		       strsignal(rc - 256), why);
	else
		printf("not ok %s %s # %s\n", c->numbers, c->name, *why ? why : "exit without a word");
	fflush(stdout);
	return rc;
}

/* In a process of its own, which a later wait_all() finds; for checks that mostly wait. */
static void begin_one(const struct cf_check *c)
{
	pid_t pid;
	int rc;

	fflush(NULL);
	pid = fork();
	if (pid)
		return;
	rc = run_one(c, false);
	_exit(rc && rc != 77 ? 1 : rc);
}

static void wait_all(int *ran, int *failed)
{
	int status;

	while (wait(&status) > 0) {
		bool skipped = WIFEXITED(status) && WEXITSTATUS(status) == 77;

		*ran += !skipped;
		*failed += !skipped && (!WIFEXITED(status) || WEXITSTATUS(status));
	}
}

static bool has_number(const char *numbers, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = numbers; (p = strstr(p, word)); p += n)
		if ((p == numbers || p[-1] == ' ') && (!p[n] || p[n] == ' '))
			return true;
	return false;
}

static bool chosen(const struct cf_check *c, const char *only)
{
	return !only || has_number(c->numbers, only) || strstr(c->name, only);
}

/*
 * Processes of one user share a port; those of other tests come and go on it
 * all the time. Where it is allowed, a run has a network of its own, with only
 * lo in it, so that times and counts are its own. --host leaves that away.
 */
static void own_network(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	if (geteuid() != 0 || unshare(CLONE_NEWNET) < 0)
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &r) < 0)
		fprintf(stderr, "cannot start lo: %s\n", strerror(errno));
	close(fd);
}

/* Only an adapter on lo is in a network of our own too. */
static bool of_host(const char *device)
{
	size_t n = device ? strlen(device) : 0;

	return device && (n < 3 || strcmp(device + n - 3, "_lo"));
}

/* One line; which kinds of adapter skip it, and why. */
static void list_one(const struct cf_check *c)
{
	printf("%s %s", c->numbers, c->name);
	if (c->elsewhere)
		printf(" # elsewhere: %s", c->elsewhere);
	else if (why_foreign(c, IWARP))
		printf(" # not on iwarp: %s", why_foreign(c, IWARP));
	else if (why_foreign(c, ROCE))
		printf(" # only on iwarp: %s", why_foreign(c, ROCE));
	printf("\n");
}

static int usage(void)
{
	fprintf(stderr, "usage: [--list] [--only NUMBER|WORDS] [--fork] [--full] [--host] [--here] [--together]\n"
		"  --host  in the network of the host, not in one of its own\n"
		"  --here  run in this process (for debuggers); implies a single failure ends it\n"
		"  --together  all checks at once\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *only = NULL;
	bool list = false, here = false, together = false, host = of_host(getenv("CONFORM_DEVICE"));
	const char *seconds = getenv("CONFORM_SECONDS");
	int ran = 0, failed = 0, rc;

	cf.seconds = seconds ? (unsigned)strtoul(seconds, NULL, 10) : 0;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--list"))
			list = true;
		else if (!strcmp(argv[i], "--fork"))
			cf.forked = true;
		else if (!strcmp(argv[i], "--full"))
			cf.full = true;
		else if (!strcmp(argv[i], "--host"))
			host = true;
		else if (!strcmp(argv[i], "--here"))
			here = true;
		else if (!strcmp(argv[i], "--together"))
			together = true;
		else if (!strcmp(argv[i], "--only") && i + 1 < argc)
			only = argv[++i];
		else
			return usage();
	}
	if (!host && !list)
		own_network();
	for (const struct cf_check *c = cf_checks; c->numbers; c++) {
		if (!chosen(c, only))
			continue;
		if (list || c->elsewhere) {
			list_one(c);
			continue;
		}
		if (c->need & CF_FULL && !cf.full)
			continue;
		if (together) {
			begin_one(c);
			continue;
		}
		rc = run_one(c, here);
		ran += rc != 77;
		failed += rc != 0 && rc != 77;
	}
	if (list)
		return 0;
	wait_all(&ran, &failed);
	if (!ran && *left_out_for)
		printf("none ran: %s\n", left_out_for);
	else
		printf("%d ran, %d failed\n", ran, failed);
	return failed ? 1 : ran ? 0 : 77;
}

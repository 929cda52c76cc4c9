/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Get Special QP between processes: QP1 of a RoCE port, MADs through any member of the address, one
 * owner, and the queue pair after the owner was killed. Each role is a process that executes orders
 * of the first one and sleeps otherwise. All in a network namespace of their own, or (where there
 * is none) on a UDP port of their own.
 */
#include "special_role.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(cond)                                                              \
	do {                                                                     \
		if (!(cond)) {                                                   \
			printf("%s:%d: not true: %s\n", __func__, __LINE__, #cond); \
			exit(1);                                                 \
		}                                                                \
	} while (0)

#define VENDOR 0x30
#define TRIES 30 /* MADs may be lost; a second each */

struct role {
	pid_t pid;
	int fd;
	struct answer last;
};

static struct role role_start(const char *device)
{
	struct role r;
	int sv[2];

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv));
	fflush(stdout);
	r.pid = fork();
	CHECK(r.pid >= 0);
	if (r.pid == 0) {
		close(sv[0]);
		role_main(sv[1], device);
	}
	close(sv[1]);
	r.fd = sv[0];
	CHECK(read(r.fd, &r.last, sizeof(r.last)) == sizeof(r.last));
	return r;
}

/* The errno of the order, 0 = done. */
static int ask(struct role *r, struct order o)
{
	CHECK(write(r->fd, &o, sizeof(o)) == sizeof(o));
	CHECK(read(r->fd, &r->last, sizeof(r->last)) == sizeof(r->last));
	return r->last.error;
}

#define ASK(r, ...) ask(r, (struct order){ __VA_ARGS__ })

static void role_end(struct role *r, bool kill_it)
{
	const struct order leave = { .what = LEAVE };
	int status = -1;

	if (kill_it)
		CHECK(!kill(r->pid, SIGKILL));
	else
		CHECK(write(r->fd, &leave, sizeof(leave)) == sizeof(leave));
	CHECK(waitpid(r->pid, &status, 0) == r->pid);
	CHECK(kill_it ? WIFSIGNALED(status) : WIFEXITED(status) && !WEXITSTATUS(status));
	close(r->fd);
}

/* One MAD from a to QP1 of b's address, at which b has a receive. */
static void deliver(struct role *a, struct role *b, uint8_t class)
{
	static uint32_t tid;
	struct order send = { .what = SEND, .gid = b->last.gid, .qpn = 1, .class = class,
			      .tid = ++tid };
	int i = 0;

	CHECK(!ASK(b, RECEIVE));
	do {
		CHECK(!ask(a, send));
	} while (ASK(b, AWAIT, .tid = tid) && ++i < TRIES);
	CHECK(!b->last.error && b->last.good);
	CHECK(b->last.class == class && b->last.tid == tid && b->last.src_qp == a->last.qpn);
}

/* The answer to b's last MAD. */
static void answer(struct role *b, struct role *a)
{
	uint32_t tid = b->last.tid;
	int i = 0;

	CHECK(!ASK(a, RECEIVE));
	do {
		CHECK(!ASK(b, REPLY));
	} while (ASK(a, AWAIT, .tid = tid) && ++i < TRIES);
	CHECK(!a->last.error && a->last.good && a->last.src_qp == 1);
}

static uint64_t counter(struct role *r, const char *name)
{
	struct order o = { .what = COUNTER };

	snprintf(o.name, sizeof(o.name), "%s", name);
	CHECK(!ask(r, o));
	return r->last.value;
}

static void refusals(struct role *r)
{
	CHECK(ASK(r, SPECIAL, .type = DPL_QP_SMI, .port = 1) == EOPNOTSUPP);
	CHECK(ASK(r, SPECIAL, .type = DPL_QP_RAW_IPV6, .port = 1) == EOPNOTSUPP);
	CHECK(ASK(r, SPECIAL, .type = DPL_QP_RAW_ETHERTYPE, .port = 1) == EOPNOTSUPP);
	CHECK(ASK(r, SPECIAL, .type = DPL_QP_GSI, .port = 0) == EINVAL);
	CHECK(ASK(r, SPECIAL, .type = DPL_QP_GSI, .port = 2) == EINVAL);
	CHECK(ASK(r, SPECIAL, .type = DPL_QP_RAW_ETHERTYPE + 1, .port = 1) == EINVAL);
	CHECK(ASK(r, SPECIAL, .type = DPL_QP_GSI, .port = 1, .depth = 1 << 30) == EINVAL);
	puts("refusals");
}

/* Sleeping members receive some of the owner's MADs, and the owner gets all of them. */
static void steering(struct role *owner, struct role idle[2])
{
	uint64_t before[2] = { counter(&idle[0], "rx_pkts"), counter(&idle[1], "rx_pkts") };
	static const uint8_t classes[] = { 0x03, 0x04, 0x09, 0x0f, VENDOR, 0x4f };

	for (unsigned i = 0; i < 64; i++)
		deliver(owner, owner, classes[i % sizeof(classes)]);
	for (int i = 0; i < 2; i++)
		CHECK(counter(&idle[i], "rx_pkts") > before[i]);
	puts("MADs to the owner by way of others");
}

static void no_receive(struct role *from, struct role *owner)
{
	uint64_t before = counter(owner, "rx_no_wqe"), now = before;

	for (int i = 0; i < TRIES && now == before; i++) {
		CHECK(!ASK(from, SEND, .gid = owner->last.gid, .qpn = 1, .class = VENDOR));
		for (int ms = 0; ms < 1000 && now == before; ms++, usleep(1000))
			now = counter(owner, "rx_no_wqe");
	}
	CHECK(now > before);
	deliver(from, owner, VENDOR); /* and it works on */
	puts("a MAD without a receive");
}

static void one_owner(struct role *owner, struct role *other, struct role *plain)
{
	struct order get = { .what = SPECIAL, .type = DPL_QP_GSI, .port = 1 };

	CHECK(ask(owner, get) == EBUSY && ask(other, get) == EBUSY);
	CHECK(!ASK(owner, DESTROY) && !ask(other, get) && ask(owner, get) == EBUSY);
	CHECK(other->last.qpn == 1);
	deliver(other, other, VENDOR);
	CHECK(!ASK(other, DESTROY) && !ask(owner, get));
	puts("one owner at a time");
	role_end(owner, true);
	for (int ms = 0; ms < 10000 && ask(other, get) == EBUSY; ms++)
		usleep(1000);
	CHECK(!other->last.error);
	deliver(other, other, 0x0a);
	if (plain) {
		deliver(plain, other, VENDOR);
		answer(other, plain);
	}
	puts("the owner is killed, another one has it");
}

static void on_loopback(void)
{
	struct role owner = role_start("dpl_roce_lo"), idle[2] = { role_start("dpl_roce_lo"),
								  role_start("dpl_roce_lo") };
	struct role plain = role_start("dpl_roce_lo"), iwarp = role_start("dpl_iw_lo");
	bool may;

	for (int i = 0; i < 2; i++)
		CHECK(!ASK(&idle[i], PLAIN));
	refusals(&owner);
	CHECK(ASK(&iwarp, SPECIAL, .type = DPL_QP_GSI, .port = 1) == EOPNOTSUPP);
	role_end(&iwarp, false);
	CHECK(!ASK(&owner, SPECIAL, .type = DPL_QP_GSI, .port = 1) && owner.last.qpn == 1);
	steering(&owner, idle);
	/* The key takes a privilege in a queue pair of another number. */
	CHECK(!ASK(&plain, PLAIN, .qkey = DPL_GSI_QKEY) || plain.last.error == EPERM);
	may = !plain.last.error;
	if (may) {
		deliver(&plain, &owner, VENDOR);
		answer(&owner, &plain);
		no_receive(&plain, &owner);
		puts("another queue pair and QP1");
	} else {
		no_receive(&owner, &owner);
		puts("skipped: a Q_Key for which this user has no privilege");
	}
	one_owner(&owner, &idle[0], may ? &plain : NULL);
	role_end(&plain, false);
	role_end(&idle[0], false);
	role_end(&idle[1], false);
}

/* Two ports with a QP1 each; at the second one's address another process idles. */
static void two_ports(void)
{
	struct role a, b, idle;
	struct order get = { .what = SPECIAL, .type = DPL_QP_GSI, .port = 1 };

	if (system("ip link add dplq0 type veth peer name dplq1 >/dev/null 2>&1 &&"
		   "ip link set dplq0 up && ip link set dplq1 up &&"
		   "ip address add 192.0.2.1/24 dev dplq0 && ip address add 192.0.2.2/24 dev dplq1")) {
		puts("skipped: no pair of interfaces can be made");
		return;
	}
	a = role_start("dpl_roce_dplq0");
	b = role_start("dpl_roce_dplq1");
	idle = role_start("dpl_roce_dplq1");
	CHECK(!ASK(&idle, PLAIN) && !ask(&a, get) && !ask(&b, get));
	CHECK(ask(&idle, get) == EBUSY);
	for (int i = 0; i < 32; i++) {
		deliver(&a, &b, i % 2 ? VENDOR : 0x0c);
		answer(&b, &a);
	}
	CHECK(counter(&idle, "rx_pkts") > 0);
	role_end(&a, false);
	role_end(&b, false);
	role_end(&idle, false);
	puts("two owners exchange MADs");
}

static void put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static bool netns_of_self(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	uid_t uid = getuid();
	char map[40];
	int fd;

	if (unshare(CLONE_NEWNET) < 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
			return false;
		put_file("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "0 %u 1", uid);
		put_file("/proc/self/uid_map", map);
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK(fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &r));
	close(fd);
	return true;
}

static void own_port(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t n = sizeof(sin);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char text[16];

	CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)&sin, n));
	CHECK(!getsockname(fd, (struct sockaddr *)&sin, &n));
	close(fd);
	snprintf(text, sizeof(text), "%u", ntohs(sin.sin_port));
	setenv("DAPPLE_PORT", text, 1);
}

int main(void)
{
	bool alone = netns_of_self();

	setvbuf(stdout, NULL, _IOLBF, 0);

	if (!alone)
		own_port();
	on_loopback();
	if (alone)
		two_ports();
	else
		puts("skipped: two ports, for want of network namespaces");
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hosts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/fabric/socket.h"
#include "ipoib/tun.h"
#include "netlink.h"
#include "place.h"
#include "run.h"
#include "util/list.h"
#include "util/sys.h"

#define SOCKET "hosts"
#define BRIDGE "hub"
#define IFNAME "eth0"
#define MTU 9000
#define PREFIX 15		/* of 198.18.0.0 */
#define ASK_MS 20000
#define STEP_MAX 400
#define IPOIB "dapple-ipoib"
#define IPOIB_MS 15000		/* it tells within less that it is ready */

/* A process that enters a node, and its answer. With the answer come the descriptors of user and network namespace. */
struct request {
	char node[PLACE_NAME_MAX + 2];
	uint32_t ip;
};

struct answer {
	int32_t err;		/* 0 or a negative errno */
	char step[STEP_MAX];	/* what was refused */
};

/* --- the child: namespaces --- */

struct host {
	struct ut_list node;	/* hub.hosts */
	char name[PLACE_NAME_MAX + 2];
	uint32_t ip;
	int ns;
	int life;		/* the process of its IP over InfiniBand ends with this descriptor; -1: it has none */
};

struct hub {
	int user, ns, nl, listener;
	const char *dir, *fabric;
	enum hosts_network network;
	unsigned made;
	struct ut_list hosts;
};

/* A new network namespace, in which the caller is from now on. Returns its descriptor or a negative errno. */
static int new_net(int *ret_nl)
{
	int ns;

	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (ns < 0)
		return -errno;
	*ret_nl = nl_open();
	if (*ret_nl >= 0)
		return ns;
	ut_close(ns);
	return *ret_nl;
}

static int make_bridge(struct hub *h, const char **ret_step)
{
	int r;

	*ret_step = "creating a bridge between network namespaces";
	r = nl_bridge(h->nl, BRIDGE);
	return r == 0 ? nl_link_up(h->nl, BRIDGE) : r;
}

/* dir NULL: it does not listen. */
static int make_hub(struct hub *h, const char *dir, const char **ret_step)
{
	int r;

	*ret_step = "creating a network namespace";
	h->ns = new_net(&h->nl);
	if (h->ns == -EPERM) {
		r = run_userns_enter(0, ret_step);
		if (r < 0)
			return r;
		*ret_step = "creating a network namespace inside a user namespace";
		h->ns = new_net(&h->nl);
	}
	if (h->ns < 0)
		return h->ns;
	*ret_step = "opening a user namespace";
	h->user = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	if (h->user < 0)
		return -errno;
	r = h->network != HOSTS_BRIDGE ? tun_try(ret_step) : make_bridge(h, ret_step);
	if (r < 0)
		return r;
	if (!dir)
		return 0;
	*ret_step = "listening in the directory of the fabric";
	h->listener = fsk_listen(dir, SOCKET);
	return h->listener < 0 ? h->listener : 0;
}

static int address(int nl, uint32_t ip, const char **ret_step)
{
	struct in_addr in = { htonl(ip) };
	char text[INET_ADDRSTRLEN];

	*ret_step = "setting an address";
	inet_ntop(AF_INET, &in, text, sizeof(text));
	return ip ? nl_address(nl, IFNAME, AF_INET, text, PREFIX) : 0;
}

static int join(struct hub *h, int nl, uint32_t ip, const char **ret_step)
{
	char peer[16];
	int r;

	snprintf(peer, sizeof(peer), "h%u", ++h->made);
	*ret_step = "joining a network namespace to a bridge by a veth pair";
	r = nl_veth(nl, IFNAME, peer, MTU, h->ns);
	if (r == 0)
		r = nl_port_of(h->nl, peer, BRIDGE);
	if (r < 0)
		return r;
	*ret_step = "switching an interface on";
	r = nl_link_up(h->nl, peer);
	if (r == 0)
		r = nl_link_up(nl, "lo");
	if (r == 0)
		r = nl_link_up(nl, IFNAME);
	if (r < 0)
		return r;
	*ret_step = "waiting for the carrier of a veth pair";
	r = nl_link_wait(nl, IFNAME);
	return r < 0 ? r : address(nl, ip, ret_step);
}

/* --- the child: IP over InfiniBand --- */

/* Rights inside the user namespace, for the program that is executed next. */
static void keep_rights(unsigned rights)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	int i;

	if (syscall(SYS_capget, &head, caps) < 0)
		return;
	caps[0].inheritable |= rights;
	if (syscall(SYS_capset, &head, caps) < 0)
		return;
	for (i = 0; i < 32; i++)
		if (rights & 1u << i)
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0);
}

static void exec_ipoib(const struct hub *h, const struct host *n, int life, int out)
{
	char libdir[PATH_MAX], path[PATH_MAX + sizeof(IPOIB)], place[2 * PLACE_NAME_MAX + 4], address[INET_ADDRSTRLEN + 4];
	struct in_addr in = { htonl(n->ip) };
	struct run_env env = { .preload = false };

	if (run_libdir(libdir, sizeof(libdir)))
		_exit(127);
	snprintf(path, sizeof(path), "%s/" IPOIB, libdir);
	snprintf(place, sizeof(place), "%s/%s", h->fabric, n->name);
	inet_ntop(AF_INET, &in, address, sizeof(address));
	snprintf(address + strlen(address), 4, "/%d", PREFIX);
	if (setenv("DAPPLE_FABRIC", place, 1) < 0 || setenv("DAPPLE_ADAPTER", "ib", 1) < 0 || run_env_apply(&env))
		_exit(127);
	keep_rights(1u << CAP_NET_ADMIN);
	dup2(life, 0);
	dup2(out, 1);
	execl(path, path, address, h->network == HOSTS_IPOIB_CONNECTED ? "connected" : NULL, (char *)NULL);
	_exit(127);
}

/* Waits for its line. Returns 0, or a negative errno with what it says. */
static int await_ipoib(int in, char *step)
{
	struct pollfd p = { .fd = in, .events = POLLIN };
	char line[STEP_MAX];
	ssize_t n = poll(&p, 1, IPOIB_MS) == 1 ? read(in, line, sizeof(line) - 1) : 0;

	if (n <= 0)
		return -EPIPE;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (strcmp(line, "ready") == 0)
		return 0;
	snprintf(step, STEP_MAX, "%s", line);
	return -EPROTO;
}

static int start_ipoib(const struct hub *h, struct host *n, const char **ret_step)
{
	static char said[STEP_MAX];
	int life[2] = { -1, -1 }, out[2] = { -1, -1 }, r = -EAGAIN;
	pid_t pid = -1;

	*ret_step = "starting the process of IP over InfiniBand";
	if (pipe2(life, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0)
		pid = fork();
	if (pid == 0)
		exec_ipoib(h, n, life[0], out[1]);
	ut_close(life[0]);
	ut_close(out[1]);
	snprintf(said, sizeof(said), "%s", *ret_step);
	if (pid > 0)
		r = await_ipoib(out[0], said);
	*ret_step = said;
	ut_close(out[0]);
	if (r < 0)
		ut_close(life[1]);
	else
		n->life = life[1];
	return r;
}

static int make_host(struct hub *h, struct host *n, const char **ret_step)
{
	int nl, r;

	*ret_step = "creating a network namespace";
	n->life = -1;
	n->ns = new_net(&nl);
	if (n->ns < 0)
		return n->ns;
	if (h->network == HOSTS_BRIDGE)
		r = join(h, nl, n->ip, ret_step);
	else
		r = n->ip ? start_ipoib(h, n, ret_step) : nl_link_up(nl, "lo");
	ut_close(nl);
	if (r < 0)
		ut_close(n->ns);
	return r;
}

static void drop(struct host *n)
{
	ut_list_del(&n->node);
	ut_close(n->ns);
	ut_close(n->life);
	free(n);
}

/* The host of this name; another one if the node has been made anew since, which its address tells. */
static struct host *find(struct hub *h, const struct request *q)
{
	struct host *n, *next;

	ut_list_each_safe(n, next, &h->hosts, node) {
		if (strcmp(n->name, q->node) != 0)
			continue;
		if (n->ip == q->ip)
			return n;
		drop(n);
	}
	return NULL;
}

/* Returns its descriptor or a negative errno. */
static int host_of(struct hub *h, const struct request *q, const char **ret_step)
{
	struct host *n = find(h, q);
	int r;

	if (n)
		return n->ns;
	*ret_step = "taking memory";
	n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	memcpy(n->name, q->node, sizeof(n->name));
	n->ip = q->ip;
	r = make_host(h, n, ret_step);
	if (r < 0) {
		free(n);
		return r;
	}
	ut_list_add_tail(&h->hosts, &n->node);
	return n->ns;
}

/* --- the child: requests --- */

static void reply(int fd, int err, const char *step, const int ns[2])
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} u = { 0 };
	struct answer a = { .err = err };
	struct iovec iov = { &a, sizeof(a) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	snprintf(a.step, sizeof(a.step), "%s", step);
	if (err == 0) {
		m.msg_control = u.space;
		m.msg_controllen = sizeof(u.space);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(2 * sizeof(int));
		memcpy(CMSG_DATA(c), ns, 2 * sizeof(int));
	}
	sendmsg(fd, &m, MSG_NOSIGNAL);
}

/* A process that connects sends at once; one that does not is turned away, so that it keeps no other waiting. */
static void take(struct hub *h, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const char *step = "";
	struct request q;
	int ns[2] = { h->user, -1 };

	if (poll(&p, 1, 1000) <= 0 || recv(fd, &q, sizeof(q), 0) != (ssize_t)sizeof(q) ||
	    !memchr(q.node, 0, sizeof(q.node)))
		return;
	ns[1] = host_of(h, &q, &step);
	reply(fd, ns[1] < 0 ? ns[1] : 0, step, ns);
}

static void serve(struct hub *h)
{
	struct pollfd p = { .fd = h->listener, .events = POLLIN };
	int fd;

	while (poll(&p, 1, -1) > 0 || errno == EINTR) {
		fd = fsk_accept(h->listener);
		if (fd >= 0)
			take(h, fd);
		ut_close(fd);
	}
}

/* The terminal of `up` is not held open. */
static void leave_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), i;

	for (i = 0; i < 3; i++)
		dup2(null, i);
}

static void child(struct hub *h, pid_t parent, int tell)
{
	const char *step = "";
	int r;

	signal(SIGCHLD, SIG_IGN);	/* processes of IP over InfiniBand are not waited for */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	ut_list_init(&h->hosts);
	r = make_hub(h, h->dir, &step);
	if (r < 0)
		_exit(run_userns_refused(h->network != HOSTS_BRIDGE ? "--ipoib" : "--hosts", step, r));
	leave_streams();
	if (write(tell, "", 1) == 1)
		serve(h);
	_exit(0);
}

bool hosts_can_start(void)
{
	struct hub h = { .user = -1, .ns = -1, .nl = -1, .listener = -1 };
	pid_t pid = fork();
	const char *step;
	int status;

	if (pid == 0)
		_exit(make_hub(&h, NULL, &step) < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int hosts_start(const char *dir, const char *fabric, enum hosts_network network)
{
	struct hub h = { .user = -1, .ns = -1, .nl = -1, .listener = -1, .dir = dir, .fabric = fabric, .network = network };
	pid_t parent = getpid(), pid;
	int ends[2], status;
	char done;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return run_userns_refused("--hosts", "opening a pipe", -errno);
	pid = fork();
	if (pid == 0)
		child(&h, parent, ends[1]);
	ut_close(ends[1]);
	if (pid > 0 && read(ends[0], &done, 1) == 1) {
		ut_close(ends[0]);
		return 0;
	}
	ut_close(ends[0]);
	if (pid < 0)
		return run_userns_refused("--hosts", "starting a process", -errno);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* --- entering --- */

/* Returns 0 with descriptors of user and network namespace, or a negative errno with the step that failed. */
static int ask(int fd, const struct request *q, struct answer *ret, int ret_ns[2])
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} u = { 0 };
	struct iovec iov = { ret, sizeof(*ret) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = u.space, .msg_controllen = sizeof(u.space) };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct cmsghdr *c;

	snprintf(ret->step, sizeof(ret->step), "asking the process of the namespaces");
	if (send(fd, q, sizeof(*q), MSG_NOSIGNAL) != (ssize_t)sizeof(*q))
		return -errno;
	if (poll(&p, 1, ASK_MS) != 1)
		return -ETIMEDOUT;
	if (recvmsg(fd, &m, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*ret))
		return -ECONNRESET;
	ret->step[STEP_MAX - 1] = '\0';
	c = CMSG_FIRSTHDR(&m);
	if (ret->err == 0 && c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(2 * sizeof(int))) {
		memcpy(ret_ns, CMSG_DATA(c), 2 * sizeof(int));
		return 0;
	}
	return ret->err < 0 ? ret->err : -EPROTO;
}

static bool is_own_user_ns(int user)
{
	struct stat own, other;

	return stat("/proc/self/ns/user", &own) == 0 && fstat(user, &other) == 0 && own.st_ino == other.st_ino;
}

static int enter(const int ns[2], const char *node, const char **ret_step)
{
	bool is_own = is_own_user_ns(ns[0]);

	*ret_step = "entering the user namespace of the nodes";
	if (!is_own && setns(ns[0], CLONE_NEWUSER) < 0)
		return -errno;
	*ret_step = "entering the network namespace of the node";
	if (setns(ns[1], CLONE_NEWNET) < 0)
		return -errno;
	*ret_step = "giving the node its host name";
	if (unshare(CLONE_NEWUTS) < 0 || sethostname(node, strlen(node)) < 0)
		return -errno;
	/* So that a program on a node may start one on another node (mpirun), and set addresses as on a host: the rights count
	 * inside the user namespace alone. */
	if (!is_own)
		keep_rights(1u << CAP_SYS_ADMIN | 1u << CAP_NET_ADMIN);
	return 0;
}

int hosts_enter(const char *fabric, const char *node, uint32_t ip)
{
	struct request q = { .ip = ip };
	int fd = fsk_connect(fabric, SOCKET), ns[2] = { -1, -1 }, r;
	struct answer a = { .step = "connecting to the process of the namespaces" };
	const char *step = a.step;

	snprintf(q.node, sizeof(q.node), "%s", node);
	r = fd;
	if (fd >= 0) {
		fcntl(fd, F_SETFL, 0);
		r = ask(fd, &q, &a, ns);
	}
	ut_close(fd);
	if (r == 0)
		r = enter(ns, node, &step);
	ut_close(ns[0]);
	ut_close(ns[1]);
	return r < 0 ? run_userns_refused("a network namespace of the node", step, r) : 0;
}

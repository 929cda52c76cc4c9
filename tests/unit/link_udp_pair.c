/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two links on one address: sizes, trains and their order, header fields,
 * source ports, refusals, groups, descriptors; in one process and in two.
 */
#include "link_udp_util.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

static uint16_t port;

static struct link *open_on(const uint8_t addr[16])
{
	struct link *l;

	CHECK(udp_open(port, &l) == 0);
	CHECK(l->ops->add_addr(l, addr, 0) == 0);
	CHECK(l->port == port && l->qpn_mask == 0xffff && !(l->qpn_fixed & l->qpn_mask));
	return l;
}

static void fill(uint8_t *p, size_t n, uint32_t qpn, unsigned salt)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(i * 31 + salt);
	put_bth(p, qpn);
}

/* One train of n packets of seg bytes, the last one of `last`. */
static void check_train(struct link *a, struct link *b, const uint8_t addr[16], size_t seg,
			unsigned n, size_t last)
{
	static uint8_t out[65536];
	struct ut_flow f = flow_to(addr, addr, 50123);
	size_t len = (n - 1) * seg + last;
	struct link_rx v[5];
	unsigned got = 0;

	f.tos = 0x6a;
	f.ttl = 33;
	for (unsigned i = 0; i < n; i++)
		fill(out + i * seg, i == n - 1 ? last : seg, b->qpn_fixed | 0x1234, i);
	CHECK(a->ops->source_port(a, &f) == 50123 || a->ops->source_port(a, &f) == port);
	CHECK(a->ops->send(a, &f, 0, out, len, seg) == 0);
	while (got < n) {
		int k = recv_wait(b, v, 5, 20 * UT_S);

		CHECK(k > 0);
		for (int i = 0; i < k; i++, got++) {
			CHECK(v[i].len == (got == n - 1 ? last : seg));
			CHECK(!memcmp(v[i].data, out + got * seg, v[i].len));
			CHECK(v[i].data == b->rx_stage->base + v[i].off);
			CHECK(v[i].tos == 0x6a && v[i].ttl == 33);
			CHECK(v[i].sport == a->ops->source_port(a, &f));
			CHECK(!memcmp(v[i].src, addr, 16) && !memcmp(v[i].dst, addr, 16));
			/* Loopback does not split: one receive holds the train. */
			CHECK(v[i].seg == got || a->train_packets == 1 || v[i].seg == 0);
		}
	}
	CHECK(b->ops->recv(b, v, 5) == 0);
}

static uint64_t sent_by(struct link *l)
{
	struct udp_stats st;

	udp_stats(l, &st);
	return st.calls_send;
}

/* A datagram, and a longer train behind it: in this order, and by one call where the kernel takes trains. */
static void check_after(struct link *a, struct link *b, const uint8_t addr[16], size_t seg, unsigned n)
{
	static uint8_t first[20], out[65536];
	struct iovec iov = { first, sizeof(first) };
	struct ut_flow f = flow_to(addr, addr, 50124);
	uint64_t before;
	struct link_rx v[5];
	unsigned got = 0;

	f.tos = 0x6a;
	fill(first, sizeof(first), b->qpn_fixed | 0x1234, 200);
	for (unsigned i = 0; i < n; i++)
		fill(out + i * seg, seg, b->qpn_fixed | 0x1234, i);
	a->ops->source_port(a, &f);
	before = sent_by(a);
	CHECK(a->ops->send_after(a, &iov, &f, 0, out, n * seg, seg) == 0);
	CHECK(sent_by(a) == before + (a->train_packets == 1 && n > 1 ? 1 + n : 1));
	while (got < 1 + n) {
		int k = recv_wait(b, v, 5, 20 * UT_S);

		CHECK(k > 0);
		for (int i = 0; i < k; i++, got++) {
			CHECK(v[i].len == (got ? seg : sizeof(first)));
			CHECK(!memcmp(v[i].data, got ? out + (got - 1) * seg : first, v[i].len));
			CHECK(v[i].tos == 0x6a && v[i].sport == a->ops->source_port(a, &f));
		}
	}
	CHECK(b->ops->recv(b, v, 5) == 0);
	CHECK(a->ops->send_after(a, &iov, &f, 0, out, 65508, 65508) == -EINVAL);
	CHECK(recv_wait(b, v, 5, 20 * UT_S) == 1 && v[0].len == sizeof(first)); /* a fault of the train alone */
	f.src[12] = 77;
	CHECK(a->ops->send_after(a, &iov, &f, 0, out, seg, seg) < 0);
}

static void test_sizes(const uint8_t addr[16])
{
	struct link *a = open_on(addr), *b = open_on(addr);
	unsigned most = a->train_packets;
	static uint8_t big[65537];
	struct ut_flow f = flow_to(addr, addr, 0);

	CHECK(a->qpn_fixed != b->qpn_fixed);
	CHECK(b->rx_window >= 65536);
	check_train(a, b, addr, 8, 1, 8);
	check_train(a, b, addr, 1058, 1, 1058);
	check_train(a, b, addr, 65488, 1, 65488); /* fits the MTU of lo over IPv6 */
	if (most > 1) {
		check_train(a, b, addr, 1058, most < 61 ? most : 61, 1058);
		check_train(a, b, addr, 4144, 15, 1000);
		check_train(a, b, addr, 100, most, 8);
	}
	for (int i = 0; i < 300; i++)
		check_train(a, b, addr, 64, 1 + (unsigned)i % (most < 8 ? most : 8), 9);
	check_after(a, b, addr, 24, 1);
	check_after(a, b, addr, 512, most < 8 ? most : 8);
	CHECK(a->ops->send(a, &f, 0, big, 65508, 65508) == -EINVAL);
	CHECK(a->ops->send(a, &f, 0, big, 65 * 8, 8) == -EINVAL);
	f.src[12] = 77;
	CHECK(a->ops->send(a, &f, 0, big, 8, 8) < 0);
	a->ops->close(a);
	b->ops->close(b);
}

/* The peer echoes from another process until it is told to stop. */
static void test_processes(const uint8_t addr[16])
{
	struct link *a = open_on(addr);
	struct link_rx v[8];
	struct udp_stats st;
	uint8_t p[64];
	int status, sync[2];
	uint32_t peer;
	pid_t pid;

	CHECK(pipe(sync) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		struct link *b;
		uint32_t back = a->qpn_fixed | 7;

		/* As the engine's fork handler does: nothing of the parent is used. */
		close(a->ops->fd(a));
		b = open_on(addr);
		CHECK(write(sync[1], &b->qpn_fixed, 4) == 4);
		for (;;) {
			int n = recv_wait(b, v, 8, 30 * UT_S);

			CHECK(n > 0);
			for (int i = 0; i < n; i++) {
				struct ut_flow f = flow_to(addr, v[i].src, v[i].sport);

				memcpy(p, v[i].data, 64);
				put_bth(p, back);
				if (v[i].data[8] == 'q') {
					b->ops->close(b);
					_exit(0);
				}
				CHECK(b->ops->send(b, &f, 0, p, 64, 64) == 0);
			}
		}
	}
	/* The joiner's probes need us, as in life the progress thread. */
	for (struct pollfd w = { sync[0], POLLIN, 0 }; poll(&w, 1, 1) == 0;)
		a->ops->recv(a, v, 8);
	CHECK(read(sync[0], &peer, 4) == 4 && peer != a->qpn_fixed);
	for (int i = 0; i < 2000; i++) {
		struct ut_flow f = flow_to(addr, addr, 50000);
		int n;

		fill(p, 64, peer | 9, (unsigned)i);
		p[8] = 0;
		p[9] = (uint8_t)i;
		CHECK(a->ops->send(a, &f, 0, p, 64, 64) == 0);
		n = recv_wait(a, v, 8, 30 * UT_S);
		CHECK(n == 1 && v[0].len == 64 && v[0].data[9] == (uint8_t)i);
	}
	udp_stats(a, &st);
	CHECK(st.dropped == 0);
	put_bth(p, peer | 9);
	p[8] = 'q';
	CHECK(a->ops->send(a, &(struct ut_flow){ 0 }, 0, p, 64, 64) == -EADDRNOTAVAIL);
	for (struct ut_flow f = flow_to(addr, addr, 0);;) {
		CHECK(a->ops->send(a, &f, 0, p, 64, 64) == 0);
		break;
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	a->ops->close(a);
	close(sync[0]);
	close(sync[1]);
}

/* A source port outside the range that adapters use (0xc000 and up): reports go
 * to any socket that shares the port, another process's among them. */
static uint16_t quiet_sport(void)
{
	return (uint16_t)(20000 + getpid() % 12000);
}

/* No socket at the other address: the report names it, sending goes on. */
static void test_refused(void)
{
	const uint16_t sports[2] = { 0, quiet_sport() };
	static const uint8_t other[16] = { [10] = 0xff, 0xff, 127, 0, 0, 77 };
	struct link *a = open_on(LO4);
	uint64_t end = ut_now() + 20 * UT_S;
	struct link_err e = { .error = 0 };
	struct link_rx v[4];
	uint8_t p[64];

	fill(p, 64, 0x123456, 0);
	for (int k = 0; k < 2; k++) {
		uint16_t sport = sports[k];
		struct ut_flow f = flow_to(LO4, other, sport);
		struct pollfd w = { a->ops->fd(a), POLLIN, 0 };

		CHECK(a->ops->send(a, &f, 0, p, 64, 64) == 0);
		CHECK(poll(&w, 1, 20000) == 1);
		while (!a->ops->error(a, &e) && ut_now() < end)
			a->ops->recv(a, v, 4);
		CHECK(e.error == ECONNREFUSED && !memcmp(e.dst, other, 16));
		/* The report on the socket is no failure of a send to elsewhere. */
		for (int i = 0; i < 20; i++) {
			struct ut_flow self = flow_to(LO4, LO4, sport);

			CHECK(a->ops->send(a, &f, 0, p, 64, 64) == 0);
			CHECK(a->ops->send(a, &self, 0, p, 64, 64) == 0);
		}
		while (ut_now() < end && poll(&w, 1, 0) == 1)
			if (!a->ops->recv(a, v, 4))
				a->ops->error(a, &e);
		CHECK(ut_now() < end);
	}
	a->ops->close(a);
}

static void test_group(const uint8_t addr[16], const uint8_t group[16], const char *ifname)
{
	struct link *a = open_on(addr), *b = open_on(addr);
	struct ut_flow f = flow_to(addr, group, 50002);
	uint32_t lo = if_nametoindex(ifname);
	struct link_rx v[4];
	uint8_t p[64];

	f.scope = lo;
	f.ttl = 9;
	fill(p, 64, 0xffffff, 3);
	CHECK(a->ops->join(a, addr, lo) == -EINVAL);
	CHECK(a->ops->join(a, group, lo) == 0 && b->ops->join(b, group, lo) == 0);
	CHECK(a->ops->send(a, &f, 0, p, 64, 64) == 0);
	for (int i = 0; i < 2; i++) {
		struct link *l = i ? a : b;

		CHECK(recv_wait(l, v, 4, 20 * UT_S) == 1);
		CHECK(v[0].len == 64 && !memcmp(v[0].data, p, 64) && v[0].ttl == 9);
		CHECK(!memcmp(v[0].dst, group, 16) && !memcmp(v[0].src, addr, 16));
	}
	b->ops->leave(b, group, lo);
	CHECK(a->ops->send(a, &f, 0, p, 64, 64) == 0);
	CHECK(recv_wait(a, v, 4, 20 * UT_S) == 1);
	CHECK(b->ops->recv(b, v, 4) == 0);
	a->ops->close(a);
	b->ops->close(b);
}

/* lo takes no IPv6 groups: an interface in a namespace of ours does. */
static void test_group6(const uint8_t group[16])
{
	uint8_t addr[16];
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET) < 0 ||
		    system("ip link set lo up && ip link add v0 type veth peer name v1 && "
			   "ip link set v0 up && ip link set v1 up && "
			   "ip -6 addr add fd00:77::1/64 dev v0 nodad") ||
		    inet_pton(AF_INET6, "fd00:77::1", addr) != 1)
			_exit(77);
		test_group(addr, group, "v0");
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		fprintf(stderr, "no namespace to be had: IPv6 groups were not tested\n");
	else
		CHECK(WEXITSTATUS(status) == 0);
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int open_all(struct link **ret)
{
	int r = udp_open(port, ret);

	if (r < 0)
		return r;
	r = (*ret)->ops->add_addr(*ret, LO4, 0);
	if (r < 0)
		(*ret)->ops->close(*ret);
	return r;
}

/* With every number of free descriptors: an answer and nothing left open. */
static void test_fd_limit(void)
{
	int before = count_fds(), r = -1, fails = 0, top = 0;
	bool inherited[256];
	struct rlimit old, lim;
	struct link *l;

	for (int fd = 0; fd < 256; fd++) {
		inherited[fd] = fcntl(fd, F_GETFD) >= 0;
		top = inherited[fd] ? fd + 1 : top;
	}
	CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
	for (int spare = 0; spare < top + 32 && r != 0; spare++) {
		lim = old;
		lim.rlim_cur = (rlim_t)(3 + spare);
		CHECK(setrlimit(RLIMIT_NOFILE, &lim) == 0);
		r = open_all(&l);
		CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
		CHECK(r == 0 || r == -EMFILE);
		fails += r < 0;
		if (r < 0)
			CHECK(count_fds() == before);
	}
	CHECK(r == 0 && fails >= 4 && before <= top);
	CHECK(count_fds() > before);
	for (int fd = 0; fd < 256; fd++)
		CHECK(inherited[fd] || fcntl(fd, F_GETFD) < 0 || (fcntl(fd, F_GETFD) & FD_CLOEXEC));
	l->ops->close(l);
	CHECK(count_fds() == before);
}

int main(void)
{
	static const uint8_t g4[16] = { [10] = 0xff, 0xff, 239, 1, 2, 3 };
	static const uint8_t g6[16] = { 0xff, 0x01, [14] = 0x12, 0x34 };

	port = free_port();
	test_fd_limit();
	test_sizes(LO4);
	test_processes(LO4);
	test_refused();
	test_group(LO4, g4, "lo");
	if (!have_ipv6()) {
		fprintf(stderr, "no IPv6 here: only IPv4 was tested\n");
		return 0;
	}
	test_sizes(LO6);
	test_processes(LO6);
	test_group6(g6);
	return 0;
}

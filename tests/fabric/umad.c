/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libibumad's calls on ports of a fabric: agents and their methods, MADs between processes, answers for classes
 * without an agent, time-outs and retries, RMPP in both directions and left alone, buffers that are too small,
 * poll(2), the issm file, and the end of nodes and fabrics.
 */
#include <infiniband/umad.h>

#include "fabworld.h"
#include "support/cases.h"
#include "support/check.h"
#include "util/clock.h"

#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAD = 256, GET = 1, SEND = 3, GET_TABLE = 0x12, R = 0x80, SA = 3, PING = 0x32, QKEY = (int)0x80010000u };

static struct fabworld w;

static int open_node(unsigned n)
{
	int fd;

	fabworld_be(n);
	fd = umad_open_port(NULL, 0);
	CHECK_MSG(fd >= 0, "%d", fd);
	return fd;
}

static void mask(long m[2], int method)
{
	m[0] = m[1] = 0;
	if (method)
		m[method / 64] |= 1l << method % 64;
}

static int agent(int fd, int mgmt_class, int version, int rmpp, int method)
{
	long m[2];
	int id;

	mask(m, method);
	id = umad_register(fd, mgmt_class, version, (uint8_t)rmpp, m);
	CHECK_MSG(id >= 0, "%d", id);
	return id;
}

static void *make(int mgmt_class, int version, int method, uint64_t tid, size_t length)
{
	void *u = calloc(1, umad_size() + length);
	uint8_t *m = umad_get_mad(u);

	CHECK(u);
	m[0] = 1;
	m[1] = (uint8_t)mgmt_class;
	m[2] = (uint8_t)version;
	m[3] = (uint8_t)method;
	tid = htobe64(tid);
	memcpy(m + 8, &tid, sizeof(tid));
	if (mgmt_class == PING) {
		m[38] = 0x14;
		m[39] = 0x05;
	}
	return u;
}

static uint64_t tid_of(const void *u)
{
	uint64_t t;

	memcpy(&t, (const uint8_t *)u + umad_size() + 8, sizeof(t));
	return be64toh(t);
}

static unsigned status_of(void *u)
{
	const uint8_t *m = umad_get_mad(u);

	return (unsigned)m[4] << 8 | m[5];
}

static void to_node(void *u, int lid, int qpn)
{
	umad_set_addr(u, lid, qpn, 0, qpn ? QKEY : 0);
}

static void ask(int fd, int id, int lid, int mgmt_class, int version, int method, uint64_t tid, int timeout, int retries)
{
	void *u = make(mgmt_class, version, method, tid, MAD);

	to_node(u, lid, mgmt_class == 1 || mgmt_class == 0x81 ? 0 : 1);
	CHECK_MSG(!umad_send(fd, id, u, MAD, timeout, retries), "errno %d", errno);
	free(u);
}

/* --- cases --- */

static void opening(void)
{
	char names[4][UMAD_CA_NAME_LEN], path[256];
	umad_ca_t ca;
	umad_port_t port;
	__be64 guids[4];
	int fd, again;

	fabworld_be(3);
	CHECK(umad_get_cas_names(names, 4) >= 1 && !strcmp(names[0], "dpl_ib0"));
	CHECK(!umad_get_ca(NULL, &ca) && ca.numports == 1 && ca.ports[1] && !ca.ports[0] && ca.node_type == 1);
	CHECK(be64toh(ca.node_guid) == 0x1000 + 16 * 3);
	CHECK(ca.ports[1]->base_lid == 4 && ca.ports[1]->sm_lid == 1 && ca.ports[1]->state == 4);
	CHECK(ca.ports[1]->phys_state == 5 && !strcmp(ca.ports[1]->link_layer, "InfiniBand"));
	CHECK(be64toh(ca.ports[1]->port_guid) == 0x1031 && ca.ports[1]->rate >= 10);
	CHECK(be64toh(ca.ports[1]->gid_prefix) == 0xfe80000000000000ull);
	CHECK(ca.ports[1]->pkeys_size >= 1 && ca.ports[1]->pkeys[0] == 0xffff);
	CHECK(!umad_release_ca(&ca));
	CHECK(umad_get_ca_portguids(NULL, guids, 4) == 2 && be64toh(guids[1]) == 0x1031);
	CHECK(umad_get_ca_portguids(NULL, guids, 1) == -ENOMEM);
	CHECK(!umad_get_port("dpl_ib0", 0, &port) && port.portnum == 1 && !umad_release_port(&port));
	CHECK(umad_get_port("dpl_ib0", 2, &port) == -EINVAL && umad_get_port("none", 1, &port) == -ENODEV);
	CHECK(umad_open_port("dpl_ib0", 2) == -EINVAL && umad_open_port("none", 1) == -ENODEV);
	fd = open_node(3);
	again = open_node(3);
	CHECK(fd != again && umad_get_fd(fd) == fd);
	CHECK(!umad_close_port(fd) && umad_close_port(fd) < 0 && umad_poll(fd, 0) < 0);
	/* Some programs close the number. */
	close(again);
	CHECK(open_node(3) >= 0);
	CHECK(umad_get_issm_path(NULL, 0, path, 10) == -ENAMETOOLONG);
	setenv("DAPPLE_FABRIC", "test/nobody", 1);
	CHECK(umad_open_port("dpl_ib0", 1) == -ENODEV);
	setenv("DAPPLE_FABRIC", "other/node1", 1);
	CHECK(umad_open_port("dpl_ib0", 1) == -ENODEV);
	setenv("DAPPLE_FABRIC", "/", 1);
	CHECK(umad_open_port("dpl_ib0", 1) == -ENODEV);
}

static void agents(void)
{
	struct umad_reg_attr attr = { .mgmt_class = PING, .mgmt_class_version = 1, .oui = 0x123456 };
	int fd = open_node(0), other = open_node(0), far = open_node(1), first;
	uint8_t oui[3] = { 0x00, 0x14, 0x05 };
	uint32_t id;
	long m[2];

	first = agent(fd, PING, 1, 0, GET);
	CHECK(first == 0 && agent(fd, SA, 2, 1, 0) == 1);
	mask(m, GET);
	CHECK(umad_register(other, PING, 1, 0, m) == -EPERM && umad_register_oui(other, PING, 0, oui, m) == -EPERM);
	CHECK(umad_register_oui(other, SA, 0, oui, m) == -EINVAL);
	CHECK(umad_register(far, PING, 1, 0, m) == 0);
	CHECK(umad_register(fd, 4, 1, 1, m) == -EPERM); /* no RMPP in this class */
	attr.method_mask[0] = (uint64_t)m[0];
	CHECK(!umad_register2(other, &attr, &id) && id == 0);
	CHECK(umad_register2(other, &attr, &id) == EINVAL);
	attr.flags = 6;
	CHECK(umad_register2(other, &attr, &id) == EINVAL && attr.flags == 1);
	/* The number is the lowest that is free, and the method too. */
	CHECK(!umad_unregister(fd, first) && umad_unregister(fd, first) < 0 && umad_unregister(fd, 99) < 0);
	CHECK(umad_register(other, PING, 1, 0, m) == 1);
	CHECK(agent(fd, 4, 1, 0, 0) == 0);
	for (int i = 2; i < 32; i++)
		CHECK(agent(fd, 4, 1, 0, 0) == i);
	CHECK(umad_register(fd, 4, 1, 0, NULL) == -EPERM && errno == ENOMEM);
	/* Its agents go with it. */
	CHECK(!umad_close_port(other) && !umad_unregister(fd, 5) && umad_register(fd, PING, 1, 0, m) == 5);
	umad_close_port(fd);
	umad_close_port(far);
}

/* Set aside in each case: receives one MAD of at most `room` bytes. */
static int receive(int fd, void *u, int room, int timeout)
{
	int length = room, id = umad_recv(fd, u, &length, timeout);

	CHECK_MSG(id >= 0, "%d, errno %d", id, errno);
	return length;
}

static void exchange(void)
{
	int server = open_node(0), client = open_node(1), s = agent(server, PING, 1, 0, GET), c = agent(client, PING, 1, 0, 0);
	void *u = make(PING, 1, GET, 0, MAD);
	ib_mad_addr_t *a = umad_get_mad_addr(u);
	uint8_t *m = umad_get_mad(u);
	uint64_t tid;

	ask(client, c, 1, PING, 1, GET, 0xdeadbeef00000007ull, 1000, 3);
	CHECK(receive(server, u, MAD, -1) == MAD && ((struct ib_user_mad *)u)->agent_id == (uint32_t)s);
	CHECK(be16toh(a->lid) == 2 && be32toh(a->qpn) == 1 && !a->grh_present && !umad_status(u));
	tid = tid_of(u);
	CHECK((uint32_t)tid == 7 && tid >> 32 && tid >> 32 != 0xdeadbeef);
	m[3] = GET | R;
	m[100] = 77;
	a->qkey = htobe32(QKEY); /* a received MAD has none, as in the kernel */
	CHECK(!umad_send(server, s, u, MAD, 0, 0));
	memset(u, 0, umad_size() + MAD);
	CHECK(receive(client, u, MAD, 1000) == MAD && tid_of(u) == tid && m[100] == 77 && be16toh(a->lid) == 1);
	/* Its duplicate finds no request. */
	CHECK(umad_poll(client, 0) == -ETIMEDOUT);
	/* Get of a class without an agent: an answer, at once; other methods: none. */
	ask(client, c, 1, 6, 1, GET, 8, 20000, 0);
	receive(client, u, MAD, 20000);
	CHECK(status_of(u) == 0x000c && m[3] == (GET | R) && (uint32_t)tid_of(u) == 8 && !umad_status(u));
	ask(client, c, 1, 6, 1, SEND, 9, 0, 0);
	ask(client, c, 1, 6, 1, GET, 10, 20000, 0); /* behind it */
	receive(client, u, MAD, 20000);
	CHECK((uint32_t)tid_of(u) == 10 && fabworld_ask(&w, FABWORLD_DROPPED, 0) == 1);
	/* The SMA answers by LID and by directed route. */
	umad_close_port(client);
	client = open_node(1);
	c = agent(client, 1, 1, 0, 0);
	ask(client, c, 1, 1, 1, GET, 11, 1000, 3);
	receive(client, u, MAD, 20000);
	free(u);
	umad_close_port(server);
	umad_close_port(client);
}

static void refusals(void)
{
	int fd = open_node(0), id = agent(fd, PING, 1, 0, 0), length = MAD;
	void *u = make(PING, 1, GET, 5, 2000);

	to_node(u, 60, 1);
	CHECK(umad_send(fd, 9, u, MAD, 10, 0) == -EIO && errno == EINVAL);
	CHECK(umad_send(fd, id, u, 1000, 10, 0) == -EIO && errno == EINVAL);
	CHECK(umad_send(fd, id, u, 20, 10, 0) == -EIO && errno == EINVAL);
	CHECK(!umad_send(fd, id, u, MAD, 60000, 0));
	CHECK(umad_send(fd, id, u, MAD, 60000, 0) == -EIO && errno == EINVAL); /* the same transaction ID */
	CHECK(umad_recv(fd, NULL, &length, 0) == -EINVAL && umad_recv(fd, u, &length, 0) == -EWOULDBLOCK);
	CHECK(umad_recv(fd, u, &length, 20) == -ETIMEDOUT && umad_poll(fd, 20) == -ETIMEDOUT);
	CHECK(umad_send(-1, 0, u, MAD, 0, 0) < 0 && umad_send(12345, 0, u, MAD, 0, 0) < 0);
	free(u);
	umad_close_port(fd);
}

static void timeouts(void)
{
	int fd = open_node(0), id = agent(fd, PING, 1, 0, 0), length = MAD;
	void *u = make(PING, 1, GET, 0, MAD);
	uint64_t sent = fabworld_ask(&w, FABWORLD_SENT, 0), t = ut_now();
	struct pollfd p = { .fd = fd, .events = POLLIN };

	ask(fd, id, 60, PING, 1, GET, 21, 30, 3);
	CHECK(umad_recv(fd, u, &length, 20000) == id);
	CHECK(umad_status(u) == ETIMEDOUT && length == 24 && (uint32_t)tid_of(u) == 21);
	CHECK(ut_now() - t >= 4 * 30 * UT_MS && fabworld_ask(&w, FABWORLD_SENT, 0) - sent == 4);
	/* A program that polls the descriptor is woken for each step, and finds the end. */
	ask(fd, id, 60, PING, 1, GET, 22, 30, 1);
	do {
		length = MAD;
		CHECK(poll(&p, 1, 20000) == 1);
	} while (umad_recv(fd, u, &length, 0) < 0);
	CHECK(umad_status(u) == ETIMEDOUT && (uint32_t)tid_of(u) == 22);
	CHECK(poll(&p, 1, 0) == 0);
	/* The same transaction ID again, now that it is free. */
	ask(fd, id, 1, PING, 1, GET, 22, 30000, 0);
	receive(fd, u, MAD, 20000);
	CHECK(!umad_status(u) && status_of(u) == 0x000c);
	free(u);
	umad_close_port(fd);
}

/* A client process that asks for a table and judges it. */
static void table_client(unsigned n, size_t want)
{
	int fd = open_node(n), id = agent(fd, SA, 2, 1, 0), length = MAD, r;
	void *u = make(SA, 2, GET_TABLE, 31, MAD);
	uint8_t *m;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	to_node(u, 1, 1);
	CHECK(!umad_send(fd, id, u, MAD, 60000, 0));
	while ((r = umad_recv(fd, u, &length, -1)) == -EWOULDBLOCK)
		;
	/* The head of a long message, its length, and it stays. */
	CHECK_MSG(r == -ENOSPC && errno == ENOSPC && length == (int)want, "%d length %d", r, length);
	CHECK(poll(&p, 1, 0) == 1 && !umad_poll(fd, 0));
	u = realloc(u, umad_size() + want);
	CHECK(umad_recv(fd, u, &length, 0) == id && length == (int)want);
	m = umad_get_mad(u);
	CHECK(m[3] == (GET_TABLE | R));
	for (size_t i = 56; i < want; i++)
		CHECK(m[i] == (uint8_t)(i * 7 + i / 251));
	CHECK(poll(&p, 1, 0) == 0);
	free(u);
	umad_close_port(fd);
}

static void answer_table(int fd, int id, void *request, size_t length)
{
	void *u = make(SA, 2, GET_TABLE | R, 0, length);
	uint8_t *m = umad_get_mad(u);

	memcpy(u, request, umad_size());
	umad_get_mad_addr(u)->qkey = htobe32(QKEY);
	memcpy(m + 8, (uint8_t *)umad_get_mad(request) + 8, 8);
	m[24] = 1;
	m[25] = 1;
	m[26] = 1; /* ACTIVE */
	for (size_t i = 56; i < length; i++)
		m[i] = (uint8_t)(i * 7 + i / 251);
	CHECK(!umad_send(fd, id, u, (int)length, 0, 3));
	free(u);
}

static void tables(void)
{
	static const size_t lengths[] = { 57 + 200, 56 + 200 * 64, 56 + 200 * 66 + 1, 56 + 1024 * 112, 3000000 };
	enum { CLIENTS = 3 };

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		int fd = open_node(0), id = agent(fd, SA, 2, 1, GET_TABLE), status, length = MAD;
		void *u = make(SA, 2, 0, 0, MAD);
		pid_t child[CLIENTS];

		for (unsigned n = 0; n < CLIENTS; n++) {
			child[n] = fork();
			if (!child[n]) {
				table_client(1 + n, lengths[i]);
				_exit(0);
			}
		}
		for (unsigned n = 0; n < CLIENTS; n++) {
			receive(fd, u, MAD, -1);
			answer_table(fd, id, u, lengths[i]);
		}
		/* The library sends as this process receives. */
		for (unsigned left = CLIENTS; left;) {
			CHECK(umad_recv(fd, u, &length, 20) == -ETIMEDOUT);
			for (unsigned n = 0; n < CLIENTS; n++)
				if (child[n] && waitpid(child[n], &status, WNOHANG) == child[n]) {
					CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
					child[n] = 0;
					left--;
				}
		}
		free(u);
		umad_close_port(fd);
	}
}

/* With rmpp_version 0, and with user RMPP, segments come one by one. */
static void left_alone(void)
{
	struct umad_reg_attr attr = { .flags = 1, .mgmt_class = SA, .mgmt_class_version = 2, .rmpp_version = 1 };
	int server = open_node(0), s = agent(server, SA, 2, 1, GET_TABLE), client = open_node(1);
	void *u = make(SA, 2, 0, 0, MAD);
	uint8_t *m = umad_get_mad(u);
	uint32_t id;

	id = (uint32_t)agent(client, SA, 2, 0, 0);
	ask(client, (int)id, 1, SA, 2, GET_TABLE, 41, 60000, 0);
	receive(server, u, MAD, -1);
	answer_table(server, s, u, 56 + 5000);
	CHECK(receive(client, u, MAD, -1) == MAD && m[31] == 1 && (m[26] & 3) == 3);
	CHECK(!umad_register2(client, &attr, &id));
	ask(client, (int)id, 1, SA, 2, GET_TABLE, 42, 60000, 0);
	receive(server, u, MAD, -1);
	answer_table(server, s, u, 56 + 5000);
	CHECK(receive(client, u, MAD, -1) == MAD && m[31] == 1);
	/* The ACK is the program's: the next segments come. */
	umad_get_mad_addr(u)->qkey = htobe32(QKEY);
	m[3] = GET_TABLE;
	m[25] = 2;
	m[26] = 1;
	m[35] = 3;
	CHECK(!umad_send(client, (int)id, u, MAD, 0, 0));
	CHECK(umad_poll(server, 0) == -ETIMEDOUT || true);
	for (int n = 2; n <= 3; n++) {
		while (umad_poll(client, 10))
			umad_poll(server, 10);
		CHECK(receive(client, u, MAD, 0) == MAD && m[31] == n);
	}
	free(u);
	umad_close_port(server);
	umad_close_port(client);
}

static void wait_sm(unsigned n, bool on)
{
	for (uint64_t until = ut_now() + 20 * UT_S; (fabworld_ask(&w, FABWORLD_IS_SM, n) == 3) != on;)
		CHECK(ut_now() < until);
}

static void issm(void)
{
	char path[256], again[256];
	int fd, status;
	pid_t child;

	fabworld_be(2);
	CHECK(!umad_get_issm_path("dpl_ib0", 1, path, sizeof(path)) && !umad_get_issm_path(NULL, 0, again, sizeof(again)));
	CHECK(!strcmp(path, again));
	for (int i = 0; i < 3; i++) {
		fd = open(path, O_NONBLOCK | O_CLOEXEC);
		CHECK(fd >= 0);
		wait_sm(2, true);
		CHECK(open(path, O_NONBLOCK | O_CLOEXEC) < 0 && errno == ENXIO);
		close(fd);
		wait_sm(2, false);
	}
	/* However the process ends. */
	child = fork();
	if (!child) {
		fd = open(path, O_NONBLOCK);
		pause();
		_exit(fd);
	}
	wait_sm(2, true);
	kill(child, SIGKILL);
	CHECK(waitpid(child, &status, 0) == child);
	wait_sm(2, false);
	CHECK(fabworld_ask(&w, FABWORLD_IS_SM, 1) == 0);
}

/* A process that has stopped, or reads nothing, harms no other one. */
static void slow_reader(void)
{
	int idle = open_node(0), s = agent(idle, PING, 1, 0, SEND), client = open_node(1), c = agent(client, PING, 1, 0, 0);
	void *u = make(PING, 1, GET, 0, MAD);

	for (unsigned i = 0; i < 5000; i++)
		ask(client, c, 1, PING, 1, SEND, 100 + i, 0, 0);
	ask(client, c, 1, 6, 1, GET, 1, 60000, 0);
	receive(client, u, MAD, 20000);
	CHECK(status_of(u) == 0x000c && fabworld_ask(&w, FABWORLD_DROPPED, 0) > 100);
	CHECK(receive(idle, u, MAD, 0) == MAD && ((struct ib_user_mad *)u)->agent_id == (uint32_t)s);
	free(u);
	umad_close_port(idle);
	umad_close_port(client);
}

static void many(void)
{
	enum { FILES = 400 };
	static int fd[FILES];

	for (int i = 0; i < FILES; i++) {
		fd[i] = open_node((unsigned)i % 8);
		agent(fd[i], PING, 1, 0, i < 8 ? GET : 0);
	}
	for (int i = 0; i < FILES; i++) {
		void *u = make(PING, 1, 0, 0, MAD);

		ask(fd[i], 0, 60, PING, 1, GET, 1, 30000, 0);
		ask(fd[i], 0, 1, 6, 1, GET, 2, 30000, 0);
		receive(fd[i], u, MAD, 20000);
		CHECK((uint32_t)tid_of(u) == 2);
		free(u);
	}
	for (int i = 0; i < FILES; i++)
		CHECK(!umad_close_port(fd[i]));
}

static void *wait_end(void *arg)
{
	void *u = make(PING, 1, 0, 0, MAD);
	int length = MAD, fd = *(int *)arg;

	CHECK(umad_recv(fd, u, &length, -1) == -EIO);
	free(u);
	return NULL;
}

static void ends(void)
{
	int gone = open_node(5), fd = open_node(6), length = MAD, id = agent(fd, PING, 1, 0, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	void *u = make(PING, 1, GET, 1, MAD);
	pthread_t t;

	fabworld_ask(&w, FABWORLD_REMOVE, 5);
	CHECK(umad_recv(gone, u, &length, 20000) == -EIO && umad_poll(gone, 0) == -EIO);
	CHECK(umad_register(gone, PING, 1, 0, NULL) == -EPERM);
	CHECK(!pthread_create(&t, NULL, wait_end, &fd));
	fabworld_kill(&w);
	CHECK(!pthread_join(t, NULL));
	CHECK(poll(&p, 1, 20000) == 1 && umad_recv(fd, u, &length, 0) == -EIO);
	to_node(u, 1, 1);
	CHECK(umad_send(fd, id, u, MAD, 100, 0) == -EIO && umad_poll(fd, -1) == -EIO);
	CHECK(!umad_close_port(fd) && !umad_close_port(gone));
	fabworld_be(6);
	CHECK(umad_open_port("dpl_ib0", 1) == -ENODEV);
	free(u);
}

static const struct test_case cases[] = {
	{ "-", "ports and their values", opening },
	{ "-", "agents", agents },
	{ "-", "MADs between processes", exchange },
	{ "-", "refusals", refusals },
	{ "-", "time-outs and retries", timeouts },
	{ "-", "tables by RMPP", tables },
	{ "-", "RMPP left alone", left_alone },
	{ "-", "issm", issm },
	{ "-", "a process that does not read", slow_reader },
	{ "-", "many open ports", many },
	{ "-", "ends of node and fabric", ends },
};

int main(int argc, char **argv)
{
	int r;

	fabworld_start(&w, 8);
	r = RUN_CASES(cases, argc, argv);
	fabworld_stop(&w);
	return r;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peers that vanish without a trace: an idle connection learns that its peer's host is dead, or that
 * its own address is gone, and a process that is stopped on a live host keeps it. Each end has a
 * network namespace:
 *
 *      +-- namespace -----+      +-- namespace of the peer --+
 *      |  cfv0  .1, ::1   |------|  cfv1  .2, ::2            |
 *      +------------------+      +---------------------------+
 *
 * The peer's host dies when its process is stopped and its addresses are taken away: the cable stays in
 * place, and nothing answers. It is slow when what it sends is thrown away for a while, and then no longer.
 */
#include "cm.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOW_MS 3500    /* acknowledges nothing: less than a dead host needs, for TCP */
#define STOPPED_MS 8000 /* longer than a dead host takes to be noticed here */

static struct host {
	pid_t pid;
	int fd;
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;
} peer, self;

static struct sockaddr_storage at(int family, int host, uint16_t port)
{
	struct sockaddr_storage s = { .ss_family = (sa_family_t)family };
	struct sockaddr_in *v4 = (void *)&s;
	struct sockaddr_in6 *v6 = (void *)&s;
	char text[40];

	if (family == AF_INET) {
		v4->sin_port = htons(port);
		snprintf(text, sizeof(text), "198.51.100.%d", host);
		inet_pton(AF_INET, text, &v4->sin_addr);
	} else {
		v6->sin6_port = htons(port);
		snprintf(text, sizeof(text), "2001:db8::%d", host);
		inet_pton(AF_INET6, text, &v6->sin6_addr);
	}
	return s;
}

static void bring_up(int host)
{
	char line[120];

	snprintf(line, sizeof(line), "address add 198.51.100.%d/24 dev cfv%d", host, host - 1);
	CF_OK(cf_ip(line));
	snprintf(line, sizeof(line), "address add 2001:db8::%d/64 dev cfv%d nodad", host, host - 1);
	CF_OK(cf_ip(line));
	snprintf(line, sizeof(line), "link set cfv%d up", host - 1);
	CF_OK(cf_ip(line));
}

/* Neighbours are verified within seconds, not within a minute. */
static void hasten(void)
{
	static const char *const names[] = { "base_reachable_time_ms", "delay_first_probe_time", "retrans_time_ms" };
	static const char *const values[] = { "1000", "1", "200" };

	for (int i = 0; i < 6; i++) {
		char path[100];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/sys/net/ipv%d/neigh/cfv0/%s", i < 3 ? 4 : 6, names[i % 3]);
		f = fopen(path, "we");
		if (!f || fputs(values[i % 3], f) < 0 || fclose(f))
			cf_skip("cannot write %s", path);
	}
}

static struct rdma_conn_param param(void)
{
	return (struct rdma_conn_param){ .responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
					 .rnr_retry_count = 7 };
}

static void await(int fd)
{
	char c;

	CF_EQ(read(fd, &c, 1), 1);
}

static void tell(int fd)
{
	CF_EQ(write(fd, "", 1), 1);
}

static void be_peer(int fd, int family)
{
	struct rdma_event_channel *ch;
	struct rdma_conn_param p = param();
	struct sockaddr_storage here = at(family, 2, 0);
	struct rdma_cm_event *req;
	struct rdma_cm_id *l, *id;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = { 0 }, *bad_recv;
	uint16_t port;
	char c;

	if (unshare(CLONE_NEWNET) < 0)
		CF_DIE("no namespace for the peer: %s", strerror(errno));
	tell(fd);
	await(fd);
	CF_OK(cf_ip("link set lo up"));
	bring_up(2);
	ch = cm_channel();
	l = cm_listen(ch, RDMA_PS_TCP, &here);
	port = cm_port(l);
	CF_EQ(write(fd, &port, 2), 2);
	req = cm_take(ch, CONNECT_REQUEST);
	id = cm_keep(req->id);
	CF_OK(rdma_ack_cm_event(req));
	cm_qp(id);
	CF_OK(ibv_post_recv(id->qp, &recv, &bad_recv));
	CF_OK(rdma_accept(id, &p));
	cm_event(ch, ESTABLISHED);
	if (read(fd, &c, 1) == 1)
		CF_OK(ibv_post_send(id->qp, &send, &bad_send));
	pause();
}

static int kill_peer(void *p)
{
	(void)p;
	kill(peer.pid, SIGKILL);
	return waitpid(peer.pid, NULL, 0) == peer.pid ? 0 : -1;
}

static void start_peer(int family)
{
	int fd[2];
	char line[80];

	CF_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd));
	peer.pid = fork();
	CF_TRUE(peer.pid >= 0);
	if (!peer.pid) {
		cf_inherit_nothing();
		close(fd[0]);
		be_peer(fd[1], family);
		_exit(0);
	}
	cf_keep(kill_peer, &peer, "killing the peer");
	close(fd[1]);
	peer.fd = fd[0];
	await(peer.fd);
	snprintf(line, sizeof(line), "link set cfv1 netns %d", peer.pid);
	CF_OK(cf_ip(line));
	bring_up(1);
	hasten();
	tell(peer.fd);
}

static void connect_it(int family)
{
	struct rdma_conn_param p = param();
	struct sockaddr_storage to;
	uint16_t port;

	cf_netns();
	setenv("DAPPLE_PROBE", "500", 1);
	if (cf_ip("link add cfv0 type veth peer name cfv1"))
		cf_skip("no veth interfaces can be made");
	start_peer(family);
	CF_EQ(read(peer.fd, &port, 2), 2);
	to = at(family, 2, port);
	self.ch = cm_channel();
	self.id = cm_towards(self.ch, RDMA_PS_TCP, &to);
	cm_qp(self.id);
	CF_OK(rdma_connect(self.id, &p));
	cm_event(self.ch, ESTABLISHED);
}

/* That addresses are gone may be reported before; that the adapter is gone says it all. */
static void want_end(void)
{
	struct rdma_cm_event *e;
	bool over = false;

	while (!over) {
		if (!cf_readable(self.ch->fd, CF_WAIT_MS))
			CF_DIE("the connection did not end");
		CF_OK(rdma_get_cm_event(self.ch, &e));
		over = e->event == RDMA_CM_EVENT_DISCONNECTED || e->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
		if (!over && e->event != RDMA_CM_EVENT_ADDR_CHANGE)
			CF_DIE("%s", rdma_event_str(e->event));
		CF_OK(rdma_ack_cm_event(e));
	}
}

static void host_dies(int family)
{
	char line[120];

	connect_it(family);
	CF_OK(kill(peer.pid, SIGSTOP));
	if (cf_readable(self.ch->fd, STOPPED_MS))
		CF_DIE("a stopped process on a live host lost its connection");
	snprintf(line, sizeof(line), "LD_LIBRARY_PATH= nsenter -t %d -n ip address flush dev cfv1", peer.pid);
	if (system(line))
		cf_skip("nsenter cannot enter the peer's namespace");
	want_end();
}

/* What is sent to a dead host is repeated, and never acknowledged. */
static void host_dies_in_flight(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	char line[120];

	connect_it(AF_INET);
	CF_OK(kill(peer.pid, SIGSTOP));
	snprintf(line, sizeof(line), "LD_LIBRARY_PATH= nsenter -t %d -n ip address flush dev cfv1", peer.pid);
	if (system(line))
		cf_skip("nsenter cannot enter the peer's namespace");
	CF_OK(ibv_post_send(self.id->qp, &wr, &bad));
	want_end();
}

/* In the peer's namespace. */
static void at_peer(const char *command)
{
	char line[160];

	snprintf(line, sizeof(line), "LD_LIBRARY_PATH= nsenter -t %d -n %s", peer.pid, command);
	if (system(line))
		cf_skip("nsenter cannot enter the peer's namespace");
}

static void host_is_slow(void)
{
	struct ibv_send_wr send = { .wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad_send;
	struct ibv_recv_wr recv = { .wr_id = 2 }, *bad_recv;

	connect_it(AF_INET); /* forks: before any thread is there */
	if (!cm_is_iwarp())
		cf_skip("RoCE repeats a packet as often as the connection says");
	CF_OK(ibv_post_recv(self.id->qp, &recv, &bad_recv));
	at_peer("ip route add blackhole 198.51.100.1/32");
	CF_OK(ibv_post_send(self.id->qp, &send, &bad_send));
	if (cf_readable(self.ch->fd, SLOW_MS))
		CF_DIE("a slow host lost its connection");
	at_peer("ip route del blackhole 198.51.100.1/32");
	tell(peer.fd);
	cf_wc(self.id->recv_cq, 2, SUCCESS);
	cf_wc(self.id->send_cq, 1, SUCCESS);
	if (cf_readable(self.ch->fd, 0))
		CF_DIE("a host that was slow lost its connection");
}

static void host_dies_v4(void)
{
	host_dies(AF_INET);
}

static void host_dies_v6(void)
{
	host_dies(AF_INET6);
}

static void address_goes(void)
{
	connect_it(AF_INET);
	CF_OK(kill(peer.pid, SIGSTOP));
	CF_OK(cf_ip("address flush dev cfv0"));
	want_end();
}

static void link_goes(void)
{
	connect_it(AF_INET6);
	CF_OK(kill(peer.pid, SIGSTOP));
	CF_OK(cf_ip("link del cfv0"));
	want_end();
}

const struct cf_check cf_checks[] = {
	{ "+", "a dead host, not a stopped process, ends an idle connection over IPv4", 0, host_dies_v4 },
	{ "+", "a dead host, not a stopped process, ends an idle connection over IPv6", 0, host_dies_v6 },
	{ "+", "a dead host ends a connection with a message in flight", 0, host_dies_in_flight },
	{ "+", "a slow host, of which nothing is heard for a while, does not end a connection with a message in flight", 0, host_is_slow },
	{ "+", "an idle connection ends when its own address is removed", 0, address_goes },
	{ "+", "an idle connection ends when its interface is removed", 0, link_goes },
	{ 0 }
};

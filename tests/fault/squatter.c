/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Another user has bound the names of all slots of an address, and of its lock: processes of this user find each
 * other by names that replace them, and nothing is written to the squatter.
 */
#include "../unit/link_udp_util.h"

#include "host/layout.h"
#include "host/owners.h"
#include "link/udp/locals.h"
#include "link/udp/state.h"

#include <grp.h>
#include <sys/wait.h>

#define NOBODY 65534
#define LEFT_FREE 2u /* slots 0 and 1, which were claimed before */

static uint16_t port;

static int bind_name(const struct host *h, unsigned slot)
{
	struct sockaddr_un sun;
	socklen_t n = host_owned_name(h, LO4, 0, slot, 0, &sun);
	int fd = socket(AF_UNIX, slot == HOST_LOCK ? SOCK_STREAM : SOCK_DGRAM, 0);

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&sun, n) == 0);
	return fd;
}

/* Binds all names from slot `from` on; ends with the number of messages that came when the pipe is closed. */
static pid_t squat(unsigned from, int *ret_end)
{
	struct host h = { .port = port };
	int fds[HOST_SLOTS + 1], end[2], ready[2], came = 0;
	char c = 0;
	pid_t pid;

	CHECK(pipe(end) == 0 && pipe(ready) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0);
		CHECK(setresuid(NOBODY, NOBODY, NOBODY) == 0);
		close(end[1]);
		for (unsigned s = from; s <= HOST_SLOTS; s++)
			fds[s] = bind_name(&h, s);
		CHECK(write(ready[1], &c, 1) == 1 && read(end[0], &c, 1) == 0);
		for (unsigned s = from; s < HOST_SLOTS; s++)
			came += recv(fds[s], &c, 1, MSG_DONTWAIT) >= 0;
		_exit(came);
	}
	close(end[0]);
	CHECK(read(ready[0], &c, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	*ret_end = end[1];
	return pid;
}

static struct link *member(unsigned slot)
{
	struct link *l;

	CHECK(udp_open(port, &l) == 0);
	CHECK(l->ops->add_addr(l, LO4, 0) == 0);
	CHECK(udp_of(l)->host.slot == slot);
	return l;
}

static unsigned members_of(struct link *l)
{
	struct udp_local *lo = ut_list_first(&udp_of(l)->host.addrs, struct udp_local, at.node);
	uint16_t slots[HOST_SLOTS];

	return udp_host_user.members(&lo->at, slots);
}

/* Each knows all. They answer each other's searches in their turns. */
static void await_members(struct link *const *v, unsigned n)
{
	uint64_t end = ut_now() + 10 * UT_S;
	unsigned whole = 0;
	struct link_rx rx[4];

	while (whole < n && ut_now() < end) {
		whole = 0;
		for (unsigned i = 0; i < n; i++) {
			recv_wait(v[i], rx, 4, UT_MS);
			whole += members_of(v[i]) == n;
		}
	}
	CHECK(whole == n);
}

/* A datagram at the first member goes on to the member that it is for. */
static void forward(struct link *via, struct link *to)
{
	struct sockaddr_un sun;
	struct host_message m = { .magic = HOST_MESSAGE_MAGIC, .layout = host_layout, .type = HOST_MSG_FORWARD, .sport = 1000, .ttl = 64 };
	struct udp_link *u = udp_of(via);
	struct udp_local *lo = ut_list_first(&u->host.addrs, struct udp_local, at.node);
	uint8_t body[24] = { 0 };
	struct link_rx rx[4];

	memcpy(m.src, LO4, 16);
	put_bth(body, udp_of(to)->host.slot << HOST_SLOT_SHIFT | 0x1234);
	CHECK(host_slot_name(&u->host, LO4, 0, udp_of(to)->host.slot, &sun) > 0);
	CHECK(host_send(&u->host, &lo->at, host_to_slot(udp_of(to)->host.slot), &m, body, sizeof(body)) == 0);
	CHECK(recv_wait(to, rx, 4, 10 * UT_S) == 1 && rx[0].sport == 1000);
}

static void end_squatter(pid_t pid, int fd)
{
	int status;

	close(fd);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(status == 0); /* no message came */
}

int main(void)
{
	struct link *a, *b, *c, *d;
	struct host_owners o;
	uint64_t start;
	pid_t pid;
	int fd, lock;

	if (geteuid() != 0) {
		printf("needs root: a second user binds names\n");
		return 77;
	}
	port = free_port();
	a = member(0);
	if (host_owners(&udp_of(a)->host, LO4, 0, &o) < 0 || !o.ours[0]) {
		printf("this kernel does not tell the owners of unix sockets\n");
		return 77;
	}
	b = member(1);
	pid = squat(LEFT_FREE, &fd);
	start = ut_now();
	c = member(2);
	d = member(3);
	CHECK(ut_now() - start < 2 * UT_S);
	await_members((struct link *[]){ a, b, c, d }, 4);
	forward(a, c);
	forward(c, d);
	forward(d, a);
	/* One holder of the lock, whoever has its plain name. */
	lock = host_lock(&udp_of(a)->host, LO4, 0, 0);
	CHECK(lock >= 0);
	CHECK(host_lock(&udp_of(d)->host, LO4, 0, 10 * UT_MS) == -EBUSY);
	close(lock);
	/* All are gone, and the squatter has all names: a new process comes in. */
	b->ops->close(b);
	c->ops->close(c);
	d->ops->close(d);
	a->ops->close(a);
	end_squatter(pid, fd);
	pid = squat(0, &fd);
	a = member(0);
	b = member(1);
	await_members((struct link *[]){ a, b }, 2);
	forward(a, b);
	a->ops->close(a);
	b->ops->close(b);
	end_squatter(pid, fd);
	return 0;
}

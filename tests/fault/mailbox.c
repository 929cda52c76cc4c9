/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A forged message in a link's mailbox: it has no effect from another user, and the same one from
 * the own user is accepted - without which the first half would prove little. The own one comes
 * last, so that no time must pass to know that the foreign ones have been read.
 */
#include "../unit/link_udp_util.h"

#include "link/udp/state.h"
#include "host/layout.h"

#include <grp.h>
#include <sys/wait.h>

#define NOBODY 65534
#define BODY 24u /* no padding behind it */

static uint16_t port;

struct forged {
	struct host_message m;
	uint8_t body[BODY];
};

static struct forged forge(enum host_message_type type, uint16_t sport)
{
	struct forged x = { .m = { .magic = HOST_MESSAGE_MAGIC, .layout = host_layout, .type = (uint8_t)type, .slot = 3,
				   .sport = sport, .ttl = 64 } };

	memcpy(x.m.src, LO4, 16);
	if (type == HOST_MSG_ORDER)
		memset(x.body, 3, sizeof(x.body));
	else
		put_bth(x.body, 0x1234); /* slot 0 */
	return x;
}

static void deliver(struct udp_link *u, struct forged x)
{
	struct sockaddr_un sun;
	socklen_t n = host_slot_name(&u->host, LO4, 0, u->host.slot, &sun);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	/* The place in a mailbox is small: wait for it, in the child. */
	CHECK(sendto(fd, &x, sizeof(x), 0, (struct sockaddr *)&sun, n) == sizeof(x));
	close(fd);
}

static void deliver_as_nobody(struct udp_link *u, struct forged x)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0);
		CHECK(setresuid(NOBODY, NOBODY, NOBODY) == 0);
		deliver(u, x);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void)
{
	struct udp_local *lo;
	struct udp_order before;
	struct link_rx rx[4];
	struct udp_link *u;
	struct link *l;

	if (geteuid() != 0) {
		printf("needs root: a second user sends\n");
		return 77;
	}
	port = free_port();
	CHECK(udp_open(port, &l) == 0 && l->ops->add_addr(l, LO4, 0) == 0);
	u = udp_of(l);
	CHECK(u->host.slot == 0);
	lo = ut_list_first(&u->host.addrs, struct udp_local, at.node);
	before = lo->order;
	deliver_as_nobody(u, forge(HOST_MSG_FORWARD, 666));
	deliver_as_nobody(u, forge(HOST_MSG_ORDER, 0));
	deliver(u, forge(HOST_MSG_FORWARD, 1000));
	CHECK(recv_wait(l, rx, 4, 10 * UT_S) == 1);
	CHECK(rx[0].sport == 1000 && rx[0].len == BODY);
	CHECK(!memcmp(before.at, lo->order.at, sizeof(before.at)) && lo->order.n == before.n);
	/* The own user is believed. */
	deliver(u, forge(HOST_MSG_ORDER, 0));
	deliver(u, forge(HOST_MSG_FORWARD, 1001));
	CHECK(recv_wait(l, rx, 4, 10 * UT_S) == 1 && rx[0].sport == 1001);
	CHECK(lo->order.n == BODY && lo->order.at[0] == 3);
	l->ops->close(l);
	return 0;
}

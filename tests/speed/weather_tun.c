/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "weather_tun.h"

#include "../conform/conf.h"
#include "link/fault.h"
#include "link/link.h"
#include "util/list.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define NAME "wx0"
#define CLIENT "10.99.1.1"
#define SERVER "10.99.2.1"

enum { PACKETS = 16, ROOM = 2048 };

static struct link_fault_stats *met; /* by the relay */

/* --- the relay: a link whose other end is the interface itself --- */

struct tun {
	struct link base;
	struct ut_stage stage;
	int fd, epfd;
};

static struct tun *of(struct link *l)
{
	return ut_container(l, struct tun, base);
}

/* Without room in the interface's queue a packet is lost, as anywhere. */
static int tun_send(struct link *l, const struct ut_flow *f, uint32_t qpn, const uint8_t *data, size_t len,
		    size_t seg)
{
	(void)f;
	(void)qpn;
	(void)seg;
	return write(of(l)->fd, data, len) < 0 ? -EIO : 0;
}

static int tun_recv(struct link *l, struct link_rx *v, int max)
{
	struct tun *t = of(l);
	int n = 0;

	for (; n < max && n < PACKETS; n++) {
		size_t off = (size_t)n * ROOM;
		ssize_t len = read(t->fd, t->stage.base + off, ROOM);

		if (len < 0)
			break;
		v[n] = (struct link_rx){ .data = t->stage.base + off, .off = off, .len = (uint32_t)len };
	}
	return n;
}

static int tun_fd(struct link *l)
{
	return of(l)->epfd;
}

static void tun_close(struct link *l)
{
	(void)l;
}

static enum link_sender tun_sender(struct link *l, const struct link_rx *rx)
{
	return LINK_SENDER_UNKNOWN;
}

static const struct link_ops tun_ops = { .send = tun_send, .recv = tun_recv, .fd = tun_fd, .sender = tun_sender, .close = tun_close };

/* Each packet meets the faults once, as it is received here: two damaged bits can leave the sum of TCP as it was, and
 * MPA ends the connection then. */
static void relay(int fd, const struct link_fault_rates *rates)
{
	struct epoll_event e = { .events = EPOLLIN };
	struct tun t = { .base = { .ops = &tun_ops, .train_packets = 1, .train_bytes = ROOM }, .fd = fd,
			 .epfd = epoll_create1(EPOLL_CLOEXEC) };
	struct link_rx v[PACKETS];
	struct ut_flow f = { .ttl = 64 };
	struct link *l;

	if (t.epfd < 0 || epoll_ctl(t.epfd, EPOLL_CTL_ADD, fd, &e) < 0 || ut_stage_init(&t.stage, PACKETS * ROOM) < 0)
		_exit(1);
	t.base.rx_stage = &t.stage;
	if (link_fault_open(&t.base, rates, &l) < 0)
		_exit(1);
	for (;;) {
		struct pollfd p = { l->ops->fd(l), POLLIN, 0 };
		int n = l->ops->recv(l, v, PACKETS);

		for (int i = 0; i < n; i++)
			t.base.ops->send(&t.base, &f, 0, v[i].data, v[i].len, v[i].len);
		link_fault_stats(l, met);
		if (!n)
			poll(&p, 1, -1);
	}
}

/* --- the interface --- */

static int make_tun(void)
{
	struct ifreq r = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);

	strcpy(r.ifr_name, NAME);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &r) < 0)
		cf_skip("no TUN interface can be made: %s", strerror(errno));
	return fd;
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

/* What comes in by the interface is for this host though its sender is, too; what the one address sends to the other
 * leaves by it. */
static void set_up(void)
{
	if (cf_ip("address add " CLIENT "/24 dev " NAME) || cf_ip("address add " SERVER "/24 dev " NAME) ||
	    cf_ip("link set " NAME " up") || cf_ip("route add default dev " NAME " table 77") ||
	    cf_ip("rule add priority 1 iif " NAME " lookup local") ||
	    cf_ip("rule add priority 2 from " CLIENT " to " SERVER " lookup 77") ||
	    cf_ip("rule add priority 3 from " SERVER " to " CLIENT " lookup 77") ||
	    cf_ip("rule add priority 9 lookup local") || cf_ip("rule del priority 0"))
		cf_skip("the interface " NAME " cannot be set up; is iproute2 installed?");
	if (!put("/proc/sys/net/ipv4/conf/" NAME "/accept_local", "1") ||
	    !put("/proc/sys/net/ipv4/conf/" NAME "/rp_filter", "0") ||
	    !put("/proc/sys/net/ipv4/conf/all/rp_filter", "0"))
		cf_skip("the settings of the interface " NAME " cannot be changed: %s", strerror(errno));
}

void weather_tun_open(const char *text)
{
	struct link_fault_rates rates;
	int fd;

	if (link_fault_parse(text, &rates) < 0)
		CF_DIE("DAPPLE_FAULT: \"%s\" is not understood", text);
	met = cf_pages(sizeof(*met));
	cf_netns();
	fd = make_tun();
	set_up();
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		relay(fd, &rates);
	}
	close(fd);
	setenv("CONFORM_DEVICE", "dpl_iw_" NAME, 1);
}

static struct sockaddr_in address(const char *text)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	inet_pton(AF_INET, text, &a.sin_addr);
	return a;
}

void weather_tun_connect(int ret_fd[2])
{
	struct sockaddr_in client = address(CLIENT), server = address(SERVER);
	int at = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(server);

	ret_fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CF_OK(bind(at, (struct sockaddr *)&server, sizeof(server)));
	CF_OK(listen(at, 1));
	CF_OK(getsockname(at, (struct sockaddr *)&server, &n));
	CF_OK(bind(ret_fd[0], (struct sockaddr *)&client, sizeof(client)));
	CF_OK(connect(ret_fd[0], (struct sockaddr *)&server, sizeof(server)));
	ret_fd[1] = cf_tcp_accept(at);
}

void weather_tun_report(void)
{
	printf("packets: %" PRIu64 " passed, %" PRIu64 " lost, %" PRIu64 " doubled, %" PRIu64 " delayed, %" PRIu64
	       " damaged\n", met->passed, met->lost, met->doubled, met->held, met->damaged);
	CF_TRUE(met->passed && met->lost && met->doubled && met->held && met->damaged);
}

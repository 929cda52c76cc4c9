/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The mailbox of a member of an address: messages of another process of the same user, with passed
 * descriptors, and datagrams that the members forward to each other. A UDP link with the shm channel
 * receives them; the other members are sockets of the target. No message may end the process, leave a
 * descriptor, or make a datagram that lies outside the stage.
 *
 * The input: operations of one byte (enum op) and their arguments.
 */
#include "ground.h"
#include "input.h"

#include "host/layout.h"
#include "host/mailbox.h"
#include "host/shm/peer.h"
#include "host/shm/segment.h"
#include "link/local/datagrams.h"
#include "link/udp/order.h"
#include "link/udp/probe.h"
#include "link/udp/state.h"
#include "util/ip.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MEMBERS = 3, BODY = 600, OPS_MAX = 100, RX = 8, STRANGER_PORT = 7 };

enum op {
	MESSAGE, DATAGRAM_MESSAGE, GROUP_MESSAGE, RECORDS, ORDER, PROBE, UDP_DATAGRAM, RECEIVE, PASS_ON, CLAIM,
	UNCLAIM, ENTRUST, DEAD, TIME, MEMBER, ADDRESS, JOIN, FULL, ERROR, OPS
};

static struct input in;
static struct link *l;
static struct udp_link *u;
static uint8_t addr[16], second[16];
static int member[MEMBERS]; /* mailboxes of slots 1 ...; -1 */
static int life[2], records_fd;
static uint16_t port;
static const uint8_t group[16] = { [10] = 0xff, 0xff, 239, 1, 2, 3 };

static int name_member(int i)
{
	struct sockaddr_un sun;
	socklen_t n = host_slot_name(&u->host, addr, 0, (unsigned)(u->host.slot + 1 + (unsigned)i), &sun);

	return host_socket(&u->host, &sun, n);
}

static void add_members(unsigned mask)
{
	for (int i = 0; i < MEMBERS; i++)
		if (mask >> i & 1 && member[i] < 0)
			member[i] = name_member(i);
}

static void drop_member(int i)
{
	if (member[i] >= 0)
		close(member[i]);
	member[i] = -1;
}

static void setup(void)
{
	struct shm_channel *c;
	void *base = NULL;

	ground_address(3, addr);
	ground_address(4, second);
	port = ground_port();
	REQUIRE(udp_open(port, &l) == 0);
	u = udp_of(l);
	REQUIRE(shm_channel_open(&u->host, &c) == 0);
	REQUIRE(local_datagrams_open(l, c, &l) == 0);
	shm_channel_messages(c, true);
	REQUIRE(l->ops->add_addr(l, addr, 0) == 0);
	l->qpn_given = true;
	memset(member, 0xff, sizeof(member));
	REQUIRE(pipe2(life, O_CLOEXEC | O_NONBLOCK) == 0);
	records_fd = shm_seg_make("records", 4096, &base);
	in_fill(&in, base, 16);
	shm_seg_unmap(base, 4096);
}

static void teardown(void)
{
	l->ops->close(l);
	for (int i = 0; i < MEMBERS; i++)
		drop_member(i);
	for (int i = 0; i < 2; i++)
		if (life[i] >= 0)
			close(life[i]);
	close(records_fd);
}

/* --- the other members --- */

struct post {
	struct host_message m;
	uint8_t body[BODY];
};

static void send_to_mailbox(const struct post *x, size_t len, const int *fds, int n, const uint64_t *service)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = { 0 };
	struct iovec iov = { (void *)x, len };
	struct sockaddr_un sun;
	struct msghdr h = { .msg_name = &sun, .msg_iov = &iov, .msg_iovlen = 1 };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct cmsghdr *c;

	if (n) {
		h.msg_control = control;
		h.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
	}
	h.msg_namelen = service ? host_service_name(&u->host, addr, 0, *service, &sun)
				: host_slot_name(&u->host, addr, 0, u->host.slot, &sun);
	if (fd >= 0)
		sendmsg(fd, &h, MSG_NOSIGNAL);
	close(fd);
}

static struct post post_of(unsigned type)
{
	struct post x = { .m = { .magic = HOST_MESSAGE_MAGIC, .layout = host_layout, .type = (uint8_t)type,
				   .slot = (uint8_t)(u->host.slot + 1), .ttl = 64, .sport = port } };

	memcpy(x.m.src, addr, 16);
	return x;
}

static int odd_descriptor(unsigned which)
{
	switch (which % 4) {
	case 0: return eventfd(0, EFD_CLOEXEC);
	case 1: return dup(life[0]);
	case 2: return dup(records_fd);
	default: return open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	}
}

/* Any bytes, from the magic on or behind it. */
static void message(void)
{
	unsigned how = in8(&in), n = how >> 4 & 7;
	struct post x = post_of(in8(&in));
	size_t len = in8(&in);
	int fds[8] = { 0 };

	if (how & 1)
		in_fill(&in, &x.m.slot, sizeof(x.m) - 5);
	if (how & 2)
		in_fill(&in, &x, 8);
	in_fill(&in, x.body, len);
	for (unsigned i = 0; i < n; i++)
		fds[i] = odd_descriptor(in8(&in));
	send_to_mailbox(&x, how & 4 ? len : sizeof(x.m) + len, fds, (int)n, NULL);
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
}

/* A datagram from its BTH on, with a QPN that decides its way. */
static size_t datagram(uint8_t *p)
{
	unsigned how = in8(&in);
	size_t len = how & 128 ? 300 : in8(&in);

	memset(p, 0, len);
	in_fill(&in, p, len);
	if (len < 8)
		return len;
	if (how & 1)
		p[5] = (uint8_t)(u->host.slot + (how >> 1 & 3));
	if (how & 8) { /* QP1: the fields of a MAD */
		p[5] = p[6] = 0;
		p[7] = 1;
	}
	if (how & 16 && len > 30) { /* class CM, an attribute of a response */
		p[21] = 7;
		p[36] = 0;
		p[37] = (uint8_t)(how & 32 ? 0x13 : 0x10);
	}
	return len;
}

static void datagram_message(void)
{
	struct post x = post_of(HOST_MSG_FORWARD);
	uint64_t service = in8(&in);
	size_t len = datagram(x.body);

	send_to_mailbox(&x, sizeof(x.m) + len, NULL, 0, service & 1 ? &service : NULL);
}

static void group_message(void)
{
	struct post x = post_of(HOST_MSG_GROUP);
	unsigned how = in8(&in);
	size_t len = datagram(x.body + 16);

	memcpy(x.body, group, 16);
	if (how & 1)
		in_fill(&in, x.body, 16);
	send_to_mailbox(&x, sizeof(x.m) + (how & 2 ? how >> 2 & 15 : 16 + len), NULL, 0, NULL);
}

static void records(void)
{
	struct post x = post_of(HOST_MSG_RECORDS);
	unsigned how = in8(&in);
	int odd = odd_descriptor(how >> 4), fds[2] = { life[0], records_fd };

	x.m.slot = (uint8_t)(x.m.slot + (how >> 2 & 3));
	if (how & 1)
		fds[0] = odd;
	if (how & 2)
		fds[1] = odd;
	send_to_mailbox(&x, sizeof(x.m), fds, how & 64 ? 1 : 2, NULL);
	close(odd);
}

static void order(void)
{
	unsigned how = in8(&in);
	struct post x = post_of(HOST_MSG_ANSWER + how % 3);
	size_t len = in8(&in);
	struct udp_local *lo = ut_list_first(&u->host.addrs, struct udp_local, at.node);

	x.m.index = in8(&in);
	x.m.slot = (uint8_t)(u->host.slot + (how >> 2 & 3));
	if (lo)
		x.m.nonce = lo->order.nonce ^ (how & 16);
	in_fill(&in, x.body, len);
	send_to_mailbox(&x, sizeof(x.m) + len, NULL, 0, NULL);
}

static void send_udp(const uint8_t *p, size_t len, bool from_address)
{
	struct udp_local *lo = ut_list_first(&u->host.addrs, struct udp_local, at.node);
	union ut_sockaddr sa;
	socklen_t n = ut_ip_to_sockaddr(addr, port, 0, &sa);
	int fd = from_address && lo ? dup(lo->main.at.fd) : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		sendto(fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL, &sa.sa, n);
	close(fd);
}

static void probe(void)
{
	unsigned how = in8(&in);
	uint8_t p[UDP_PROBE_BYTES + 1] = { UDP_PROBE_OPCODE };

	memcpy(p + UDP_PROBE_MAGIC, UDP_PROBE_MAGIC_TEXT, 4);
	p[UDP_PROBE_INDEX] = in8(&in);
	p[UDP_PROBE_SLOT] = (uint8_t)(u->host.slot + (how & 3));
	in_fill(&in, p + UDP_PROBE_NONCE, 2);
	send_udp(p, UDP_PROBE_BYTES + (how >> 3 & 1), how & 4);
}

static void udp_datagram(void)
{
	uint8_t p[BODY];
	unsigned how = in8(&in);
	size_t len = datagram(p);

	send_udp(p, len, how & 1);
}

/* --- the link --- */

static volatile uint8_t sink;

static struct link_rx last;
static uint8_t last_bytes[BODY];

static void receive(void)
{
	struct link_rx v[RX];
	int n = l->ops->recv(l, v, RX);

	for (int i = 0; i < n; i++) {
		uint8_t sum = 0;

		REQUIRE(v[i].off + v[i].len <= l->rx_stage->size);
		for (uint32_t k = 0; k < v[i].len; k++)
			sum ^= v[i].data[k];
		sink = sum;
		if (v[i].len > BODY)
			continue;
		last = v[i];
		memcpy(last_bytes, v[i].data, v[i].len);
		last.data = last_bytes;
	}
}

static uint64_t service_id(void)
{
	return in8(&in) & 7;
}

static void pass_on(void)
{
	struct link_rx rx = last;

	rx.passed = in8(&in) & 1;
	if (!rx.data)
		rx.data = last_bytes;
	l->ops->pass_on(l, &rx, service_id());
}

static void claim(void)
{
	l->ops->claim(l, in8(&in) & 1 ? second : addr, service_id());
}

static void unclaim(void)
{
	l->ops->unclaim(l, addr, service_id());
}

static void entrust(void)
{
	l->ops->entrust(l, in8(&in) & 1 ? records_fd : -1);
}

static void dead(void)
{
	uint8_t who[16], sum = 0;
	const uint8_t *p;
	size_t len;

	if (in8(&in) & 1 && life[1] >= 0) {
		close(life[1]);
		life[1] = -1;
		host_look(&u->host);
	}
	while ((p = l->ops->dead_peer(l, who, &len)))
		for (size_t i = 0; i < len; i++)
			sum ^= p[i];
	sink = sum;
}

static void pass_time(void)
{
	static const uint64_t steps[] = { 1000000, 21000000, 301000000, 2100000000 };
	struct udp_local *lo;

	ground_now += steps[in8(&in) % 4];
	udp_each_local(lo, u)
		udp_order_tick(u, lo, ground_now);
	host_look(&u->host);
	REQUIRE(host_outbox_deadline(&u->host) > ground_now || !u->host.outbox_used);
}

static void member_comes_or_goes(void)
{
	unsigned how = in8(&in);

	if (how & 1)
		add_members(how >> 1);
	else
		drop_member((int)(how >> 1) % MEMBERS);
}

static void address(void)
{
	if (in8(&in) & 1)
		l->ops->add_addr(l, second, 0);
	else
		l->ops->del_addr(l, second);
}

static void join(void)
{
	if (in8(&in) & 1)
		l->ops->join(l, group, 1);
	else
		l->ops->leave(l, group, 1);
}

/* Mailboxes that no process reads are full after some messages: what follows waits in the outbox. */
static void fill_member(void)
{
	struct host_message m = { .type = HOST_MSG_FORWARD };
	struct udp_local *lo = ut_list_first(&u->host.addrs, struct udp_local, at.node);
	unsigned n = in8(&in), to = in8(&in);
	struct host_dest dest = to & 128 ? host_to_service(to & 7) : host_to_slot(u->host.slot + 1 + to % MEMBERS);

	for (unsigned i = 0; lo && i < n * 8; i++)
		if (host_outbox_send(&u->host, &lo->at, dest, &m, "12345678", 8) == 0)
			u->host.stats.forwarded++;
	host_outbox_flush(&u->host);
}

static void error(void)
{
	struct link_err e;

	while (l->ops->error(l, &e))
		;
}

static void (*const ops[OPS])(void) = {
	[MESSAGE] = message, [DATAGRAM_MESSAGE] = datagram_message, [GROUP_MESSAGE] = group_message,
	[RECORDS] = records, [ORDER] = order, [PROBE] = probe, [UDP_DATAGRAM] = udp_datagram, [RECEIVE] = receive,
	[PASS_ON] = pass_on, [CLAIM] = claim, [UNCLAIM] = unclaim, [ENTRUST] = entrust, [DEAD] = dead,
	[TIME] = pass_time, [MEMBER] = member_comes_or_goes, [ADDRESS] = address, [JOIN] = join,
	[FULL] = fill_member, [ERROR] = error,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	in = (struct input){ data, data + size };
	last = (struct link_rx){ 0 };
	ground_enter();
	setup();
	for (int n = 0; in.at != in.end && n < OPS_MAX; n++)
		ops[in8(&in) % OPS]();
	receive();
	teardown();
	ground_leave();
	return 0;
}

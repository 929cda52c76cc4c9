/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Another user of the same host against processes of root: the names, the mailboxes and the port
 * are open to every process that knows their names, and this attacker knows all of them.
 *
 *     root: process A <---- RC ----> process B      (verified data)
 *                ^ names, mail, UDP ^
 *                `--- uid 65534 ---'
 *
 * Messages that the kernel or Dapple can refuse are refused, the others are dropped without a
 * trace: no error, no event, no descriptor more than before.
 */
#include "../conform/conf.h"

#include "link/udp/state.h"
#include "link/udp/probe.h"
#include "wire/ib_fields.h"
#include "wire/ib_packet.h"
#include "wire/icrc.h"
#include "host/layout.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <grp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534
#define NAMES 64
#define MESSAGES 2000u /* at least; until the attacker has made ROUNDS */
#define ROUNDS 50u
#define SIZE 8192u

static uint16_t port;

/* Seen by the attacker and its victims. */
static struct shared {
	atomic_uint rounds, refused, mails, datagrams;
	atomic_bool stop, stopped, holding;
	uint32_t qpn[2];
	ino_t passed; /* the socket whose descriptors the attacker passes */
} *shared;
static int go[2]; /* a byte starts the attacker */

/* The library reads the environment when it opens its first link. */
__attribute__((constructor)) static void choose_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char text[8];

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &n) < 0) {
		perror("a free port");
		exit(1);
	}
	port = ntohs(a.sin_port);
	close(fd);
	snprintf(text, sizeof(text), "%u", port);
	setenv("DAPPLE_PORT", text, 1);
}

/* --- the attacker --- */

struct name {
	struct sockaddr_un sun;
	socklen_t len;
};

static void become_nobody(void)
{
	CF_OK(setgroups(0, NULL));
	CF_OK(setresgid(NOBODY, NOBODY, NOBODY));
	CF_OK(setresuid(NOBODY, NOBODY, NOBODY));
}

static struct name name_of(const char *path)
{
	struct name x = { .sun = { .sun_family = AF_UNIX } };
	int n = snprintf(x.sun.sun_path + 1, sizeof(x.sun.sun_path) - 1, "%s", path);

	x.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	return x;
}

/* Our entries in tables of the kernel that every user may read. Locks come and go: mailboxes only. */
static int find_mailboxes(struct name *v)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[512], tail[16], *at, *end;
	int n = 0;

	CF_TRUE(f);
	snprintf(tail, sizeof(tail), "/%u/", port);
	while (n < NAMES && fgets(line, sizeof(line), f)) {
		at = strstr(line, "@dapple-roce/");
		end = at ? strstr(at, tail) : NULL;
		line[strcspn(line, "\n")] = 0;
		if (end && end[strlen(tail)] != 'l')
			v[n++] = name_of(at + 1);
	}
	fclose(f);
	return n;
}

static void refused(int r, int want)
{
	if (r == 0 || errno != want)
		CF_DIE("%s instead of: %s", r ? strerror(errno) : "allowed", strerror(want));
	shared->refused++;
}

static void bind_names(const struct name *v, int n)
{
	for (int i = 0; i < n; i++) {
		int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		refused(bind(fd, (const struct sockaddr *)&v[i].sun, v[i].len), EADDRINUSE);
		close(fd);
	}
}

static void bind_port(void)
{
	static const int opts[3][2] = { { 0, 1 }, { 1, 0 }, { 1, 1 } };
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	for (int i = 0; i < 6; i++) {
		int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		a.sin_addr.s_addr = htonl(i < 3 ? INADDR_LOOPBACK : INADDR_ANY);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &opts[i % 3][0], sizeof(int));
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &opts[i % 3][1], sizeof(int));
		refused(bind(fd, (struct sockaddr *)&a, sizeof(a)), EADDRINUSE);
		close(fd);
	}
	refused(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_UDP) < 0 ? -1 : 0, EPERM);
}

/* With a descriptor or another process's credentials inside, or as it is. */
static long send_mail(int fd, const struct name *to, const void *data, size_t len, int type,
		      const void *extra, size_t n)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(64)] = { 0 };
	struct iovec iov = { (void *)data, len };
	struct msghdr h = { .msg_name = (void *)&to->sun, .msg_namelen = to->len,
			    .msg_iov = &iov, .msg_iovlen = 1 };

	if (n) {
		struct cmsghdr *c = (struct cmsghdr *)control;

		h.msg_control = control;
		h.msg_controllen = CMSG_SPACE(n);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = type;
		c->cmsg_len = CMSG_LEN(n);
		memcpy(CMSG_DATA(c), extra, n);
	}
	return sendmsg(fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static unsigned slot_of_name(const struct name *v)
{
	return (unsigned)atoi(strrchr(v->sun.sun_path + 1, '/') + 1);
}

/* Right in all but the sender: orders that send all to one slot, a member that
 * left, answers, and a packet that would end a QP. */
static void forge_mail(int fd, const struct name *v, unsigned slot)
{
	struct {
		struct host_message m;
		uint8_t body[64];
	} x = { 0 };
	const struct ucred root = { .pid = getppid() };
	int fds[3] = { fd, fd, fd }; /* two of them are those of a connection record */
	long r;

	for (int type = 0; type <= HOST_MSG_FORWARD + 1; type++)
		for (unsigned index = 0; index < 2; index++) {
			uint32_t qpn = shared->qpn[index];

			x.m = (struct host_message){ .magic = HOST_MESSAGE_MAGIC, .layout = host_layout, .type = (uint8_t)type,
						 .slot = (uint8_t)slot, .index = (uint8_t)index,
						 .sport = 0xc123, .ttl = 64,
						 .src = { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
			memset(x.body, type == HOST_MSG_ORDER ? (int)slot : 0, sizeof(x.body));
			if (type == HOST_MSG_FORWARD) {
				x.body[0] = 0x11; /* an acknowledgement that is a NAK */
				x.body[5] = (uint8_t)(qpn >> 16);
				x.body[6] = (uint8_t)(qpn >> 8);
				x.body[7] = (uint8_t)qpn;
				x.body[12] = 0x63;
			}
			shared->mails += send_mail(fd, v, &x, sizeof(x.m) + 20, 0, NULL, 0) > 0;
			shared->mails += send_mail(fd, v, &x, sizeof(x), SCM_RIGHTS, fds,
						   (2 + index) * sizeof(int)) > 0;
			r = send_mail(fd, v, &x, sizeof(x), SCM_CREDENTIALS, &root, sizeof(root));
			refused(r < 0 ? -1 : 0, EPERM);
		}
}

static void noise(uint8_t *p, size_t n)
{
	static uint64_t state = 88172645463325252ull;

	for (size_t i = 0; i < n; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		p[i] = (uint8_t)state;
	}
}

static void attack_mail(int fd, const struct name *v, int n)
{
	static const size_t sizes[] = { 0, 1, 47, sizeof(struct host_message), 100, 4096, 66000 };
	static uint8_t junk[66000];

	for (int i = 0; i < n; i++) {
		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
			noise(junk, sizes[k]);
			shared->mails += send_mail(fd, &v[i], junk, sizes[k], 0, NULL, 0) >= 0;
		}
		forge_mail(fd, &v[i], slot_of_name(&v[!i]));
	}
}

static void attack_udp(void)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 12, 17, 18, 64, 1500, 9000, 60000 };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	static uint8_t p[60000];

	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
		for (unsigned q = 0; q < 3; q++) {
			noise(p, sizes[k]);
			if (q < 2 && sizes[k] >= 8) { /* for a QP that is there */
				p[0] = (uint8_t)(p[0] % 0x18);
				p[5] = (uint8_t)(shared->qpn[q] >> 16);
				p[6] = (uint8_t)(shared->qpn[q] >> 8);
				p[7] = (uint8_t)shared->qpn[q];
			}
			shared->datagrams += sendto(fd, p, sizes[k], MSG_DONTWAIT,
						    (struct sockaddr *)&to, sizeof(to)) >= 0;
		}
	for (unsigned i = 0; i < 8; i++) {
		memset(p, 0, UDP_PROBE_BYTES);
		p[0] = UDP_PROBE_OPCODE;
		memcpy(p + UDP_PROBE_MAGIC, UDP_PROBE_MAGIC_TEXT, 4);
		p[UDP_PROBE_INDEX] = (uint8_t)(i & 1);
		p[UDP_PROBE_SLOT] = (uint8_t)(i >> 1);
		shared->datagrams += sendto(fd, p, UDP_PROBE_BYTES, MSG_DONTWAIT,
					    (struct sockaddr *)&to, sizeof(to)) >= 0;
	}
	close(fd);
}

static int attacker(void *arg)
{
	int n, mail = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	static struct name v[NAMES];
	struct stat st;
	char c;

	close(go[1]);
	become_nobody();
	CF_OK(fstat(mail, &st));
	shared->passed = st.st_ino;
	if (read(go[0], &c, 1) != 1)
		return 1;
	n = find_mailboxes(v);
	if (n < 2)
		CF_DIE("%d mailboxes of two processes", n);
	while (!shared->stop) {
		bind_names(v, n);
		bind_port();
		attack_mail(mail, v, n);
		attack_udp();
		shared->rounds++;
	}
	shared->stopped = true;
	return 0;
}

/* --- the victims --- */

/* The attacker's, among the descriptors of this process. */
static int passed_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	struct stat st;
	int n = 0;

	CF_TRUE(d);
	while ((e = readdir(d)))
		n += !fstatat(dirfd(d), e->d_name, &st, 0) && S_ISSOCK(st.st_mode) &&
		     st.st_ino == shared->passed;
	closedir(d);
	return n;
}

/* Each has some for as long as it reads its mail: those that it keeps would stay. */
static void await_none_passed(void)
{
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;

	while (passed_descriptors() && cf_ns() < end)
		sched_yield();
	CF_EQ(passed_descriptors(), 0);
}

/* Message k of a side. Both send and receive; the first one's word ends it. */
static bool exchange(struct cf_party *p, struct cf_side *s, uint32_t k)
{
	size_t out = (k & 1) * SIZE, in = (2 + (k & 1)) * SIZE;
	bool last = k >= MESSAGES && shared->rounds >= ROUNDS;

	cf_recv(s, k + 1, (2 + (~k & 1)) * SIZE, SIZE);
	cf_fill(s->buf + out, SIZE, 2 * k + p->first);
	s->buf[out] = last;
	cf_post(s, .op = IBV_WR_SEND, .id = k, .off = out, .len = SIZE);
	cf_wc(s->scq, k, SUCCESS);
	CF_EQ(cf_wc(s->rcq, k, SUCCESS).byte_len, SIZE);
	if (!p->first)
		last = s->buf[in];
	cf_fill(s->buf + out, SIZE, 2 * k + !p->first);
	if (memcmp(s->buf + out + 1, s->buf + in + 1, SIZE - 1))
		CF_DIE("message %u is damaged", k);
	return !last;
}

/* Names and port are refused as long as a victim has them. */
static void await_stopped(void)
{
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;

	shared->stop = true;
	while (!shared->stopped && cf_ns() < end)
		sched_yield();
	CF_TRUE(shared->stopped);
}

static void victim(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;
	uint32_t k = 0;

	o.len = 4 * SIZE;
	cf_side(&s, &o);
	cf_connect(p, &s);
	shared->qpn[p->first] = s.qp->qp_num;
	cf_recv(&s, 0, 2 * SIZE, SIZE);
	cf_meet(p);
	if (p->first && write(go[1], "", 1) != 1)
		CF_DIE("cannot start the attacker: %s", strerror(errno));
	while (exchange(p, &s, k))
		k++;
	CF_EQ(cf_state(s.qp), IBV_QPS_RTS);
	cf_no_event(s.ctx);
	cf_meet(p);
	await_stopped();
	await_none_passed();
}

static void need_root(void)
{
	if (geteuid() != 0)
		cf_skip("needs root: a second user attacks");
	shared = cf_pages(sizeof(*shared));
	CF_OK(pipe(go));
}

static void attacked(void)
{
	pid_t pid;

	need_root();
	pid = cf_child(attacker, NULL);
	close(go[0]);
	cf_processes(victim, victim);
	cf_reap(pid);
	/* It was an attack. */
	CF_TRUE(shared->mails > ROUNDS && shared->datagrams > ROUNDS * 20);
	CF_TRUE(shared->refused > ROUNDS * 20);
	printf("# %u rounds: %u refused, %u mails, %u datagrams\n", shared->rounds, shared->refused,
	       shared->mails, shared->datagrams);
}

/* --- names taken before the processes start --- */

enum { TAKEN = 8 };

static int squatter(void *arg)
{
	char path[96], c;
	struct name v;

	close(go[1]);
	become_nobody();
	for (int i = 0; i <= TAKEN; i++) {
		bool lock = i == TAKEN;
		int fd = socket(AF_UNIX, (lock ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);

		if (lock)
			snprintf(path, sizeof(path), "dapple-roce/127.0.0.1/%u/lock", port);
		else
			snprintf(path, sizeof(path), "dapple-roce/127.0.0.1/%u/%d", port, i);
		v = name_of(path);
		CF_OK(bind(fd, (struct sockaddr *)&v.sun, v.len));
		if (lock)
			CF_OK(listen(fd, 8));
	}
	shared->holding = true;
	/* Held until the other end is closed. */
	return read(go[0], &c, 1) == 0 ? 0 : 1;
}

static void newcomer(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;
	pid_t pid;

	need_root();
	pid = cf_child(squatter, NULL);
	close(go[0]);
	while (!shared->holding && cf_ns() < end)
		sched_yield();
	CF_TRUE(shared->holding);
	cf_pair(&a, &b, &o);
	/* The slot is the first one whose name was left. */
	CF_TRUE(a.qp->qp_num >> HOST_SLOT_SHIFT >= TAKEN);
	for (uint32_t k = 0; k < 100; k++) {
		cf_recv(&b, k, 0, 1024);
		cf_fill(a.buf, 1024, k);
		cf_post(&a, .op = IBV_WR_SEND, .id = k, .len = 1024);
		cf_wc(a.scq, k, SUCCESS);
		cf_wc(b.rcq, k, SUCCESS);
		cf_verify(b.buf, 1024, k);
	}
	close(go[1]);
	cf_reap(pid);
}

/* --- packets that are right in all but the source port --- */

enum { FORGED = 64 };

static struct aim {
	uint32_t qpn, psn;
} *aims;

/* A Send of 64 bytes, between the addresses of the connection. */
static size_t forge_send(uint8_t *p, const struct aim *at, uint16_t sport)
{
	static const uint8_t lo[4] = { 127, 0, 0, 1 };
	size_t len = WIRE_BTH_LEN + 64;
	struct wire_icrc_flow f;

	memset(p, 0, len);
	wire_set_BTH_opcode(p, WIRE_RC_SEND_ONLY);
	wire_set_BTH_migreq(p, 1);
	wire_set_BTH_pkey(p, 0xffff);
	wire_set_BTH_dest_qpn(p, at->qpn);
	wire_set_BTH_psn(p, at->psn);
	wire_icrc_flow_v4(&f, lo, lo);
	wire_icrc_fill(&f, sport, port, 0, true, p, len);
	return len + WIRE_ICRC_LEN;
}

static void inject(const struct aim *at)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } }, a = to;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), pmtu = IP_PMTUDISC_DO;
	socklen_t n = sizeof(a);
	uint8_t p[128];

	a.sin_port = 0;
	CF_OK(bind(fd, (struct sockaddr *)&a, n));
	CF_OK(getsockname(fd, (struct sockaddr *)&a, &n));
	CF_OK(setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &pmtu, sizeof(pmtu))); /* identification 0 */
	n = (socklen_t)forge_send(p, at, ntohs(a.sin_port));
	CF_EQ(sendto(fd, p, n, 0, (struct sockaddr *)&to, sizeof(to)), n);
	close(fd);
}

static int injector(void *arg)
{
	char c;

	close(go[1]);
	become_nobody();
	while (read(go[0], &c, 1) == 1) {
		inject(&aims[0]);
		inject(&aims[1]);
		shared->datagrams++;
	}
	return 0;
}

static void await_injection(unsigned n)
{
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;

	while (shared->datagrams < n && cf_ns() < end)
		sched_yield();
	CF_TRUE(shared->datagrams >= n);
}

/* Between two messages of the peer comes one of the injector, with the PSN of the next. */
static void injected_victim(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	struct cf_side s;
	uint32_t packets;

	o.len = 4 * SIZE;
	shared->rounds = ROUNDS;
	cf_side(&s, &o);
	cf_connect(p, &s);
	CF_OK(ibv_query_qp(s.qp, &a, IBV_QP_RQ_PSN | IBV_QP_PATH_MTU, &init));
	packets = SIZE / (128u << a.path_mtu);
	aims[p->first] = (struct aim){ s.qp->qp_num, a.rq_psn };
	cf_recv(&s, 0, 2 * SIZE, SIZE);
	cf_meet(p);
	for (uint32_t k = 0; k < FORGED; k++) {
		CF_TRUE(exchange(p, &s, k));
		aims[p->first].psn = (aims[p->first].psn + packets) & 0xffffff;
		cf_meet(p);
		if (p->first)
			CF_EQ(write(go[1], "", 1), 1);
		await_injection(k + 1);
	}
	CF_EQ(cf_state(s.qp), IBV_QPS_RTS);
	cf_meet(p);
}

static void injection(void)
{
	pid_t pid;

	need_root();
	aims = cf_pages(2 * sizeof(*aims));
	setenv("DAPPLE_LOCAL", "off", 1);
	pid = cf_child(injector, NULL);
	close(go[0]);
	cf_processes(injected_victim, injected_victim);
	close(go[1]);
	cf_reap(pid);
	unsetenv("DAPPLE_LOCAL");
}

const struct cf_check cf_checks[] = {
	{ "+", "another user injects Sends that are right in all but their port", 0, injection },
	{ "+", "another user attacks names, mailboxes and the port", 0, attacked },
	{ "+", "another user has taken names before", 0, newcomer },
	{ 0 },
};

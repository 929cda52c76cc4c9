/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "abi/rdmacm/acm.h"

#include "device/why.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/env.h"
#include "util/log.h"
#include "util/sys.h"

#include <errno.h>
#include <infiniband/sa.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PORT_FILE "/run/ibacm.port"
#define SOCKET_FILE "/run/ibacm.sock"
#define PLACE_ENV "DAPPLE_IBACM"
#define ANSWER_MS 10000   /* ibacm asks the SA, which it repeats */
#define NO_DELAY_MS 2000  /* it answers from its memory */
#define SILENCE_MS 30000  /* after a failure */

/* Of the header acm.h of the package ibacm: ACM_VERSION, ACM_OP_*, ACM_EP_INFO_*, ACM_EP_FLAG_*, ACM_FLAGS_NODELAY. */
enum { VERSION = 1, OP_RESOLVE = 1, OP_MASK = 0x0f };
enum { INFO_IP = 2, INFO_IP6 = 3, INFO_PATH = 0x10 };
enum { IS_SOURCE = 1 << 0, IS_DEST = 1 << 1, NO_DELAY = 1 << 30 };
#define ENDPOINTS 8

struct head {
	uint8_t version, opcode, status, rsv[3];
	uint16_t length; /* of the message */
	uint64_t tid;
};

/* An address or a path; the latter has the form of struct ibv_path_data. */
struct endpoint {
	uint32_t flags;
	uint16_t type, rsv;
	union {
		uint8_t addr[64];
		struct ibv_path_record path;
	} u;
};

struct message {
	struct head head;
	struct endpoint v[ENDPOINTS];
};

_Static_assert(sizeof(struct head) == 16 && sizeof(struct endpoint) == 72, "ACM_MSG_HDR_LENGTH, ACM_MSG_EP_LENGTH");
_Static_assert(sizeof(struct ibv_path_data) == sizeof(struct endpoint), "rdma-core takes the one for the other");

static _Atomic uint64_t silent_until, tids;

/* --- where it is --- */

struct place {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_un un;
	} u;
	socklen_t len;
	char text[sizeof(((struct sockaddr_un *)0)->sun_path) + 16];
};

static bool set_port(struct place *p, const char *text)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	if (end == text || (*end && *end != '\n') || !port || port > 65535)
		return false;
	p->u.in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	p->len = sizeof(p->u.in);
	snprintf(p->text, sizeof(p->text), "127.0.0.1:%lu", port);
	return true;
}

static bool set_path(struct place *p, const char *path)
{
	if (!*path || strlen(path) >= sizeof(p->u.un.sun_path))
		return false;
	p->u.un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	strcpy(p->u.un.sun_path, path);
	p->len = sizeof(p->u.un);
	snprintf(p->text, sizeof(p->text), "%s", path);
	return true;
}

static bool read_port_file(struct place *p)
{
	char text[16] = "";
	FILE *f = fopen(PORT_FILE, "re");
	bool found = f && fgets(text, sizeof(text), f) && set_port(p, text);

	if (f)
		fclose(f);
	return found;
}

static bool find_place(struct place *p)
{
	const char *v = ut_env(PLACE_ENV);

	if (v)
		return strcmp(v, "off") != 0 && (set_port(p, v) || set_path(p, v));
	return read_port_file(p) || (access(SOCKET_FILE, F_OK) == 0 && set_path(p, SOCKET_FILE));
}

/* --- one question --- */

/* Waits for the descriptor until the deadline. Returns 0 or a negative errno. */
static int await(int fd, short what, uint64_t until)
{
	struct pollfd p = { .fd = fd, .events = what };

	for (;;) {
		uint64_t now = ut_now();
		int r = now < until ? poll(&p, 1, (int)((until - now) / UT_MS) + 1) : 0;

		if (r > 0)
			return 0;
		if (r == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

static int open_place(const struct place *p, uint64_t until)
{
	int fd = socket(p->u.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err = 0, r = 0;
	socklen_t len = sizeof(err);

	if (fd < 0)
		return -errno;
	if (connect(fd, &p->u.any, p->len) < 0)
		r = errno == EINPROGRESS ? await(fd, POLLOUT, until) : -errno;
	if (r == 0 && (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0 || err))
		r = err ? -err : -errno;
	if (r < 0)
		ut_close(fd);
	return r < 0 ? r : fd;
}

/* Receives len bytes, which come in any cut. */
static int receive(int fd, void *to, size_t len, uint64_t until)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = recv(fd, (char *)to + at, len - at, 0);
		int r = n == 0 ? -ECONNRESET : n > 0 || errno == EINTR ? 0 : errno == EAGAIN ? await(fd, POLLIN, until) : -errno;

		if (r < 0)
			return r;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Returns 0, a negative errno, or -EBADMSG: it is no answer to the question. */
static int exchange(int fd, struct message *m, uint64_t until)
{
	uint64_t tid = m->head.tid;
	ssize_t n = send(fd, m, m->head.length, MSG_NOSIGNAL);
	int r;

	if (n != m->head.length)
		return n < 0 ? -errno : -EAGAIN;
	r = receive(fd, &m->head, sizeof(m->head), until);
	if (r < 0)
		return r;
	if (m->head.version != VERSION || (m->head.opcode & OP_MASK) != OP_RESOLVE || m->head.tid != tid ||
	    m->head.length < sizeof(m->head) || m->head.length > sizeof(*m) ||
	    (m->head.length - sizeof(m->head)) % sizeof(m->v[0]))
		return -EBADMSG;
	return receive(fd, m->v, m->head.length - sizeof(m->head), until);
}

static int ask(const struct place *p, struct message *m, int timeout_ms)
{
	uint64_t until = ut_now() + (uint64_t)timeout_ms * UT_MS;
	int fd = open_place(p, until), r;

	if (fd < 0)
		return fd;
	r = exchange(fd, m, until);
	ut_close(fd);
	return r;
}

static void say_failure(const struct place *p, int r)
{
	char text[320];

	atomic_store(&silent_until, ut_now() + SILENCE_MS * UT_MS);
	snprintf(text, sizeof(text), "ibacm at %s gives no usable answer (%s): rdma_getaddrinfo() has no route data, and does not ask "
		 "for %d s; start ibacm again, or set DAPPLE_IBACM=off", p->text, strerror(-r), SILENCE_MS / 1000);
	ut_warn("%s", text);
	dev_why_keep(UT_SAY_FAILURE, text);
}

/* --- question and answer --- */

static bool is_ip(const struct sockaddr *a)
{
	return a && (a->sa_family == AF_INET || a->sa_family == AF_INET6);
}

static void add_address(struct message *m, unsigned *n, const struct sockaddr *a, uint32_t flags)
{
	struct endpoint *e = &m->v[*n];

	if (!is_ip(a))
		return;
	e->flags = flags;
	e->type = a->sa_family == AF_INET ? INFO_IP : INFO_IP6;
	if (a->sa_family == AF_INET)
		memcpy(e->u.addr, &((const struct sockaddr_in *)(const void *)a)->sin_addr, 4);
	else
		memcpy(e->u.addr, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, 16);
	++*n;
}

static struct message question(const struct rdma_addrinfo *r, bool no_delay)
{
	struct message m = { .head = { .version = VERSION, .opcode = OP_RESOLVE, .tid = atomic_fetch_add(&tids, 1) + 1 } };
	unsigned n = 0;

	if (r->ai_src_len)
		add_address(&m, &n, r->ai_src_addr, IS_SOURCE);
	add_address(&m, &n, r->ai_dst_addr, IS_DEST | (no_delay ? NO_DELAY : 0));
	m.head.length = (uint16_t)(sizeof(m.head) + n * sizeof(m.v[0]));
	return m;
}

static void take_source(struct rdma_addrinfo *r, const struct endpoint *e)
{
	struct sockaddr_storage *sa;

	if (!(e->flags & IS_SOURCE) || r->ai_src_len)
		return;
	sa = ut_zalloc(sizeof(*sa));
	if (!sa)
		return;
	if (e->type == INFO_IP) {
		sa->ss_family = AF_INET;
		memcpy(&((struct sockaddr_in *)(void *)sa)->sin_addr, e->u.addr, 4);
		r->ai_src_len = sizeof(struct sockaddr_in);
	} else {
		sa->ss_family = AF_INET6;
		memcpy(&((struct sockaddr_in6 *)(void *)sa)->sin6_addr, e->u.addr, 16);
		r->ai_src_len = sizeof(struct sockaddr_in6);
	}
	r->ai_src_addr = (struct sockaddr *)sa;
}

/* What RDMA_OPTION_IB_PATH takes for a connection has a path of these flags; without one the answer is of no use. */
static int check(const struct message *m)
{
	const uint32_t primary = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
	unsigned n = (unsigned)((m->head.length - sizeof(m->head)) / sizeof(m->v[0])), paths = 0;

	for (unsigned i = 0; i < n; i++) {
		if (m->v[i].type == INFO_PATH && m->v[i].flags == primary)
			return 0;
		paths += m->v[i].type == INFO_PATH;
	}
	return paths ? -EBADMSG : 0;
}

/* Source and paths. Paths stand one behind the other, in the form that RDMA_OPTION_IB_PATH takes. */
static void take(struct rdma_addrinfo *r, const struct message *m)
{
	unsigned n = (unsigned)((m->head.length - sizeof(m->head)) / sizeof(m->v[0])), paths = 0;
	struct ibv_path_data *route = ut_calloc(n + 1, sizeof(*route));

	for (unsigned i = 0; i < n; i++) {
		const struct endpoint *e = &m->v[i];

		if (e->type == INFO_IP || e->type == INFO_IP6)
			take_source(r, e);
		if (e->type == INFO_PATH && route)
			route[paths++] = (struct ibv_path_data){ .flags = e->flags, .path = e->u.path };
	}
	if (!paths) {
		free(route);
		return;
	}
	r->ai_route = route;
	r->ai_route_len = (socklen_t)(paths * sizeof(*route));
}

void rcm_acm_route(struct rdma_addrinfo *r, const struct rdma_addrinfo *hints)
{
	bool no_delay = hints->ai_flags & (RAI_NUMERICHOST | RAI_NOROUTE);
	struct message m;
	struct place p;
	int rc;

	if ((r->ai_flags & RAI_PASSIVE) || !r->ai_dst_len || !is_ip(r->ai_dst_addr) || !ut_env("DAPPLE_FABRIC") ||
	    ut_now() < atomic_load(&silent_until) || !find_place(&p))
		return;
	m = question(r, no_delay);
	rc = ask(&p, &m, no_delay ? NO_DELAY_MS : ANSWER_MS);
	if (rc == 0 && !m.head.status)
		rc = check(&m);
	if (rc < 0)
		say_failure(&p, rc);
	else if (!m.head.status)
		take(r, &m);
}

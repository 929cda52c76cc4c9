/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Byte streams within one host: the rendezvous with a peer process and the pair of rings that follows,
 * whose other segment is the input's. The lower place is the target's own: it shows bytes, ends and
 * room when the input says so. Of each stream, closed() comes once and last, no callback follows
 * close(), each byte that is shown can be read, and nothing is left.
 *
 * The input: a byte, 1 = the place leaves at the end; then operations of one byte: enum op in the lower five bits, a
 * stream in the others.
 */
#include "ground.h"
#include "input.h"

#include "host/layout.h"
#include "host/mailbox.h"
#include "host/shm/pipe.h"
#include "link/local/agree.h"
#include "link/local/stream.h"
#include "link/local/streams.h"
#include "util/clock.h"
#include "util/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { STREAMS = 4, WATCHES = 32, OPS_MAX = 200, PORT = 77, STAGE = 70000 };

enum op {
	ACCEPT, CONNECT, CONNECTED, LISTEN, USER, AGREE, HURRY, CALL, HELLO, HANG_UP, ANSWER, SQUAT, POSITIONS,
	BYTES, END, ROOM, SEND, RESERVE, PAUSE, SHUTDOWN, CLOSE, POLL, PEEK, SLEEP, TIME, DEADLINE, READ, UNBIND, ADOPT,
	FORGET_USER, OPS
};

static struct input in;
static struct link_streams *place;
static uint8_t address[16];

/* --- the lower place --- */

struct lower_stream {
	struct link_stream s;
	bool used, closed, fin_told;
	bool no_room, paused;
};

static struct lower_stream lower[STREAMS];
static struct link_listener lower_listener;
static struct link_watch *watches[WATCHES];
static bool refuses_watch;

static int low_bind(struct link_streams *p, const struct link_end *local, bool reuse, bool v6only,
		    struct link_listener **ret)
{
	(void)reuse;
	(void)v6only;
	lower_listener = (struct link_listener){ .place = p, .local = *local };
	*ret = &lower_listener;
	return 0;
}

static int low_listen(struct link_listener *l, int backlog)
{
	(void)l;
	(void)backlog;
	return 0;
}

static void low_unbind(struct link_listener *l)
{
	l->user = NULL;
}

static struct lower_stream *lower_new(struct link_streams *p)
{
	for (int i = 0; i < STREAMS; i++)
		if (!lower[i].used) {
			lower[i] = (struct lower_stream){ .used = true, .s.place = p };
			memcpy(lower[i].s.local.addr, address, 16);
			memcpy(lower[i].s.remote.addr, address, 16);
			lower[i].s.local.port = PORT;
			lower[i].s.remote.port = (uint16_t)(1000 + i);
			return &lower[i];
		}
	return NULL;
}

static int low_connect(struct link_streams *p, struct link_listener *from, const struct link_end *local,
		       const struct link_end *remote, int tos, struct link_stream **ret)
{
	struct lower_stream *s = lower_new(p);

	(void)from;
	(void)tos;
	(void)local;
	(void)remote;
	if (!s)
		return -ENOBUFS;
	*ret = &s->s;
	return 0;
}

static int low_adopt(struct link_streams *p, int fd, struct link_stream **ret)
{
	return fd < 0 ? -EBADF : low_connect(p, NULL, NULL, NULL, 0, ret);
}

static ssize_t low_send(struct link_stream *s, const void *data, size_t len)
{
	struct lower_stream *l = ut_container(s, struct lower_stream, s);

	REQUIRE(!l->closed && data && len);
	return l->no_room ? -EAGAIN : (ssize_t)len;
}

static size_t low_room(struct link_stream *s)
{
	return ut_container(s, struct lower_stream, s)->no_room ? 0 : 1000;
}

static uint32_t low_mss(struct link_stream *s)
{
	(void)s;
	return 1448;
}

static bool low_drained(struct link_stream *s)
{
	return !ut_container(s, struct lower_stream, s)->no_room;
}

static bool low_take(struct link_stream *s, size_t off, const struct iovec *iov, int n, size_t len)
{
	(void)s;
	(void)off;
	(void)iov;
	(void)n;
	(void)len;
	return false;
}

static void low_pause(struct link_stream *s, bool on)
{
	ut_container(s, struct lower_stream, s)->paused = on;
}

static void low_shutdown(struct link_stream *s)
{
	(void)s;
}

static void low_close(struct link_stream *s, bool reset)
{
	struct lower_stream *l = ut_container(s, struct lower_stream, s);

	(void)reset;
	REQUIRE(!l->closed);
	l->closed = true;
}

static int low_read(struct link_stream *s)
{
	if (s->user_ops)
		s->user_ops->received(s, (const uint8_t *)"!", 0, 1, ground_now);
	return 1;
}

static int low_poll(struct link_streams *p, uint64_t now)
{
	(void)p;
	for (int i = 0; i < WATCHES; i++) {
		struct pollfd v = { .fd = watches[i] ? watches[i]->fd : -1, .events = POLLIN };

		if (v.fd >= 0 && poll(&v, 1, 0) > 0)
			watches[i]->ready(watches[i], now);
	}
	return 0;
}

static bool low_is_quiet(struct link_streams *p)
{
	(void)p;
	return true;
}

static void low_sleep(struct link_streams *p, bool on, bool look)
{
	(void)p;
	(void)on;
	(void)look;
}

static uint64_t low_deadline(struct link_streams *p)
{
	(void)p;
	return UT_NEVER;
}

static int low_fd(struct link_streams *p)
{
	(void)p;
	return -1;
}

static int low_watch(struct link_streams *p, struct link_watch *w)
{
	(void)p;
	for (int i = 0; i < WATCHES && !refuses_watch; i++)
		if (!watches[i]) {
			watches[i] = w;
			return 0;
		}
	return -ENOSPC;
}

static void low_unwatch(struct link_streams *p, struct link_watch *w)
{
	(void)p;
	for (int i = 0; i < WATCHES; i++)
		if (watches[i] == w)
			watches[i] = NULL;
}

static void low_nothing(struct link_streams *p)
{
	(void)p;
}

static int no_peek(struct link_streams *p)
{
	(void)p;
	return -EAGAIN;
}

static const struct link_streams_ops lower_ops = {
	.bind = low_bind, .listen = low_listen, .unbind = low_unbind, .connect = low_connect, .adopt = low_adopt,
	.send = low_send, .room = low_room, .local = link_streams_no_local, .hurry = link_streams_no_hurry,
	.reserve = link_streams_no_reserve, .commit = link_streams_no_commit, .mss = low_mss, .drained = low_drained,
	.take = low_take, .pause = low_pause, .shutdown = low_shutdown, .close = low_close, .read = low_read,
	.poll = low_poll, .peek = no_peek, .is_quiet = low_is_quiet, .sleep = low_sleep,
	.deadline = low_deadline, .fd = low_fd, .watch = low_watch, .unwatch = low_unwatch, .leave = low_nothing,
	.forget = low_nothing, .fini = low_nothing,
};

/* --- the user of the streams --- */

static struct user_stream {
	struct link_stream *s; /* NULL: there is none, or it was closed */
	struct link_stream *lower;
	unsigned closed;
	uint8_t how; /* bits: consume all, half; close inside, leave inside, pause inside */
	int call;    /* the peer's rendezvous connection; -1 */
	int squat;   /* the peer's listener; -1 */
	struct shm_pipe pipe; /* the peer's segments */
} stream[STREAMS];

static struct link_listener *listener;
static volatile uint8_t sink;
static const struct link_stream_user user_ops, other_ops;

static struct user_stream *of(struct link_stream *s)
{
	struct user_stream *u = s->user;

	REQUIRE(u && u->s == s);
	return u;
}

static void close_it(struct user_stream *u, bool reset)
{
	struct link_stream *s = u->s;

	if (!s)
		return;
	u->s = NULL;
	place->ops->close(s, reset);
}

static size_t take_bytes(struct link_stream *s, const uint8_t *data, size_t len)
{
	struct user_stream *u = of(s);
	uint8_t sum = 0;

	REQUIRE(!u->closed && len);
	for (size_t i = 0; i < len; i++)
		sum ^= data[i];
	sink = sum;
	if (u->how & 4)
		place->ops->pause(s, true);
	if (u->how & 8) {
		u->how &= (uint8_t)~8;
		s->user_ops = s->user_ops == &user_ops ? &other_ops : &user_ops;
		return 0;
	}
	if (u->how & 16)
		close_it(u, u->how & 1);
	return u->how & 1 ? len : u->how & 2 ? (len + 1) / 2 : 0;
}

static size_t received(struct link_stream *s, const uint8_t *data, size_t off, size_t len, uint64_t now)
{
	(void)off;
	(void)now;
	return take_bytes(s, data, len);
}

static size_t received_shm(struct link_stream *s, const uint8_t *data, size_t len, uint64_t now)
{
	(void)now;
	return take_bytes(s, data, len);
}

static void writable(struct link_stream *s, uint64_t now)
{
	struct user_stream *u = of(s);

	(void)now;
	if (u->how & 32)
		close_it(u, false);
}

static void connected(struct link_stream *s, uint64_t now)
{
	(void)now;
	of(s);
}

static void closed(struct link_stream *s, int error, uint64_t now)
{
	struct user_stream *u = of(s);

	(void)error;
	(void)now;
	REQUIRE(u->closed++ == 0);
	if (u->how & 64)
		close_it(u, false);
}

static const struct link_stream_user user_ops = {
	.received = received, .received_shm = received_shm, .writable = writable, .connected = connected,
	.closed = closed,
};
static const struct link_stream_user other_ops = {
	.received = received, .received_shm = received_shm, .writable = writable, .connected = connected,
	.closed = closed,
};

static struct user_stream *free_stream(void)
{
	for (int i = 0; i < STREAMS; i++)
		if (!stream[i].s && !lower[i].used)
			return &stream[i];
	return NULL;
}

static void take_stream(struct link_stream *s, struct link_stream *low)
{
	struct user_stream *u = &stream[ut_container(low, struct lower_stream, s) - lower];

	u->s = s;
	u->lower = low;
	s->user = u;
}

static struct link_stream *fresh; /* the lower one of the stream that is being accepted */

static void accepted(struct link_listener *l, struct link_stream *s, uint64_t now)
{
	(void)l;
	(void)now;
	take_stream(s, fresh);
}

static const struct link_listener_user listener_ops = { .accepted = accepted };

/* --- operations --- */

static void op_listen(struct user_stream *u)
{
	struct link_end at = { .port = PORT };

	(void)u;
	memcpy(at.addr, address, 16);
	if (in8(&in) & 1)
		memset(at.addr, 0, 16);
	if (listener || place->ops->bind(place, &at, true, false, &listener) < 0)
		return;
	listener->user_ops = &listener_ops;
	place->ops->listen(listener, 0);
}

static void op_unbind(struct user_stream *u)
{
	(void)u;
	if (listener)
		place->ops->unbind(listener);
	listener = NULL;
}

static void op_accept(struct user_stream *u)
{
	struct lower_stream *l;

	(void)u;
	if (!listener || !free_stream())
		return;
	l = lower_new(lower_listener.place);
	fresh = &l->s;
	lower_listener.user_ops->accepted(&lower_listener, &l->s, ground_now);
}

static void op_connect(struct user_stream *u)
{
	struct link_end from = { 0 }, to = { .port = PORT };
	bool bound = in8(&in) & 1;
	struct link_stream *s;

	(void)u;
	if (!free_stream() || place->ops->connect(place, bound ? listener : NULL, &from, &to, -1, &s) < 0)
		return;
	if (bound)
		listener = NULL;
	take_stream(s, local_stream_of(s)->lower);
}

static void op_adopt(struct user_stream *u)
{
	struct link_stream *s;

	(void)u;
	if (free_stream() && place->ops->adopt(place, in8(&in) & 1 ? -1 : 5, &s) == 0)
		take_stream(s, local_stream_of(s)->lower);
}

static void op_connected(struct user_stream *u)
{
	if (u->lower && u->lower->user_ops)
		u->lower->user_ops->connected(u->lower, ground_now);
}

static void op_user(struct user_stream *u)
{
	u->how = in8(&in);
	if (u->s)
		u->s->user_ops = u->how & 128 ? &other_ops : &user_ops;
}

static void op_forget_user(struct user_stream *u)
{
	if (u->s)
		u->s->user_ops = NULL;
}

static void op_agree(struct user_stream *u)
{
	unsigned how = in8(&in);

	if (!u->s)
		return;
	refuses_watch = how & 2;
	place->ops->local(u->s, how & 1);
	refuses_watch = false;
}

static void op_hurry(struct user_stream *u)
{
	if (u->s)
		place->ops->hurry(u->s);
}

/* --- the peer process: connections --- */

static socklen_t name_of(unsigned to_port, struct sockaddr_un *ret)
{
	char *at = ret->sun_path + 1;
	int n = sprintf(at, "dapple-iw/");

	ret->sun_family = AF_UNIX;
	ret->sun_path[0] = 0;
	for (int i = 0; i < 16; i++)
		n += sprintf(at + n, "%02x", address[i]);
	n += sprintf(at + n, "/%u", to_port);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static void drop_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void op_call(struct user_stream *u)
{
	struct sockaddr_un sun;
	socklen_t n = name_of(PORT, &sun);

	drop_fd(&u->call);
	u->call = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (connect(u->call, (struct sockaddr *)&sun, n) < 0)
		drop_fd(&u->call);
}

static void op_hang_up(struct user_stream *u)
{
	drop_fd(&u->call);
}

static int odd_segment(unsigned which)
{
	struct shm_pipe p = { 0 };
	int fd;

	switch (which % 4) {
	case 0: return eventfd(0, EFD_CLOEXEC);
	case 1:
		fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		REQUIRE(ftruncate(fd, 4096 + SHM_PIPE_BYTES) == 0);
		return fd;
	case 2:
		fd = shm_pipe_make(&p);
		p.own->magic = 1;
		break;
	default:
		fd = shm_pipe_make(&p);
		p.own->bytes = in32(&in);
	}
	shm_pipe_fini(&p);
	return fd;
}

/* A wake fd; the pipe has no reader. */
static int odd_wake_fd(unsigned which)
{
	int ends[2];

	switch (which % 4) {
	case 0: return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	case 1: return eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	case 2: return memfd_create("wake", MFD_CLOEXEC);
	default:
		REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
		close(ends[0]);
		return ends[1];
	}
}

/* A message of the rendezvous. how: 1 = an odd segment, 2 = none, 4 = another hello, 8 = cut, 16 = two descriptors */
static void tell(struct user_stream *u, struct local_hello *h)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	unsigned how = in8(&in);
	struct iovec iov = { h, sizeof(*h) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[2], n = how & 2 ? 0 : how & 16 ? 2 : 1;
	struct cmsghdr *c;

	if (how & 4)
		in_fill(&in, h, sizeof(*h));
	if (how & 8)
		iov.iov_len = in8(&in) % sizeof(*h);
	shm_pipe_fini(&u->pipe);
	fds[0] = how & 1 ? odd_segment(how >> 5) : shm_pipe_make(&u->pipe);
	fds[1] = how & 2 ? -1 : odd_wake_fd(in8(&in));
	if (u->pipe.own)
		u->pipe.own->wake_fd = in8(&in);
	if (n) {
		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
	}
	sendmsg(u->call, &m, MSG_NOSIGNAL);
	close(fds[0]);
	drop_fd(&fds[1]);
}

/* The 4-tuple of the stream. */
static void op_hello(struct user_stream *u)
{
	struct local_hello h = { .magic = LOCAL_HELLO_MAGIC + host_layout };

	if (u->call < 0 || !u->lower)
		return;
	h.from_port = u->lower->remote.port;
	h.to_port = u->lower->local.port;
	memcpy(h.from, address, 16);
	memcpy(h.to, address, 16);
	tell(u, &h);
}

static void op_squat(struct user_stream *u)
{
	struct sockaddr_un sun;
	socklen_t n = name_of(u->lower ? u->lower->remote.port : 1, &sun);

	drop_fd(&u->squat);
	u->squat = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (bind(u->squat, (struct sockaddr *)&sun, n) < 0 || listen(u->squat, 4) < 0)
		drop_fd(&u->squat);
}

static void op_answer(struct user_stream *u)
{
	struct local_hello h = { .magic = LOCAL_HELLO_MAGIC + host_layout };

	if (u->squat < 0)
		return;
	drop_fd(&u->call);
	u->call = accept4(u->squat, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (u->call >= 0)
		tell(u, &h);
}

/* --- the peer process: its segment and its wire --- */

static uint64_t position(uint64_t about)
{
	unsigned how = in8(&in);

	switch (how & 3) {
	case 0: return about + (how >> 2);
	case 1: return about + 1024u * (how >> 2);
	case 2: return about + SHM_PIPE_BYTES - (how >> 2);
	default: return in64(&in);
	}
}

static void op_positions(struct user_stream *u)
{
	struct shm_end *e = u->pipe.own;
	unsigned how = in8(&in);

	if (!e)
		return;
	if (how & 1)
		atomic_store(&e->tail, position(atomic_load(&e->tail)));
	if (how & 2)
		atomic_store(&e->head, how & 32 && u->s && local_stream_of(u->s)->shm
				 ? atomic_load(&local_stream_of(u->s)->shm->pipe.own->tail)
				 : position(atomic_load(&e->head)));
	if (how & 4)
		atomic_store(&e->base, position(atomic_load(&e->base)));
	if (how & 8)
		atomic_store(&e->asleep, in8(&in));
	if (how & 16)
		atomic_store(&e->open, !(how & 64));
}

/* As the lower place does: the rest is shown again with more. */
static void op_bytes(struct user_stream *u)
{
	static const uint8_t bytes[STAGE];
	size_t len = 1 + in8(&in), off = 0;

	if (in8(&in) & 1)
		len = STAGE;
	for (int i = 0; i < 4 && off < len; i++) {
		struct link_stream *s = u->lower;
		struct lower_stream *l = s ? ut_container(s, struct lower_stream, s) : NULL;
		size_t used;

		if (!s || l->closed || l->fin_told || l->paused || !s->user_ops)
			return;
		used = s->user_ops->received(s, bytes + off, off, len - off, ground_now);
		REQUIRE(used <= len - off);
		off += used;
	}
}

static void op_end(struct user_stream *u)
{
	struct lower_stream *l = u->lower ? ut_container(u->lower, struct lower_stream, s) : NULL;
	int error = in8(&in) & 1 ? ECONNRESET : 0;

	if (!l || l->closed || l->fin_told || !l->s.user_ops)
		return;
	l->fin_told = true;
	l->s.user_ops->closed(&l->s, error, ground_now);
}

static void op_room(struct user_stream *u)
{
	struct lower_stream *l = u->lower ? ut_container(u->lower, struct lower_stream, s) : NULL;

	if (!l || l->closed)
		return;
	l->no_room = in8(&in) & 1;
	if (!l->no_room && l->s.user_ops)
		l->s.user_ops->writable(&l->s, ground_now);
}

/* --- the calls of the user --- */

static void op_send(struct user_stream *u)
{
	static const uint8_t bytes[SHM_PIPE_BYTES];
	size_t len = in16(&in) * 8u + 1;

	if (!u->s)
		return;
	len = len < sizeof(bytes) ? len : sizeof(bytes);
	REQUIRE(place->ops->send(u->s, bytes, len) <= (ssize_t)len);
	place->ops->room(u->s);
	place->ops->mss(u->s);
	place->ops->drained(u->s);
}

static void op_reserve(struct user_stream *u)
{
	size_t len = in16(&in) + 1;
	uint8_t *at;

	if (!u->s || !place->ops->room(u->s))
		return;
	at = place->ops->reserve(u->s, len);
	if (!at)
		return;
	memset(at, 1, len);
	place->ops->commit(u->s, len);
}

static void op_pause(struct user_stream *u)
{
	if (u->s)
		place->ops->pause(u->s, in8(&in) & 1);
}

static void op_shutdown(struct user_stream *u)
{
	if (u->s)
		place->ops->shutdown(u->s);
}

static void op_close(struct user_stream *u)
{
	close_it(u, in8(&in) & 1);
}

static void op_read(struct user_stream *u)
{
	struct iovec iov = { 0 };

	if (!u->s)
		return;
	place->ops->take(u->s, 0, &iov, 0, 0);
	place->ops->read(u->s);
}

/* Memory of streams that were closed is freed by now. */
static void op_poll(struct user_stream *u)
{
	unsigned how = in8(&in);

	(void)u;
	for (unsigned i = 0; i <= how % 3; i++)
		place->ops->poll(place, ut_now());
	for (int i = 0; i < STREAMS; i++)
		if (lower[i].used && lower[i].closed && !stream[i].s) {
			lower[i].used = false;
			stream[i].lower = NULL;
			stream[i].closed = 0;
		}
}

/* Empty looks until a stream leaves the poll set. */
static void op_peek(struct user_stream *u)
{
	unsigned n = in8(&in);

	(void)u;
	for (unsigned i = 0; i < n; i++)
		place->ops->peek(place);
	place->ops->is_quiet(place);
}

static void op_sleep(struct user_stream *u)
{
	unsigned how = in8(&in);

	(void)u;
	place->ops->sleep(place, how & 1, how & 2);
}

static void op_time(struct user_stream *u)
{
	(void)u;
	ground_now += in8(&in) & 1 ? 301 * UT_MS : UT_MS;
}

static void op_deadline(struct user_stream *u)
{
	(void)u;
	place->ops->deadline(place);
	REQUIRE(place->ops->fd(place) == -1);
}

static void (*const ops[OPS])(struct user_stream *u) = {
	[ACCEPT] = op_accept, [CONNECT] = op_connect, [CONNECTED] = op_connected, [LISTEN] = op_listen,
	[USER] = op_user, [AGREE] = op_agree, [HURRY] = op_hurry, [CALL] = op_call, [HELLO] = op_hello,
	[HANG_UP] = op_hang_up, [ANSWER] = op_answer, [SQUAT] = op_squat, [POSITIONS] = op_positions,
	[BYTES] = op_bytes, [END] = op_end, [ROOM] = op_room, [SEND] = op_send, [RESERVE] = op_reserve,
	[PAUSE] = op_pause, [SHUTDOWN] = op_shutdown, [CLOSE] = op_close, [POLL] = op_poll, [PEEK] = op_peek,
	[SLEEP] = op_sleep, [TIME] = op_time, [DEADLINE] = op_deadline, [READ] = op_read, [UNBIND] = op_unbind,
	[ADOPT] = op_adopt, [FORGET_USER] = op_forget_user,
};

static struct link_streams lower_place = { .ops = &lower_ops };

static void setup(void)
{
	ground_address(5, address);
	memset(stream, 0, sizeof(stream));
	memset(lower, 0, sizeof(lower));
	memset(watches, 0, sizeof(watches));
	for (int i = 0; i < STREAMS; i++)
		stream[i].call = stream[i].squat = -1;
	REQUIRE(local_streams_open(&lower_place, LOCAL_CONNECTED | LOCAL_HANDED_OVER | LOCAL_SELF, &place) == 0);
	listener = NULL;
}

static void teardown(bool leaves)
{
	unsigned left = 0;

	if (leaves)
		place->ops->leave(place);
	place->ops->fini(place);
	for (int i = 0; i < STREAMS; i++) {
		drop_fd(&stream[i].call);
		drop_fd(&stream[i].squat);
		shm_pipe_fini(&stream[i].pipe);
		left += lower[i].used && !lower[i].closed;
	}
	for (int i = 0; i < WATCHES; i++)
		left += watches[i] != NULL;
	REQUIRE(!left);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool leaves;

	in = (struct input){ data, data + size };
	leaves = in8(&in) & 1;
	ground_enter();
	setup();
	for (int n = 0; in.at != in.end && n < OPS_MAX; n++) {
		unsigned op = in8(&in);

		ops[(op & 31) % OPS](&stream[op >> 5 & (STREAMS - 1)]);
	}
	teardown(leaves);
	ground_leave();
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "adapters.h"

#include "host/host.h"
#include "host/mailbox.h"
#include "host/shm/segment.h"
#include "link/fabric/packets.h"
#include "link/fabric/socket.h"
#include "mgmt/packets.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/fault_calls.h"
#include "util/list.h"
#include "util/rng.h"
#include "util/rundir.h"
#include "util/sys.h"
#include "util/syscall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS 32
#define READS 32              /* messages of a process until others have their turn */
#define MESSAGE_MAX (sizeof(struct pkt_head) + PKT_TRAIN_BYTES)
/* Bytes that wait for a process: those that send to it are held above, and released below. */
#define QUEUE_HIGH (512u << 10)
#define QUEUE_LOW (128u << 10)
#define QUEUE_BYTES (64u << 20) /* of many senders at once, and of the model, which cannot be held */
#define LIFE_NS (1000 * UT_MS)  /* a receiver that reads nothing for so long is stopped */
#define LOOK_NS (250 * UT_MS)   /* at receivers for which senders are held */

/* A message that waits for room in a socket. */
struct ad_message {
	struct ut_list node;
	size_t len;
	uint8_t bytes[];
};

struct ad_process {
	struct pks_process p;     /* in the model's ports after HELLO */
	struct ut_list node;      /* ad.processes, or dead */
	struct ad *ad;
	int fd;
	bool welcome, writable_asked, dead;
	struct ut_list queue;     /* struct ad_message */
	size_t queued;
	uint64_t read_at;         /* when it was seen to read, or its queue began */
	bool stopped;             /* it reads nothing: what is sent to it is lost */
	struct ut_list held;      /* senders, by held_node */
	struct ut_list held_node;
	struct ad_process *waits_for; /* it is held for this one; NULL: its messages are read */
	bool paused;              /* the port of its node is full */
	const struct pkt_tally *tally; /* its adapter's; NULL: none */
	bool unheld;              /* its end has come: its last messages are read whatever waits */
};

struct ad {
	struct fab *fabric;
	struct pks pks;
	int listener, epfd, timer;
	int page_fd;
	struct pkt_page *page;
	uint64_t instance;
	struct ut_list processes, dead; /* dead: freed at the end of the round, since the model may be in the middle of one */
	struct ad_counts sum;     /* of processes that are gone */
	struct ad_process *full;  /* a receiver of the message being read, above QUEUE_HIGH */
	bool looking;             /* the timer runs */
	void (*depart)(void *ctx, struct fab_port *port, const uint8_t *packet, size_t len); /* by a trunk */
	void *depart_ctx;
	uint8_t buffer[MESSAGE_MAX + 1];
};

static struct ad_process *of(struct pks_process *p)
{
	return ut_container(p, struct ad_process, p);
}

/* --- sending --- */

static bool is_read(const struct ad_process *p)
{
	return !p->waits_for && !p->paused;
}

static void set_interest(struct ad_process *p)
{
	struct epoll_event e = { .events = (is_read(p) ? EPOLLIN : 0u) | (p->writable_asked ? EPOLLOUT : 0u), .data.ptr = p };

	epoll_ctl(p->ad->epfd, EPOLL_CTL_MOD, p->fd, &e);
}

static void ask_writable(struct ad_process *p, bool on)
{
	if (p->writable_asked == on)
		return;
	p->writable_asked = on;
	set_interest(p);
}

/* --- senders that wait --- */

static void set_timer(struct ad *a, bool on)
{
	const struct timespec t = { 0, on ? (long)LOOK_NS : 0 };
	const struct itimerspec its = { t, t };

	if (a->looking != on)
		timerfd_settime(a->timer, 0, &its, NULL);
	a->looking = on;
}

static void hold(struct ad_process *p, struct ad_process *by)
{
	p->waits_for = by;
	ut_list_add_tail(&by->held, &p->held_node);
	set_interest(p);
	set_timer(p->ad, true);
}

static void release(struct ad_process *p)
{
	if (!p->waits_for)
		return;
	p->waits_for = NULL;
	ut_list_del(&p->held_node);
	set_interest(p);
}

/* A receiver of what this one has just sent is above QUEUE_HIGH. */
static void hold_for_full(struct ad_process *p)
{
	struct ad_process *full = p->ad->full;

	p->ad->full = NULL;
	if (full && !full->dead && !p->dead && !p->unheld && !p->waits_for)
		hold(p, full);
}

/* A slot of pks_ops. */
static void pause_sender(void *ctx, struct pks_process *process, bool on)
{
	struct ad_process *p = of(process);

	if (p->paused == on || p->dead || (on && p->unheld))
		return;
	p->paused = on;
	set_interest(p);
}

/* A slot of pks_ops. */
static void sent_for(void *ctx, struct pks_process *process)
{
	hold_for_full(of(process));
}

static void release_all(struct ad_process *by)
{
	struct ad_process *p;

	while ((p = ut_list_first(&by->held, struct ad_process, held_node)))
		release(p);
}

/* Returns true if senders are held for it still. */
static bool look_at(struct ad_process *p, uint64_t now)
{
	if (ut_list_empty(&p->held))
		return false;
	if (now - p->read_at < LIFE_NS)
		return true;
	p->stopped = true;
	release_all(p);
	return false;
}

static void look_at_held(struct ad *a)
{
	uint64_t n, now = ut_now();
	struct ad_process *p;
	bool any = false;

	UT_SYS(SYS_read, a->timer, &n, sizeof(n));
	ut_list_each(p, &a->processes, node)
		any |= look_at(p, now);
	if (!any)
		set_timer(a, false);
}

/* --- queues --- */

/* The process goes when nothing refers to it. */
static void end_later(struct ad_process *p)
{
	if (p->dead)
		return;
	p->dead = true;
	release(p);
	release_all(p);
	ut_list_del(&p->node);
	ut_list_add_tail(&p->ad->dead, &p->node);
}

static size_t bytes_of(const struct iovec *iov, int n)
{
	size_t len = 0;

	for (int i = 0; i < n; i++)
		len += iov[i].iov_len;
	return len;
}

static bool keep(struct ad_process *p, const struct iovec *iov, int n)
{
	size_t len = bytes_of(iov, n), at = 0;
	struct ad_message *m = p->queued + len <= QUEUE_BYTES ? ut_malloc(sizeof(*m) + len) : NULL;

	if (!m)
		return false;
	m->len = len;
	for (int i = 0; i < n; i++) {
		memcpy(m->bytes + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	if (ut_list_empty(&p->queue))
		p->read_at = ut_now();
	ut_list_add_tail(&p->queue, &m->node);
	p->queued += len;
	if (p->queued > QUEUE_HIGH)
		p->ad->full = p;
	ask_writable(p, true);
	return true;
}

/* A slot of pks_ops. */
static bool send_to(void *ctx, struct pks_process *to, const struct iovec *iov, int n)
{
	struct ad_process *p = of(to);
	struct msghdr h = { .msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)n };
	long r = -EAGAIN;

	if (p->dead || p->stopped)
		return false;
	if (ut_list_empty(&p->queue))
		r = UT_SYS(SYS_sendmsg, p->fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (r >= 0)
		return true;
	/* Other errors: its end is seen by the next read. */
	return r == -EAGAIN && keep(p, iov, n);
}

/* A slot of pks_ops. */
static void depart(void *ctx, struct fab_port *port, const uint8_t *packet, size_t len)
{
	struct ad *a = ctx;

	if (a->depart)
		a->depart(a->depart_ctx, port, packet, len);
}

static const struct pks_ops ops = { .send = send_to, .depart = depart, .pause = pause_sender, .sent_for = sent_for };

static void drop_oldest(struct ad_process *p)
{
	struct ad_message *m = ut_list_first(&p->queue, struct ad_message, node);

	ut_list_del(&m->node);
	p->queued -= m->len;
	free(m);
}

static void send_queue(struct ad_process *p)
{
	struct ad_message *m;

	p->read_at = ut_now();
	p->stopped = false;
	while ((m = ut_list_first(&p->queue, struct ad_message, node))) {
		if (UT_SYS(SYS_sendto, p->fd, m->bytes, m->len, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0) == -EAGAIN)
			break;
		drop_oldest(p);
	}
	if (p->queued < QUEUE_LOW)
		release_all(p);
	if (ut_list_empty(&p->queue))
		ask_writable(p, false);
}

/* --- a process comes --- */

/* Sends the first message, with a descriptor. Returns 0, or -EPROTO: the process is removed. */
static int send_with(const struct ad_process *p, struct pkt_message *m, int fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { m, pkt_length(m->head.type) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };

	host_fds_put(&h, &fd, 1);
	return UT_SYS(SYS_sendmsg, p->fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -EPROTO : 0;
}

/* Returns -EPROTO, so that the process is removed when it has the sentence. */
static int refuse(struct ad_process *p, int error, const char *sentence)
{
	struct pkt_message m = { .head = pkt_head(PKT_WELCOME), .u.welcome.err = error };
	const struct iovec iov = { &m, pkt_length(PKT_WELCOME) };

	snprintf(m.u.welcome.why, sizeof(m.u.welcome.why), "%s", sentence);
	send_to(NULL, &p->p, &iov, 1);
	return -EPROTO;
}

static int greet(struct ad_process *p, const struct pkt_hello *hello)
{
	struct pkt_message m = { .head = pkt_head(PKT_WELCOME) };
	struct fab_node *n = fab_node_by_name(p->ad->fabric, hello->node);
	struct fab_port *port = n ? fab_node_port(n, hello->port) : NULL;
	char text[PKT_WHY_MAX];

	if (hello->version != PKT_VERSION)
		return refuse(p, -EPROTO, "the fabric process is of another version of dapple: this process gets no adapter; end "
			      "the fabric by dapple fabric down and start it again");
	if (!port || n->type != FAB_CA) {
		snprintf(text, sizeof(text), "node %s of the fabric %s: this process gets no adapter; start it by dapple fabric "
			 "run NODE with a channel adapter that dapple fabric show lists", hello->node,
			 !n ? "does not exist" : n->type != FAB_CA ? "is no channel adapter" : "has no such port");
		return refuse(p, -ENODEV, text);
	}
	if (pks_add(&p->ad->pks, port, &p->p) < 0)
		return refuse(p, -ENOMEM, "the fabric process has no memory left: this process gets no adapter; "
			      "start the fabric again with a higher limit on memory (ulimit -v)");
	p->welcome = true;
	p->ad->sum.processes++;
	m.u.welcome.instance = p->ad->instance;
	m.u.welcome.guid = port->guid;
	m.u.welcome.net = ut_net_ns();
	return send_with(p, &m, p->ad->page_fd);
}

/* Returns -EPROTO: with the socket the connection has done its work. */
static int give_socket(struct ad_process *p, const struct pkt_ask_socket *ask)
{
	enum host_socket_kind kind = ask->kind == PKT_SOCKET_OWNERS ? HOST_SOCKET_OWNERS : HOST_SOCKET_MAIL;
	struct pkt_message m = { .head = pkt_head(PKT_MADE), .u.made.uid = geteuid() };
	const struct iovec iov = { &m, pkt_length(PKT_MADE) };
	int fd = ask->version == PKT_VERSION ? host_socket_make(kind) : -EPROTO;

	if (fd >= 0) {
		send_with(p, &m, fd);
		ut_close(fd);
		return -EPROTO;
	}
	m.u.made.err = fd;
	send_to(NULL, &p->p, &iov, 1);
	return -EPROTO;
}

/* fd: that came with the message, or -1; it stays the caller's. */
static int begin(struct ad_process *p, const void *bytes, size_t len, int fd)
{
	struct pkt_message m;
	int r;

	if (!pkt_parse(bytes, len, false))
		return -EPROTO;
	memcpy(&m, bytes, len < sizeof(m) ? len : sizeof(m));
	if (m.head.type == PKT_ASK_SOCKET)
		return give_socket(p, &m.u.ask_socket);
	r = m.head.type == PKT_HELLO ? greet(p, &m.u.hello) : -EPROTO;
	if (r == 0 && fd >= 0)
		p->tally = shm_seg_map_whole(fd, sizeof(*p->tally));
	p->p.tallied.seg = p->tally;
	return r;
}

static int receive_first(struct ad_process *p)
{
	_Alignas(struct cmsghdr) char control[256];
	struct iovec iov = { p->ad->buffer, sizeof(p->ad->buffer) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	long n = UT_SYS(SYS_recvmsg, p->fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int fd = -1, r;

	if (n <= 0)
		return n == -EAGAIN ? -EAGAIN : -EPROTO;
	host_fds_take(&h, &fd, 1);
	r = begin(p, p->ad->buffer, (size_t)n, fd);
	ut_close(fd);
	return r;
}

/* Returns 0, -EAGAIN: there is none, or -EPROTO: the process must be removed. */
static int receive(struct ad_process *p)
{
	struct ad *a = p->ad;
	long n;

	if (!p->welcome)
		return receive_first(p);
	n = UT_SYS(SYS_recvfrom, p->fd, a->buffer, sizeof(a->buffer), MSG_DONTWAIT, NULL, NULL);
	if (n == -EAGAIN)
		return -EAGAIN;
	a->full = NULL;
	return n <= 0 ? -EPROTO : pks_receive(&p->p, a->buffer, (size_t)n);
}

static void read_from(struct ad_process *p)
{
	for (int i = 0; i < READS && !p->dead && is_read(p); i++) {
		int r = receive(p);

		if (r == -EAGAIN)
			return;
		if (r < 0)
			end_later(p);
		else
			hold_for_full(p);
	}
}

static void free_process(struct ad_process *p)
{
	const struct pks_counts *c = &p->p.counts;
	struct ad_counts *sum = &p->ad->sum;

	sum->packets += c->packets;
	sum->bytes += c->bytes;
	sum->refused += c->malformed + c->forged + c->unrouted + c->too_long;
	sum->lost += c->no_process + c->lost;
	if (p->welcome)
		pks_remove(&p->p);
	shm_seg_unmap(p->tally, sizeof(*p->tally));
	while (!ut_list_empty(&p->queue))
		drop_oldest(p);
	ut_list_del(&p->node);
	ut_close(p->fd);
	free(p);
}

static void free_dead(struct ad *a)
{
	struct ad_process *p;

	while ((p = ut_list_first(&a->dead, struct ad_process, node)))
		free_process(p);
}

static void accept_one(struct ad *a, int fd)
{
	struct ad_process *p = ut_zalloc(sizeof(*p));
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = p };

	if (!p || ut_epoll_add(a->epfd, fd, &e) < 0) {
		ut_close(fd);
		free(p);
		return;
	}
	p->ad = a;
	p->fd = fd;
	ut_list_init(&p->queue);
	ut_list_init(&p->held);
	ut_list_init(&p->held_node);
	ut_list_add_tail(&a->processes, &p->node);
}

static void accept_all(struct ad *a)
{
	int fd;

	while ((fd = fsk_accept(a->listener)) >= 0 || fd == -EACCES)
		if (fd >= 0)
			accept_one(a, fd);
}

/* --- the whole --- */

static bool is_own(const struct ad *a, const void *at)
{
	return at == &a->listener || at == &a->timer;
}

static void serve_own(struct ad *a, const void *at)
{
	if (at == &a->timer)
		look_at_held(a);
	else
		accept_all(a);
}

void ad_serve(struct ad *a)
{
	struct epoll_event v[EVENTS];
	long n;

	pks_run(&a->pks, ut_now());
	n = UT_SYS(SYS_epoll_pwait, a->epfd, v, EVENTS, 0, NULL, 8);

	for (long i = 0; i < n; i++) {
		struct ad_process *p = v[i].data.ptr;

		if (is_own(a, v[i].data.ptr)) {
			serve_own(a, v[i].data.ptr);
			continue;
		}
		if (v[i].events & EPOLLOUT && !p->dead)
			send_queue(p);
		if (v[i].events & (EPOLLHUP | EPOLLERR)) {
			p->unheld = true;
			release(p);
			pause_sender(NULL, &p->p, false);
		}
		if (v[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
			read_from(p);
	}
	free_dead(a);
	ad_settle(a);
}

void ad_settle(struct ad *a)
{
	pks_run(&a->pks, ut_now());
	if (atomic_load_explicit(&a->page->generation, memory_order_relaxed) != a->fabric->generation)
		atomic_store(&a->page->generation, a->fabric->generation);
}

uint64_t ad_next(const struct ad *a)
{
	return pks_next(&a->pks);
}

static void gone(void *ctx, struct pks_process *p)
{
	end_later(of(p));
}

void ad_node_gone(struct ad *a, struct fab_node *n)
{
	for (unsigned i = 0; i <= n->n_ports; i++)
		if (fab_node_port(n, i))
			pks_port_gone(&a->pks, fab_node_port(n, i), gone);
	free_dead(a);
}

bool ad_deliver(struct ad *a, struct fab_port *port, const struct mad *m)
{
	return pks_deliver(&a->pks, port, m);
}

void ad_on_depart(struct ad *a, void (*fn)(void *ctx, struct fab_port *port, const uint8_t *packet, size_t len), void *ctx)
{
	a->depart = fn;
	a->depart_ctx = ctx;
}

/* Messages that come over a trunk have no sender here that could be held: a full receiver's queue takes them. */
void ad_arrive(struct ad *a, struct fab_port *port, const uint8_t *packet, size_t len)
{
	pks_arrive(&a->pks, port, packet, len);
}

void ad_far_add(struct ad *a, const struct pkt_peer *h)
{
	addr_far_add(&a->pks.far, h);
}

void ad_far_clear(struct ad *a)
{
	addr_far_clear(&a->pks.far);
}

void ad_counts(const struct ad *a, struct ad_counts *ret)
{
	struct ad_process *p;

	*ret = a->sum;
	ut_list_each(p, &a->processes, node) {
		const struct pks_counts *c = &p->p.counts;

		ret->packets += c->packets;
		ret->bytes += c->bytes;
		ret->refused += c->malformed + c->forged + c->unrouted + c->too_long;
		ret->lost += c->no_process + c->lost;
	}
}

int ad_fd(const struct ad *a)
{
	return a->epfd;
}

void ad_close(struct ad *a)
{
	struct ad_process *p;

	if (!a)
		return;
	while ((p = ut_list_first(&a->processes, struct ad_process, node)))
		free_process(p);
	free_dead(a);
	pks_fini(&a->pks);
	shm_seg_unmap(a->page, sizeof(*a->page));
	if (a->page_fd >= 0)
		ut_close(a->page_fd);
	if (a->listener >= 0)
		ut_close(a->listener);
	if (a->timer >= 0)
		ut_close(a->timer);
	if (a->epfd >= 0)
		ut_close(a->epfd);
	free(a);
}

static int open_parts(struct ad *a, const char *dir)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = &a->listener }, t = { .events = EPOLLIN, .data.ptr = &a->timer };

	a->page_fd = shm_seg_make("dapple-fabric", sizeof(*a->page), (void **)&a->page);
	if (a->page_fd < 0)
		return a->page_fd;
	a->epfd = ut_epoll();
	if (a->epfd < 0)
		return -errno;
	a->listener = fsk_listen(dir, PKT_SOCKET);
	if (a->listener < 0)
		return a->listener;
	a->timer = ut_timerfd();
	if (a->timer < 0 || ut_epoll_add(a->epfd, a->timer, &t) < 0 || ut_epoll_add(a->epfd, a->listener, &e) < 0)
		return -errno;
	return 0;
}

int ad_open(const char *dir, struct fab *f, bool is_hopping, struct ad **ret)
{
	struct ad *a = ut_zalloc(sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->fabric = f;
	a->listener = a->timer = a->epfd = a->page_fd = -1;
	a->instance = ut_rng_seed();
	ut_list_init(&a->processes);
	ut_list_init(&a->dead);
	r = pks_init(&a->pks, f, &ops, a, is_hopping);
	if (r == 0)
		r = open_parts(a, dir);
	if (r < 0) {
		ad_close(a);
		return r;
	}
	ad_settle(a);
	*ret = a;
	return 0;
}

void ad_tally(struct ad *a)
{
	pks_tally(&a->pks);
}

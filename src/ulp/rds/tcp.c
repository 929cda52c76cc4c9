/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/tcp.h"

#include "ulp/rds/node.h"
#include "ulp/rds/say.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rds.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define READ_SIZE 65536
#define READS 8                         /* pieces of READ_SIZE in one round */
#define RETRY_MS 10                     /* the first one; each further attempt waits twice as long */
#define RETRY_MOST_MS 1000
#define CALL_BACK_MS 1000               /* for a smaller address to connect */
#define ACK_MOST_MS 32

enum state {
	DOWN, CONNECTING, UP,
	CALLED                          /* the smaller address has been asked to connect */
};

struct tcp {
	struct rds_conn c;
	enum state state;
	struct rds_watch watch;
	struct rds_timer retry, ack;
	int retry_ms, ack_ms;
	bool has_stood;                 /* there has been a connection */
	/* What is being sent. */
	bool begun, sending_map;        /* a head is written; it is the map's */
	uint8_t head[WIRE_RDS_HEADER_LEN], map[WIRE_RDS_MAP_LEN];
	size_t sent;                    /* octets of head and payload */
	uint64_t written;               /* octets of the whole stream */
	/* What is being received. */
	uint8_t in_head[WIRE_RDS_HEADER_LEN];
	size_t got;                     /* octets of head and payload */
	struct rds_header header;
	struct rds_message *in;
};

static struct tcp *tcp_of(const struct rds_conn *c)
{
	return (struct tcp *)(uintptr_t)c;
}

static struct rds_loop *loop_of(struct tcp *t)
{
	return &t->c.node->loop;
}

static void begin_connect(struct tcp *t);

/* --- the end of a TCP connection --- */

/*
 * True if there is something to be sent (the map alone makes no connection), or if the peer relies on this end: one with
 * a larger address that has messages waits for the smaller one to connect again.
 */
static bool has_work(const struct tcp *t)
{
	return rds_flow_next(&t->c.flow) || (t->has_stood && rds_addr_order(&t->c.local, &t->c.peer) < 0);
}

static void retry_later(struct tcp *t)
{
	rds_timer_by(loop_of(t), &t->retry, t->retry_ms);
	t->retry_ms = t->retry_ms * 2 > RETRY_MOST_MS ? RETRY_MOST_MS : t->retry_ms * 2;
}

/* The parts of both directions that are under way begin anew. */
static void lose(struct tcp *t)
{
	if (t->state == UP)
		t->c.node->counters.conn_reset++;
	rds_watch_close(loop_of(t), &t->watch);
	rds_timer_stop(&t->ack);
	free(t->in);
	t->in = NULL;
	t->got = t->sent = 0;
	t->written = 0;
	t->begun = t->sending_map = t->c.paused = false;
	t->state = DOWN;
	rds_flow_restart(&t->c.flow);
}

static void lost(struct tcp *t)
{
	lose(t);
	if (has_work(t))
		retry_later(t);
}

static void broke_rule(struct tcp *t, enum rds_verdict v)
{
	char local[RDS_ADDR_TEXT], peer[RDS_ADDR_TEXT];

	if (v != RDS_NO_ROOM)
		rds_say("RDS connection %s -> %s: the peer broke a rule of RDS (%s): the TCP connection is closed, and "
			"made again for the messages that wait; look at the program at the other end",
			rds_addr_text(local, &t->c.local), rds_addr_text(peer, &t->c.peer), rds_rules[v]);
	lost(t);
}

/* --- sending --- */

/* What TCP has acknowledged is written less what the kernel still has. */
static void take_acks(struct tcp *t)
{
	int queued;

	if (t->state == UP && !ioctl(t->watch.fd, SIOCOUTQ, &queued) && queued >= 0 && (uint64_t)queued <= t->written)
		rds_flow_acked(&t->c.flow, t->written - (uint64_t)queued, rds_node_done, t->c.node);
}

static void ack_due(struct rds_timer *timer)
{
	struct tcp *t = ut_container(timer, struct tcp, ack);

	take_acks(t);
	t->ack_ms = t->ack_ms * 2 > ACK_MOST_MS ? ACK_MOST_MS : t->ack_ms * 2;
	if (!ut_list_empty(&t->c.flow.unacked))
		rds_timer_set(loop_of(t), &t->ack, t->ack_ms);
}

/* Begins the map or the next message. Returns false if there is neither. */
static bool begin_message(struct tcp *t)
{
	struct rds_message *m = rds_flow_next(&t->c.flow);
	struct rds_header h = { 0 };

	if (t->c.map_due) {
		const struct rds_listener *listener = rds_listener_find(t->c.node, &t->c.local);

		h = (struct rds_header){ .len = WIRE_RDS_MAP_LEN, .map = true, .generation = t->c.node->generation };
		memset(t->map, 0, sizeof(t->map));
		if (listener)
			rds_map_put(t->map, listener->map);
		t->c.map_due = false;
		t->sending_map = true;
		t->c.node->counters.cong_update_queued++;
	} else if (m) {
		h = (struct rds_header){ .sequence = m->sequence, .len = m->len, .sport = m->sport, .dport = m->dport,
					 .retransmitted = m->retransmitted, .paths = m->paths };
	} else {
		return false;
	}
	rds_header_put(t->head, &h);
	t->begun = true;
	return true;
}

static void end_message(struct tcp *t)
{
	t->sent = 0;
	t->begun = false;
	if (t->sending_map)
		t->sending_map = false;
	else
		rds_flow_sent(&t->c.flow, t->written);
	t->ack_ms = 1;
	rds_timer_by(loop_of(t), &t->ack, t->ack_ms);
}

/* Writes what is left of the message that has begun. Returns 0 if it is whole, or a negative errno. */
static int write_message(struct tcp *t)
{
	const struct rds_message *m = rds_flow_next(&t->c.flow);
	const uint8_t *payload = t->sending_map ? t->map : m->data;
	size_t len = t->sending_map ? sizeof(t->map) : m->len, in_head;
	struct iovec iov[2];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	while (t->sent < sizeof(t->head) + len) {
		in_head = t->sent < sizeof(t->head) ? sizeof(t->head) - t->sent : 0;
		iov[0] = (struct iovec){ t->head + sizeof(t->head) - in_head, in_head };
		iov[1] = (struct iovec){ (void *)(payload + (in_head ? 0 : t->sent - sizeof(t->head))),
					 len - (in_head ? 0 : t->sent - sizeof(t->head)) };
		n = sendmsg(t->watch.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return errno == EINTR ? -EAGAIN : -errno;
		t->sent += (size_t)n;
		t->written += (uint64_t)n;
	}
	return 0;
}

static void watch_both(struct tcp *t, bool out)
{
	rds_watch_set(loop_of(t), &t->watch, (t->c.paused ? 0 : EPOLLIN) | (out ? EPOLLOUT : 0));
}

static void transmit(struct tcp *t)
{
	int r = 0;

	while (!r && (t->begun || begin_message(t))) {
		r = write_message(t);
		if (!r)
			end_message(t);
	}
	/* What the peer has sent before is still to be read: the end is reported once that is done. */
	if (r && r != -EAGAIN && r != -ENOBUFS && r != -ENOMEM)
		shutdown(t->watch.fd, SHUT_RDWR);
	watch_both(t, r != 0);
}

/* --- receiving --- */

/* A header is whole. Returns RDS_GOOD if the message can be taken. */
static enum rds_verdict take_header(struct tcp *t)
{
	enum rds_verdict v = rds_header_get(&t->header, t->in_head);

	if (v != RDS_GOOD)
		return v;
	t->in = rds_message_new(t->header.len);
	if (!t->in)
		return RDS_NO_ROOM;
	t->in->sport = t->header.sport;
	t->in->dport = t->header.dport;
	return RDS_GOOD;
}

static void take_message(struct tcp *t)
{
	struct rds_message *m = t->in;

	t->in = NULL;
	t->got = 0;
	if (t->header.map) {
		rds_node_map(&t->c, &t->header, m->data);
		free(m);
	} else if (!rds_node_arrived(&t->c, &t->header, m)) {
		t->c.paused = true;
	}
}

static size_t copy(uint8_t *to, size_t room, const uint8_t *from, size_t len)
{
	size_t n = room < len ? room : len;

	memcpy(to, from, n);
	return n;
}

/* Takes octets of the stream. */
static enum rds_verdict take_octets(struct tcp *t, const uint8_t *at, size_t len)
{
	enum rds_verdict v;
	size_t n, in_payload;

	do {
		if (t->got < sizeof(t->in_head)) {
			n = copy(t->in_head + t->got, sizeof(t->in_head) - t->got, at, len);
			t->got += n;
			at += n;
			len -= n;
			v = t->got == sizeof(t->in_head) ? take_header(t) : RDS_GOOD;
			if (v != RDS_GOOD || !t->in)
				return v;
		}
		in_payload = t->got - sizeof(t->in_head);
		n = copy(t->in->data + in_payload, t->in->len - in_payload, at, len);
		t->got += n;
		at += n;
		len -= n;
		if (t->got == sizeof(t->in_head) + t->in->len)
			take_message(t);
	} while (len);
	return RDS_GOOD;
}

/*
 * Reads what is there, at most `most` pieces. Returns 0, -EAGAIN when nothing more is there, or another negative errno at
 * the end; *ret_v is the rule that the peer broke.
 */
static int receive(struct tcp *t, unsigned most, enum rds_verdict *ret_v)
{
	static uint8_t buf[READ_SIZE];
	ssize_t n;

	for (*ret_v = RDS_GOOD; most && *ret_v == RDS_GOOD; most--) {
		n = recv(t->watch.fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n <= 0)
			return n ? -errno : -ECONNRESET;
		*ret_v = take_octets(t, buf, (size_t)n);
		if (t->c.paused)
			return 0;
	}
	return 0;
}

/* --- states --- */

static void stand(struct tcp *t)
{
	t->state = UP;
	t->has_stood = t->c.map_due = true;
	t->retry_ms = RETRY_MS;
	rds_timer_stop(&t->retry);
	transmit(t);
}

static int error_of(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) ? errno : err;
}

/* The larger address has made the smaller one know of it by connecting. */
static void connected(struct tcp *t)
{
	if (error_of(t->watch.fd)) {
		lost(t);
	} else if (rds_addr_order(&t->c.local, &t->c.peer) < 0) {
		stand(t);
	} else {
		lose(t);
		t->state = CALLED;
		rds_timer_set(loop_of(t), &t->retry, CALL_BACK_MS);
	}
}

/* Reads all that is there, whoever has to wait for it: this TCP connection has no further use. */
static int drain(struct tcp *t, enum rds_verdict *ret_v)
{
	int r;

	do {
		t->c.paused = false;
		r = receive(t, READS, ret_v);
	} while (!r && *ret_v == RDS_GOOD);
	return r;
}

static void ready_up(struct tcp *t, uint32_t events)
{
	enum rds_verdict v = RDS_GOOD;
	int r = 0;

	if (events & (EPOLLHUP | EPOLLERR))
		r = drain(t, &v);
	else if (!t->c.paused && events & EPOLLIN)
		r = receive(t, READS, &v);
	if (v != RDS_GOOD) {
		broke_rule(t, v);
	} else if ((r && r != -EAGAIN && r != -EINTR) || events & (EPOLLHUP | EPOLLERR)) {
		lost(t);
	} else {
		take_acks(t);
		transmit(t);
	}
}

static void ready(struct rds_watch *w, uint32_t events)
{
	struct tcp *t = ut_container(w, struct tcp, watch);

	if (t->state == CONNECTING)
		connected(t);
	else
		ready_up(t, events);
}

static void retry_due(struct rds_timer *timer)
{
	struct tcp *t = ut_container(timer, struct tcp, retry);

	if (t->state == CALLED)
		t->state = DOWN;
	if (t->state == DOWN && has_work(t))
		begin_connect(t);
}

/* A peer that says nothing is asked after as many seconds, and so often, as by Linux's rds_tcp. */
#define KEEPALIVE_S 5
#define KEEPALIVE_PROBES 5

static void tune(int fd)
{
	int on = 1, seconds = KEEPALIVE_S, probes = KEEPALIVE_PROBES;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

/* A socket that connects from the local address. Returns it or a negative errno. */
static int dial(const struct tcp *t)
{
	struct sockaddr_storage from, to;
	struct rsp_addr peer = t->c.peer;
	socklen_t from_len = rsp_addr_to(&t->c.local, &from), to_len;
	int fd = socket(from.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), r = 0;

	if (fd < 0)
		return -errno;
	peer.port = htons(WIRE_RDS_TCP_PORT);
	to_len = rsp_addr_to(&peer, &to);
	tune(fd);
	if (bind(fd, (struct sockaddr *)&from, from_len) ||
	    (connect(fd, (struct sockaddr *)&to, to_len) && errno != EINPROGRESS))
		r = -errno;
	if (!r)
		return fd;
	close(fd);
	return r;
}

static void begin_connect(struct tcp *t)
{
	int fd = dial(t);

	t->watch = (struct rds_watch){ fd < 0 ? -1 : fd, EPOLLOUT, ready };
	if (fd >= 0 && !rds_watch_add(loop_of(t), &t->watch)) {
		t->state = CONNECTING;
		return;
	}
	rds_watch_close(loop_of(t), &t->watch);
	retry_later(t);
}

/* --- the listener --- */

int rds_tcp_listen(const struct rsp_addr *addr)
{
	struct rsp_addr at = *addr;
	struct sockaddr_storage ss;
	socklen_t len;
	int fd, on = 1, r = 0;

	at.port = htons(WIRE_RDS_TCP_PORT);
	len = rsp_addr_to(&at, &ss);
	fd = socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&ss, len) || listen(fd, 64))
		r = -errno;
	if (!r)
		return fd;
	close(fd);
	return r;
}

/* Without a trace at this end: nothing was sent on it. */
static void refuse(int fd)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

/* The peer has given up the connection before: TCP has acknowledged what is still to be read of it. */
static void replace(struct tcp *t, int fd)
{
	enum rds_verdict v;

	if (t->state == UP)
		drain(t, &v);
	lose(t);
	rds_timer_stop(&t->retry);
	t->watch = (struct rds_watch){ fd, EPOLLIN, ready };
	if (rds_watch_add(loop_of(t), &t->watch)) {
		rds_watch_close(loop_of(t), &t->watch);
		return;
	}
	stand(t);
}

void rds_tcp_accept(struct rds_node *n, int listener, const struct rsp_addr *local)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	int fd = accept4(listener, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct rsp_addr peer;
	struct rds_conn *c;

	if (fd < 0)
		return;
	rsp_addr_from(&peer, (const struct sockaddr *)&from);
	peer.port = 0;
	/* Messages within a carrier take no connection. */
	c = rds_listener_find(n, &peer) ? NULL : rds_node_conn(n, local, &peer);
	if (c && rds_addr_order(&peer, local) < 0) {
		tune(fd);
		replace(tcp_of(c), fd);
		return;
	}
	refuse(fd);
	if (c && tcp_of(c)->state == DOWN)
		begin_connect(tcp_of(c));
}

/* --- the table --- */

static struct rds_conn *make(void)
{
	struct tcp *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->watch.fd = -1;
	t->retry_ms = RETRY_MS;
	rds_timer_init(&t->retry, retry_due);
	rds_timer_init(&t->ack, ack_due);
	return &t->c;
}

static void kick(struct rds_conn *c)
{
	struct tcp *t = tcp_of(c);

	if (t->state == UP && !t->begun)
		transmit(t);
	else if (t->state == DOWN && has_work(t) && ut_list_empty(&t->retry.node))
		begin_connect(t);
}

static bool has_begun(const struct rds_conn *c)
{
	return tcp_of(c)->begun && !tcp_of(c)->sending_map;
}

static bool is_up(const struct rds_conn *c)
{
	return tcp_of(c)->state == UP;
}

static void resume(struct rds_conn *c)
{
	struct tcp *t = tcp_of(c);

	c->paused = false;
	if (t->state == UP)
		watch_both(t, t->begun);
}

const struct rds_transport rds_tcp = {
	.name = "tcp", .type = RDS_TRANS_TCP, .make = make, .kick = kick, .has_begun = has_begun, .is_up = is_up,
	.resume = resume,
};

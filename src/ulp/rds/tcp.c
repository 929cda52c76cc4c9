/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/tcp.h"

#include "ulp/rds/choose.h"
#include "ulp/rds/exchange.h"
#include "ulp/rds/keep.h"
#include "ulp/rds/node.h"
#include "ulp/rds/say.h"
#include "ulp/rds/standby.h"
#include "ulp/rds/store.h"
#include "ulp/rds/tcp_receive.h"
#include "ulp/rds/tcp_send.h"
#include "ulp/rds/tcp_socket.h"

#include <errno.h>
#include <linux/rds.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define RETRY_MS 10                     /* the first one; each further attempt waits twice as long */
#define RETRY_MOST_MS 1000
#define LIMIT_OF_CHOICE_MS 2000         /* of an attempt where RDMA may do */
#define CALL_BACK_MS 1000               /* for a smaller address to connect */
#define END_MS 5000                     /* for the peer to end a connection of the owner before */
#define HOLD_MS 1000                    /* for the first message of a peer that has accepted */

struct rds_tcp *rds_tcp_of(const struct rds_conn *c)
{
	return (struct rds_tcp *)(uintptr_t)c;
}

struct rds_loop *rds_tcp_loop(struct rds_tcp *t)
{
	return &t->c.node->loop;
}

static void begin_connect(struct rds_tcp *t);

/* --- the end of a TCP connection --- */

/*
 * True if there is something to be sent (the map alone makes no connection), or if the peer relies on this end: one with
 * a larger address that has messages waits for the smaller one to connect again.
 */
static bool has_work(const struct rds_tcp *t)
{
	return rds_flow_next(&t->c.flow) || (t->c.has_stood && rds_addr_order(&t->c.local, &t->c.peer) < 0);
}

static void retry_later(struct rds_tcp *t)
{
	rds_timer_by(rds_tcp_loop(t), &t->retry, t->retry_ms);
	t->retry_ms = t->retry_ms * 2 > RETRY_MOST_MS ? RETRY_MOST_MS : t->retry_ms * 2;
}

/* The parts of both directions that are under way begin anew. */
static void lose(struct rds_tcp *t)
{
	if (t->state == RDS_TCP_UP)
		t->c.node->counters.conn_reset++;
	t->state = RDS_TCP_DOWN;
	rds_keep_conn(&t->c);
	rds_standby_keep(RDS_STANDBY_TCP, (uint64_t)t->c.row, NULL, -1);
	rds_watch_close(rds_tcp_loop(t), &t->watch);
	rds_timer_stop(&t->ack);
	rds_message_free(t->in);
	t->in = NULL;
	if (t->held)
		rds_timer_stop(&t->retry);
	t->got = t->sent = 0;
	t->written = t->stream = t->skip = 0;
	t->c.paused = t->ends = t->held = false;
	rds_out_restart(&t->c);
}

static void lost(struct rds_tcp *t)
{
	lose(t);
	rds_choose_again(&t->c);
	if (has_work(t))
		retry_later(t);
}

static void broke_rule(struct rds_tcp *t, enum rds_verdict v)
{
	char local[RDS_ADDR_TEXT], peer[RDS_ADDR_TEXT];

	rds_say("RDS connection %s -> %s: the peer broke a rule of RDS (%s): the TCP connection is closed, and "
		"made again for the messages that wait; look at the program at the other end",
		rds_addr_text(local, &t->c.local), rds_addr_text(peer, &t->c.peer), rds_rules[v]);
	lost(t);
}

/* --- states --- */

static void stand(struct rds_tcp *t)
{
	t->state = RDS_TCP_UP;
	t->c.has_stood = t->c.map_due = true;
	t->retry_ms = RETRY_MS;
	rds_keep_conn(&t->c);
	rds_timer_stop(&t->retry);
	rds_choose_stood(&t->c);
	rds_tcp_transmit(t);
}

/*
 * TCP acknowledges messages for a peer that has accepted the connection and been killed before its standby had the descriptor. So they wait for
 * the peer's map.
 */
static void stand_held(struct rds_tcp *t)
{
	t->held = true;
	stand(t);
	rds_timer_set(rds_tcp_loop(t), &t->retry, HOLD_MS);
}

static void hold_no_more(struct rds_tcp *t)
{
	t->held = false;
	rds_tcp_transmit(t);
}

/* The larger address has made the smaller one know of it by connecting. */
static void connected(struct rds_tcp *t)
{
	if (rds_tcp_error(t->watch.fd)) {
		lost(t);
	} else if (rds_addr_order(&t->c.local, &t->c.peer) < 0) {
		stand_held(t);
	} else {
		lose(t);
		t->state = RDS_TCP_CALLED;
		rds_timer_set(rds_tcp_loop(t), &t->retry, CALL_BACK_MS);
	}
}

static void ready_up(struct rds_tcp *t, uint32_t events)
{
	enum rds_verdict v = RDS_GOOD;
	int r = 0;

	if (events & (EPOLLHUP | EPOLLERR))
		r = rds_tcp_drain(t, &v);
	else if (!t->c.paused && events & EPOLLIN)
		r = rds_tcp_receive(t, RDS_TCP_READS, &v);
	if (v == RDS_NO_ROOM)
		return; /* what TCP has acknowledged is read when there is memory, be the connection at its end or not */
	if (v != RDS_GOOD) {
		broke_rule(t, v);
	} else if ((r && !rds_may_retry(r)) || events & (EPOLLHUP | EPOLLERR)) {
		lost(t);
	} else {
		rds_tcp_take_acks(t);
		rds_tcp_transmit(t);
	}
}

static void ready(struct rds_watch *w, uint32_t events)
{
	struct rds_tcp *t = ut_container(w, struct rds_tcp, watch);

	if (t->state == RDS_TCP_CONNECTING)
		connected(t);
	else
		ready_up(t, events);
}

/* The peer has not answered in time; or just now: then TCP has acknowledged what it has sent, which is read. */
static void give_up(struct rds_tcp *t)
{
	if (rds_tcp_stop(t->watch.fd))
		connected(t);
	else
		lost(t);
}

/* The peer does not end the connection. From here on TCP acknowledges nothing; what it has acknowledged is read. */
static void end_old(struct rds_tcp *t)
{
	enum rds_verdict v;

	shutdown(t->watch.fd, SHUT_RDWR);
	rds_tcp_drain(t, &v);
	if (v == RDS_NO_ROOM)
		rds_timer_set(rds_tcp_loop(t), &t->retry, RETRY_MS);
	else
		lost(t);
}

static void retry_due(struct rds_timer *timer)
{
	struct rds_tcp *t = ut_container(timer, struct rds_tcp, retry);

	if (t->state == RDS_TCP_CALLED)
		t->state = RDS_TCP_DOWN;
	if (t->state == RDS_TCP_CONNECTING)
		give_up(t);
	else if (t->ends)
		end_old(t);
	else if (t->held)
		hold_no_more(t);
	if (t->state == RDS_TCP_DOWN && has_work(t))
		begin_connect(t);
}

/* The standby has the descriptor first: the peer may send as soon as the connection stands. */
static void begin_connect(struct rds_tcp *t)
{
	int fd = rds_tcp_socket(&t->c);

	rds_timer_stop(&t->retry); /* of an attempt that is due no more: it would end this one */
	t->watch = (struct rds_watch){ fd < 0 ? -1 : fd, EPOLLOUT, ready };
	if (fd >= 0 && !rds_standby_keep(RDS_STANDBY_TCP, (uint64_t)t->c.row, NULL, fd) && !rds_tcp_dial(&t->c, fd) && !rds_watch_add(rds_tcp_loop(t), &t->watch)) {
		t->state = RDS_TCP_CONNECTING;
		if (rds_choose_may(&t->c))
			rds_timer_set(rds_tcp_loop(t), &t->retry, LIMIT_OF_CHOICE_MS);
		return;
	}
	lost(t);
}

/* --- what the listener has --- */

/* The peer has given up the connection before: TCP has acknowledged octets that are still to be read of it. Without memory for them, the peer tries again. */
static void replace(struct rds_tcp *t, int fd)
{
	enum rds_verdict v = RDS_GOOD;

	if (t->state == RDS_TCP_UP)
		rds_tcp_drain(t, &v);
	if (v == RDS_NO_ROOM) {
		rds_tcp_refuse(fd);
		return;
	}
	lose(t);
	rds_timer_stop(&t->retry);
	t->watch = (struct rds_watch){ fd, EPOLLIN, ready };
	if (rds_standby_keep(RDS_STANDBY_TCP, (uint64_t)t->c.row, NULL, fd) || rds_watch_add(rds_tcp_loop(t), &t->watch))
		lost(t);
	else
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
	c = rds_listener_find(n, &peer) ? NULL : rds_node_conn(n, local, &peer, &rds_tcp);
	if (c && rds_addr_order(&peer, local) < 0) {
		rds_tcp_tune(fd);
		replace(rds_tcp_of(c), fd);
		return;
	}
	rds_tcp_refuse(fd);
	if (c && rds_tcp_of(c)->state == RDS_TCP_DOWN)
		begin_connect(rds_tcp_of(c));
}

/* --- the table --- */

static struct rds_conn *make(void)
{
	struct rds_tcp *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->watch.fd = -1;
	t->retry_ms = RETRY_MS;
	rds_timer_init(&t->retry, retry_due);
	rds_timer_init(&t->ack, rds_tcp_ack_due);
	return &t->c;
}

static void kick(struct rds_conn *c)
{
	struct rds_tcp *t = rds_tcp_of(c);

	if (t->state == RDS_TCP_UP && !t->c.out.begun)
		rds_tcp_transmit(t);
	else if (t->state == RDS_TCP_DOWN && has_work(t) && ut_list_empty(&t->retry.node))
		begin_connect(t);
}

static bool is_up(const struct rds_conn *c)
{
	return rds_tcp_of(c)->state == RDS_TCP_UP;
}

static void resume(struct rds_conn *c)
{
	struct rds_tcp *t = rds_tcp_of(c);

	c->paused = false;
	if (t->state == RDS_TCP_UP)
		rds_tcp_watch(t, t->c.out.begun);
}

static void leave(struct rds_conn *c)
{
	lose(rds_tcp_of(c));
}

/* --- the next owner --- */

static void keep(const struct rds_conn *c, struct rds_conn_state *state)
{
	const struct rds_tcp *t = rds_tcp_of(c);

	state->in = rds_store_place(t->in);
	state->up = t->state == RDS_TCP_UP && (state->in || !t->in);
	state->stream = t->stream;
	state->got = (uint32_t)t->got;
	memcpy(state->head, t->in_head, sizeof(state->head));
}

/*
 * TCP has acknowledged what the peer has sent: it is read to the end, which this end's own one brings about. Octets that the owner before has
 * taken, and not removed from the socket, are skipped. What it has sent is sent again on the next connection.
 */
static void read_to_end(struct rds_tcp *t, const struct rds_conn_state *state, uint64_t removed)
{
	t->state = RDS_TCP_UP;
	t->ends = true;
	if (state->up) {
		t->stream = state->stream;
		t->skip = state->stream - removed;
		t->got = state->got;
		memcpy(t->in_head, state->head, sizeof(t->in_head));
		t->in = rds_store_at(state->in);
		if (t->got >= sizeof(t->in_head))
			rds_header_get(&t->header, t->in_head);
	}
	rds_keep_conn(&t->c);
	shutdown(t->watch.fd, SHUT_WR);
	rds_timer_set(rds_tcp_loop(t), &t->retry, END_MS);
}

/* The octets of a message are in one that has room for them. */
static bool is_sound(const struct rds_conn_state *state)
{
	const struct rds_message *m = rds_store_at(state->in);
	struct rds_header h;

	if (!state->up || state->got < WIRE_RDS_HEADER_LEN)
		return !state->up || !state->in;
	return m && m->kept == RDS_KEPT_NOT && rds_header_get(&h, state->head) == RDS_GOOD && m->len == h.len &&
	       state->got < WIRE_RDS_HEADER_LEN + h.len && rds_store_room(m) - sizeof(*m) >= m->len;
}

static int take_over(struct rds_conn *c, const struct rds_conn_state *state, int fd)
{
	const struct rds_conn_state was = *state;
	struct rds_tcp *t = rds_tcp_of(c);
	uint64_t removed;
	int e;

	t->watch = (struct rds_watch){ fd, EPOLLIN, ready };
	errno = 0;
	if (fd < 0 || !is_sound(&was) || !rds_tcp_removed(fd, &removed) || (was.up ? removed > was.stream : removed)) {
		if (rds_may_retry(-errno))
			return -errno;
		lost(t);
		return 0;
	}
	e = rds_watch_add(rds_tcp_loop(t), &t->watch);
	if (!e)
		read_to_end(t, &was, removed);
	return e;
}

const struct rds_transport rds_tcp = {
	.name = "tcp", .type = RDS_TRANS_TCP, .make = make, .kick = kick, .is_up = is_up,
	.resume = resume, .leave = leave, .keep = keep, .take_over = take_over,
};

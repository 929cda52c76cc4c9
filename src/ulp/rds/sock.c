/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/sock.h"

#include "ulp/rds/job.h"
#include "ulp/rds/keep.h"
#include "ulp/rds/node.h"
#include "ulp/rds/region.h"
#include "ulp/rds/store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rds.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define READS 16                        /* records of one socket in one round */

/* --- the program's records --- */

/* Reads the octets of a payload behind those of the record. */
static int read_rest(int fd, uint8_t *to, size_t len)
{
	ssize_t n;

	for (size_t at = 0; at < len; at += (size_t)n) {
		n = pread(fd, to + at, len - at, (off_t)at);
		if (n <= 0)
			return n ? -errno : -EPROTO;
	}
	return 0;
}

/* The message of a record. Returns 0 or a negative errno. */
static int read_message(const struct rds_record *r, const uint8_t *data, size_t len, int fd, struct rds_message **ret)
{
	struct rds_message *m;
	int e;

	if (r->len > RDS_MESSAGE_MAX || r->nr_works > RDS_WORK_MAX || len != (r->len < RDS_INLINE ? r->len : RDS_INLINE) ||
	    (r->len > RDS_INLINE || r->nr_works) != (fd >= 0))
		return -EPROTO;
	m = rds_message_new(r->len);
	if (!m)
		return -ENOMEM;
	memcpy(m->data, data, len);
	e = read_rest(fd, m->data + len, r->len - len);
	if (e)
		rds_message_free(m);
	else
		*ret = m;
	return e;
}

/* The destination of a record: its own, or that of connect(). */
static const struct rsp_addr *destination(const struct rds_sock *s, const struct rds_record *r)
{
	const struct rsp_addr *to = r->addr.family ? &r->addr : &s->peer;

	return to->family && to->family == s->bound.family ? to : NULL;
}

static void free_message(struct rds_message *m)
{
	for (int i = 0; i < RDS_WORK_MAX; i++)
		rds_job_put(m->works[i]);
	rds_message_free(m);
}

/* The works of a record; an atomic has a place of its own. Returns 0 or a negative errno: -EPROTO: they are not good. */
static int read_works(struct rds_sock *s, const struct rds_record *r, int fd, struct rds_message *m)
{
	uint64_t at = r->len > RDS_INLINE ? r->len - RDS_INLINE : 0;
	struct rds_job *j;
	int place;

	m->silent = r->nr_works && !r->len && !r->cookie;
	for (uint32_t i = 0; i < r->nr_works; i++) {
		j = rds_job_new(&r->work[i], fd, &at);
		if (!j)
			return -errno;
		place = j->work.kind >= RDS_WORK_FADD;
		if (m->works[place]) {
			rds_job_put(j);
			return -EPROTO;
		}
		j->sender = s->id;
		j->recverr = s->recverr;
		m->works[place] = j;
		m->silent = m->silent && j->work.flags & RDS_RDMA_SILENT;
	}
	return 0;
}

/* The room that a message takes until it is acknowledged, and those of its works until they are done. */
static size_t room_of(const struct rds_message *m)
{
	size_t n = m->len;

	for (int i = 0; i < RDS_WORK_MAX; i++)
		n += m->works[i] ? m->works[i]->work.bytes : 0;
	return n;
}

/* Returns 0, also for a record that is not good, or a negative errno: nothing is taken for want of memory. */
static int take_data(struct rds_sock *s, const struct rds_record *r, const uint8_t *data, size_t len, int fd)
{
	const struct rsp_addr *to = destination(s, r);
	struct rds_message *m = NULL;
	int e = to ? read_message(r, data, len, fd, &m) : -EPROTO;
	bool has_work;
	size_t room;

	if (!e)
		e = read_works(s, r, fd, m);
	if (e) {
		if (m)
			free_message(m);
		return rds_may_retry(e) ? e : 0;
	}
	m->sender = s->id;
	m->record = r->id;
	m->sport = ntohs(s->bound.port);
	m->dport = ntohs(to->port);
	m->cookie = r->cookie;
	room = room_of(m);
	has_work = m->works[0] != NULL;
	s->sent_bytes += room;
	e = rds_node_send(s->node, s, to, m);
	if (e == -ENOMEM) {
		s->sent_bytes -= room;
		free_message(m);
		return e;
	}
	s->node->counters.send_rdma += has_work;
	return 0;
}

/* A send has met a congested port. The news may have come before this. */
static void take_congested(struct rds_sock *s, const struct rds_record *r)
{
	const struct rds_map *map = rds_map_find(s->node->maps, &r->addr);
	uint64_t bit = RDS_CONG_MONITOR_MASK(ntohs(r->addr.port));

	s->node->counters.cong_send_blocked++;
	s->seen = true;
	s->cong_mask |= bit;
	rds_keep_sock(s);
	if (!map || !rds_map_test(map, ntohs(r->addr.port)))
		rds_sock_updated(s, bit);
}

/* What it is in is freed. */
static void free_arrival(struct rds_arrival *a)
{
	struct rds_message *m = a->m;
	struct rds_job *j = a->job;

	if (j)
		rds_keep_told(j);
	rds_job_put(j);
	rds_message_free(m);
}

static void close_sock(struct rds_sock *s)
{
	struct ut_list *e;

	while ((e = ut_list_pop(&s->queue)))
		free_arrival(ut_container(e, struct rds_arrival, node));
	s->queue_bytes = 0;
	rds_region_free_all(&s->regions);
	if (s->congested)
		rds_node_congested(s->node, &s->bound, false);
	rds_keep_sock_close(s);
	rds_watch_close(&s->node->loop, &s->watch);
	ut_list_del(&s->node_entry);
	rds_node_resume(s->node);
	free(s);
}

/* What a record says is done once, though an owner may be killed between any two steps. Returns as take_data(). */
static int take_once(struct rds_sock *s, const struct rds_record *r, const uint8_t *data, size_t len, int fd)
{
	int e = 0;

	if (rds_keep_is_taken(s, r->id))
		return 0;
	rds_keep_taking(s, r->id);
	if (r->kind == RDS_RECORD_DATA)
		e = take_data(s, r, data, len, fd);
	else if (r->kind == RDS_RECORD_CONGESTED)
		take_congested(s, r);
	if (!e)
		rds_keep_took(s, r->id);
	return e;
}

/* Takes one record. Returns 0, -EAGAIN, or another negative errno at the end. */
static int take_record(struct rds_sock *s)
{
	static uint8_t data[RDS_INLINE];
	struct rds_record r;
	struct iovec iov[2] = { { &r, sizeof(r) }, { data, sizeof(data) } };
	int fd, flags, e = 0;
	ssize_t n = rds_take(s->watch.fd, iov, 2, &fd, MSG_DONTWAIT | MSG_PEEK, &flags);

	if (n == -ECONNRESET) /* the program has closed it with arrivals unread; its records are still here */
		return 0;
	if (n <= 0)
		return !n ? -ENOTCONN : rds_may_retry(n) ? -EAGAIN : (int)n;
	if (flags & MSG_CTRUNC) /* no descriptor is free: the record stays until there is one */
		return -EAGAIN;
	if ((size_t)n >= sizeof(r))
		e = take_once(s, &r, data, (size_t)n - sizeof(r), fd);
	if (!e) /* or it stays until there is memory */
		rds_skip(s->watch.fd);
	if (fd >= 0)
		close(fd);
	return e ? -EAGAIN : 0;
}

void rds_sock_flow(struct rds_sock *s)
{
	uint32_t events = s->sent_bytes < s->sndbuf ? EPOLLIN : 0;

	if (!ut_list_empty(&s->queue) || s->cong_notify)
		events |= EPOLLOUT;
	rds_watch_set(&s->node->loop, &s->watch, events);
}

/* --- the program's arrivals --- */

/* The record is received once, by its number. */
static void claim(const struct rds_sock *s, struct rds_record *head, uint32_t number)
{
	head->number = number;
	head->claim = (uint32_t)(s->claims - s->node->maps->claims);
	head->generation = s->node->generation;
}

/* What a work has read, or its end alone. Returns as give(). */
static int give_work(struct rds_sock *s, struct rds_job *j)
{
	struct rds_record head = { .kind = RDS_RECORD_DONE, .nr_works = j->notify, .work = { j->work } };
	struct iovec iov = { &head, sizeof(head) };
	bool has_read = !j->work.status && rds_work_in(&j->work);
	int fd = has_read ? rds_job_result(j) : -1, r;

	if (has_read && fd < 0)
		return -EAGAIN;
	rds_keep_number(s, &j->number);
	claim(s, &head, j->number);
	r = rds_pass(s->watch.fd, &iov, 1, fd, MSG_DONTWAIT);
	if (fd >= 0)
		close(fd);
	return rds_may_retry(r) ? -EAGAIN : r;
}

/* Gives one record. Returns 0, -EAGAIN if there is no room, or another negative errno. */
static int give(struct rds_sock *s, const struct rds_record *head, const uint8_t *data)
{
	size_t now = head->len < RDS_INLINE ? head->len : RDS_INLINE;
	struct iovec iov[2] = { { (void *)head, sizeof(*head) }, { (void *)data, now } };
	struct iovec rest = { (void *)(data + now), head->len - now };
	int fd = rest.iov_len ? rds_memfd(&rest, 1) : -1, r;

	if (rest.iov_len && fd < 0)
		return -EAGAIN;
	r = rds_pass(s->watch.fd, iov, 2, fd, MSG_DONTWAIT);
	if (fd >= 0)
		close(fd);
	return rds_may_retry(r) ? -EAGAIN : r;
}

static int give_arrival(struct rds_sock *s, const struct rds_arrival *a)
{
	struct rds_record head = { .kind = RDS_RECORD_DATA };

	if (a->job)
		return give_work(s, a->job);
	rds_keep_number(s, &a->m->number);
	claim(s, &head, a->m->number);
	head.addr = a->m->from;
	head.cookie = a->m->cookie;
	head.used_key = a->m->used_key;
	head.len = a->m->len;
	return give(s, &head, a->m->data);
}

/* With RDS_CONG_MONITOR the program is told which ports; else it wakes up, and looks again. */
static int give_update(struct rds_sock *s)
{
	struct rds_record head = { .kind = RDS_RECORD_UPDATE, .mask = s->monitor ? s->cong_notify : 0 };
	int r = give(s, &head, (const uint8_t *)"");

	if (r != -EAGAIN)
		s->cong_notify = 0;
	return r;
}

static void set_congested(struct rds_sock *s)
{
	bool is = s->queue_bytes > (s->congested ? s->rcvbuf / 2 : s->rcvbuf);

	if (is == s->congested)
		return;
	s->congested = is;
	rds_node_congested(s->node, &s->bound, is);
}

/* Gives what the program's end takes. */
static void flush(struct rds_sock *s)
{
	bool was_full = rds_sock_is_full(s);
	struct rds_arrival *a;

	if (s->cong_notify && give_update(s) == -EAGAIN)
		return;
	while ((a = ut_list_first(&s->queue, struct rds_arrival, node)) && give_arrival(s, a) != -EAGAIN) {
		s->queue_bytes -= a->m ? a->m->len : 0;
		ut_list_del(&a->node);
		free_arrival(a);
	}
	set_congested(s);
	if (was_full && !rds_sock_is_full(s))
		rds_node_resume(s->node);
}

bool rds_sock_is_full(const struct rds_sock *s)
{
	return s->queue_bytes > s->rcvbuf * RDS_HARD;
}

static void queue(struct rds_sock *s, struct rds_arrival *a)
{
	ut_list_init(&a->node);
	ut_list_add_tail(&s->queue, &a->node);
	rds_sock_flow(s);
}

/* Not given at once: connections are at work on their lists. */
void rds_sock_worked_again(struct rds_sock *s, struct rds_job *j)
{
	j->queued = (struct rds_arrival){ .job = j };
	rds_job_use(j);
	queue(s, &j->queued);
}

void rds_sock_worked(struct rds_sock *s, struct rds_job *j)
{
	rds_keep_ended(s, j);
	rds_sock_worked_again(s, j);
}

void rds_sock_again(struct rds_sock *s, struct rds_message *m)
{
	m->queued = (struct rds_arrival){ .m = m };
	s->queue_bytes += m->len;
	queue(s, &m->queued);
}

bool rds_sock_deliver(struct rds_sock *s, struct rds_message *m)
{
	s->node->counters.recv_queued++;
	s->node->counters.recv_bytes_added_to_socket += m->len;
	rds_sock_again(s, m);
	flush(s);
	rds_sock_flow(s);
	return !rds_sock_is_full(s);
}

void rds_sock_updated(struct rds_sock *s, uint64_t freed)
{
	uint64_t watched = s->monitor ? s->cong_mask & freed : s->seen ? 1 : 0;

	if (!watched)
		return;
	s->cong_notify |= watched;
	s->cong_mask &= ~freed;
	s->seen = false;
	flush(s);
	rds_sock_flow(s);
}

/* --- opening --- */

static void ready(struct rds_watch *w, uint32_t events)
{
	struct rds_sock *s = ut_container(w, struct rds_sock, watch);
	int r = 0;

	if (events & EPOLLOUT)
		flush(s);
	/* A program that has gone has its records taken before its end is seen. */
	for (int i = 0; !r && i < READS && (s->sent_bytes < s->sndbuf || events & EPOLLHUP); i++)
		r = take_record(s);
	if (r && r != -EAGAIN)
		close_sock(s);
	else
		rds_sock_flow(s);
}

/* A socket of this descriptor, which its program has named. Returns 0 or a negative errno: -EEXIST: it is there already. */
static int make_sock(struct rds_node *n, int un, uint64_t id, struct rds_sock **ret)
{
	struct rds_sock *s = calloc(1, sizeof(*s));
	int e = 0;

	if (!s)
		return -ENOMEM;
	*s = (struct rds_sock){ .watch = { un, EPOLLIN, ready }, .node = n, .id = id, .sndbuf = RDS_BUFFER, .rcvbuf = RDS_BUFFER,
				.transport = (int)RDS_TRANS_NONE, .name_len = sizeof(s->name) };
	ut_list_init(&s->node_entry);
	ut_list_init(&s->queue);
	ut_list_init(&s->regions);
	if (getpeername(un, (struct sockaddr *)&s->name, &s->name_len))
		e = -errno;
	else if (rds_sock_find(n, &s->name, s->name_len))
		e = -EEXIST;
	if (!e)
		e = rds_watch_add(&n->loop, &s->watch);
	if (e) {
		free(s);
		return e;
	}
	ut_list_add_tail(&n->socks, &s->node_entry);
	*ret = s;
	return 0;
}

static void drop_sock(struct rds_node *n, struct rds_sock *s)
{
	rds_watch_close(&n->loop, &s->watch);
	ut_list_del(&s->node_entry);
	free(s);
}

int rds_sock_open(struct rds_node *n, int un)
{
	struct sockaddr_un name;
	socklen_t len = sizeof(name);
	struct rds_sock *s;
	int r;

	/* The owner before has taken it, and not answered. */
	if (!getpeername(un, (struct sockaddr *)&name, &len) && rds_sock_find(n, &name, len)) {
		close(un);
		return 0;
	}
	r = make_sock(n, un, n->next_sock + 1, &s);
	if (r) {
		close(un);
		return r;
	}
	n->next_sock++;
	r = rds_keep_sock_open(s);
	if (r)
		drop_sock(n, s);
	return r;
}

int rds_sock_take(struct rds_node *n, int un, struct rds_store_sock *row, _Atomic uint64_t *claims)
{
	const struct rds_sock_state *state = &row->state[atomic_load(&row->which) & 1];
	const struct rds_map *map;
	struct rds_sock *s;
	int r = make_sock(n, un, atomic_load(&row->id), &s);

	if (r) {
		close(un);
		return rds_may_retry(r) ? r : 0; /* else its program has gone */
	}
	s->row = row;
	s->claims = claims;
	s->bound = state->bound;
	s->peer = state->peer;
	s->sndbuf = state->sndbuf;
	s->rcvbuf = state->rcvbuf;
	s->cong_mask = state->cong_mask;
	s->transport = state->transport;
	s->monitor = state->monitor;
	s->recverr = state->recverr;
	s->seen = state->seen;
	map = s->bound.family ? rds_map_find(n->maps, &s->bound) : NULL;
	s->congested = map && rds_map_test(map, ntohs(s->bound.port));
	return 0;
}

struct rds_sock *rds_sock_find(struct rds_node *n, const struct sockaddr_un *name, socklen_t len)
{
	struct rds_sock *s;

	ut_list_each(s, &n->socks, node_entry)
		if (s->name_len == len && !memcmp(&s->name, name, len))
			return s;
	return NULL;
}

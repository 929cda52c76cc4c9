/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "abi/umad/file.h"

#include "mgmt/agents.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/fault_calls.h"
#include "util/idtab.h"
#include "util/syscall.h"
#include "wire/cm_fields.h"
#include "wire/rmpp_fields.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

/* The fabric process answers at once; a MAD that it does not take for so long is lost, as on a link. */
#define ANSWER_MS 5000
#define ROOM_MS 2000

static struct ut_mutex files_lock = UT_MUTEX_INIT;
static struct ut_idtab files UT_GUARDED_BY(files_lock); /* by number + 1 */

/* --- the table of files --- */

static void free_sent(struct umad_file *f, struct umad_sent *s)
{
	ut_list_del(&s->node);
	ut_timer_clear(&f->deadlines, &s->timer);
	ut_heap_unreserve(&f->deadlines);
	free(s);
}

static void free_ready(struct umad_ready *r)
{
	ut_list_del(&r->node);
	free(r->mad);
	free(r);
}

static void end_agent(struct umad_file *f, unsigned n)
{
	struct umad_agent *a = &f->agents[n];
	struct umad_sent *s, *next;

	for (unsigned i = 0; i < UMAD_BUCKETS; i++)
		ut_list_each_safe(s, next, &f->sent[i], node)
			if (s->agent == n)
				free_sent(f, s);
	if (a->rmpp)
		rmpp_receiver_fini(a->rmpp);
	free(a->rmpp);
	*a = (struct umad_agent){ 0 };
}

static void free_file(struct umad_file *f)
{
	struct umad_ready *r;

	for (unsigned i = 0; i < ATT_AGENTS_MAX; i++)
		end_agent(f, i);
	while ((r = ut_list_first(&f->ready, struct umad_ready, node)))
		free_ready(r);
	ut_heap_fini(&f->deadlines);
	ut_close(f->sock);
	ut_close(f->timer);
	ut_close(f->event);
	ut_mutex_fini(&f->lock);
	free(f);
}

struct umad_file *umad_file_get(int fd)
{
	struct umad_file *f;

	if (fd < 0)
		return NULL;
	ut_lock(&files_lock);
	f = ut_idtab_get(&files, (uint32_t)fd + 1);
	if (f)
		f->refs++;
	ut_unlock(&files_lock);
	return f;
}

void umad_file_put(struct umad_file *f)
{
	unsigned left;

	ut_lock(&files_lock);
	left = --f->refs;
	ut_unlock(&files_lock);
	if (!left)
		free_file(f);
}

static struct umad_file *take_out(int fd)
{
	struct umad_file *f;

	ut_lock(&files_lock);
	f = ut_idtab_del(&files, (uint32_t)fd + 1);
	ut_unlock(&files_lock);
	return f;
}

/* A program may close(2) the number of a port: its file is found when the number is used again. */
static int publish(struct umad_file *f)
{
	struct umad_file *old = take_out(f->fd);
	int r;

	if (old)
		umad_file_put(old);
	ut_lock(&files_lock);
	r = ut_idtab_add(&files, (uint32_t)f->fd + 1, f);
	ut_unlock(&files_lock);
	return r;
}

static int watch(struct umad_file *f)
{
	int parts[] = { f->sock, f->timer, f->event };

	for (unsigned i = 0; i < 3; i++) {
		struct epoll_event ev = { .events = EPOLLIN, .data.fd = parts[i] };

		if (parts[i] < 0 || ut_epoll_add(f->fd, parts[i], &ev))
			return -errno;
	}
	return publish(f);
}

int umad_file_open(int sock)
{
	struct umad_file *f = ut_zalloc(sizeof(*f));
	int r;

	if (!f) {
		ut_close(sock);
		return -ENOMEM;
	}
	ut_mutex_init(&f->lock);
	f->refs = 1;
	f->timer_at = UT_NEVER;
	ut_list_init(&f->ready);
	for (unsigned i = 0; i < UMAD_BUCKETS; i++)
		ut_list_init(&f->sent[i]);
	f->sock = sock;
	f->fd = ut_epoll();
	f->timer = ut_timerfd();
	f->event = ut_fault_errno(EMFILE) ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = f->fd < 0 ? -errno : watch(f);
	if (!r)
		return f->fd;
	ut_close(f->fd);
	free_file(f);
	return r;
}

/* --- what wakes poll(2) --- */

static void set_event(struct umad_file *f) UT_REQUIRES(f->lock)
{
	bool want = !ut_list_empty(&f->ready);
	uint64_t one = 1;

	if (want == f->event_set)
		return;
	if (want)
		UT_SYS(SYS_write, f->event, &one, sizeof(one));
	else
		UT_SYS(SYS_read, f->event, &one, sizeof(one));
	f->event_set = want;
}

static uint64_t next_deadline(const struct umad_file *f)
{
	uint64_t at = ut_heap_next(&f->deadlines);

	for (unsigned i = 0; i < ATT_AGENTS_MAX; i++) {
		uint64_t r = f->agents[i].rmpp ? rmpp_receive_next(f->agents[i].rmpp) : UT_NEVER;

		at = r < at ? r : at;
	}
	return at;
}

static void set_timer(struct umad_file *f) UT_REQUIRES(f->lock)
{
	uint64_t at = next_deadline(f);
	struct itimerspec t = { 0 };

	if (at >= f->timer_at)
		return;
	t.it_value.tv_sec = (time_t)(at / UT_S);
	t.it_value.tv_nsec = (long)(at % UT_S);
	UT_SYS(SYS_timerfd_settime, f->timer, TFD_TIMER_ABSTIME, &t, NULL);
	f->timer_at = at;
}

/* Before the lock is released: poll(2) finds the file readable if and when there is work. */
static void settle(struct umad_file *f) UT_REQUIRES(f->lock)
{
	set_event(f);
	set_timer(f);
}

/* --- sending --- */

struct by_agent {
	struct umad_file *f;
	uint32_t agent;
};

static int send_to_fabric(struct umad_file *f, const struct att_msg *m)
{
	int r = att_send(f->sock, m, ROOM_MS);

	if (r == -EPIPE)
		f->gone = true;
	return r;
}

static void transmit(void *ctx, const struct att_addr *to, const uint8_t mad[ATT_MAD_LENGTH])
{
	struct by_agent *b = ctx;
	struct att_msg m = { .type = ATT_MAD };

	m.u.mad.agent = b->agent;
	m.u.mad.addr = *to;
	memcpy(m.u.mad.bytes, mad, ATT_MAD_LENGTH);
	send_to_fabric(b->f, &m); /* what does not leave is lost, and sent again */
}

static void send_sent(struct umad_file *f, struct umad_sent *s, bool again)
{
	struct by_agent b = { f, s->agent };
	struct rmpp_out out = { transmit, &b };
	uint8_t mad[ATT_MAD_LENGTH] = { 0 };

	if (!s->in_segments) {
		memcpy(mad, s->mad, s->length);
		transmit(&b, &s->to, mad);
	} else if (again) {
		rmpp_send_again(&s->rmpp, &out);
	} else {
		rmpp_send_more(&s->rmpp, &out);
	}
}

static struct ut_list *bucket_of(struct umad_file *f, const uint8_t *mad)
{
	uint64_t tid = wire_get_MAD_tid(mad);

	return &f->sent[(tid ^ tid >> 32) % UMAD_BUCKETS];
}

static bool same_transaction(const struct umad_sent *s, const uint8_t *mad)
{
	return wire_get_MAD_tid(s->mad) == wire_get_MAD_tid(mad) &&
	       wire_get_MAD_mgmt_class(s->mad) == wire_get_MAD_mgmt_class(mad);
}

/* ib_find_send_mad() of the kernel: what waits for an answer to, or an ACK of, this MAD. */
static struct umad_sent *find_sent(struct umad_file *f, uint32_t agent, const uint8_t *mad, const struct att_addr *from)
{
	struct umad_sent *s;

	ut_list_each(s, bucket_of(f, mad), node) {
		if (s->agent != agent || !same_transaction(s, mad) ||
		    agents_is_response(s->mad) == agents_is_response(mad))
			continue;
		/* Requests have the file's transaction ID; of an answer in segments another port may have the same. */
		if (!agents_is_response(s->mad) || s->to.lid == from->lid)
			return s;
	}
	return NULL;
}

/* is_duplicate() of the kernel. */
static bool is_duplicate(struct umad_file *f, const uint8_t *mad, const struct att_addr *to)
{
	bool response = agents_is_response(mad);
	struct umad_sent *s;

	ut_list_each(s, bucket_of(f, mad), node) {
		if (!same_transaction(s, mad) || agents_is_response(s->mad) != response)
			continue;
		if (!response || (s->to.lid == to->lid && s->to.grh_present == to->grh_present &&
				  !memcmp(s->to.gid, to->gid, sizeof(to->gid))))
			return true;
	}
	return false;
}

static void restart_timer(struct umad_file *f, struct umad_sent *s)
{
	uint64_t ms = s->timeout_ms;

	if (s->in_segments && !rmpp_send_done(&s->rmpp) && (!ms || ms > RMPP_ACK_MS))
		ms = RMPP_ACK_MS;
	ut_timer_set(&f->deadlines, &s->timer, ut_now() + ms * UT_MS);
}

static void fill_addr(struct att_addr *to, const struct ib_user_mad *h)
{
	const ib_mad_addr_t *a = &h->addr;

	*to = (struct att_addr){
		.qpn = be32toh(a->qpn) & 0xffffff, .qkey = be32toh(a->qkey), .lid = be16toh(a->lid),
		.pkey_index = a->pkey_index, .sl = a->sl & 15, .path_bits = a->path_bits & 127,
	};
	if (!a->grh_present)
		return;
	to->grh_present = 1;
	to->gid_index = a->gid_index;
	to->hop_limit = a->hop_limit;
	to->traffic_class = a->traffic_class;
	to->flow_label = be32toh(a->flow_label) & 0xfffff;
	memcpy(to->gid, a->gid, sizeof(to->gid));
}

static struct umad_sent *make_sent(struct umad_file *f, const struct ib_user_mad *h, const uint8_t *mad, size_t length)
{
	struct umad_sent *s;

	if (ut_heap_reserve(&f->deadlines))
		return NULL;
	s = ut_malloc(sizeof(*s) + length);
	if (!s) {
		ut_heap_unreserve(&f->deadlines);
		return NULL;
	}
	memset(s, 0, sizeof(*s));
	ut_list_init(&s->node);
	s->header = *h;
	s->agent = h->agent_id;
	s->timeout_ms = h->timeout_ms;
	s->retries = s->retries_left = h->retries;
	s->length = length;
	fill_addr(&s->to, h);
	memcpy(s->mad, mad, length);
	return s;
}

static void set_tid(const struct umad_agent *a, uint8_t *mad)
{
	if (!agents_is_response(mad))
		wire_set_MAD_tid(mad, (uint64_t)a->tid_high << 32 | (uint32_t)wire_get_MAD_tid(mad));
}

static int start(struct umad_file *f, struct umad_agent *a, struct umad_sent *s)
{
	if (is_duplicate(f, s->mad, &s->to)) {
		free_sent(f, s);
		return -EINVAL;
	}
	if (s->in_segments)
		rmpp_send_init(&s->rmpp, s->mad, s->length, &s->to, rmpp_receive_window(a->rmpp, &s->to, s->mad));
	ut_list_add_tail(bucket_of(f, s->mad), &s->node);
	send_sent(f, s, false);
	if (s->timeout_ms || s->in_segments)
		restart_timer(f, s);
	else
		free_sent(f, s);
	return 0;
}

static int send_locked(struct umad_file *f, const struct ib_user_mad *h, const uint8_t *mad, size_t length)
{
	struct umad_agent *a = h->agent_id < ATT_AGENTS_MAX ? &f->agents[h->agent_id] : NULL;
	struct umad_sent *s;
	bool in_segments;

	if (f->gone)
		return -EIO;
	if (!a || !a->used || length < WIRE_RMPP_END)
		return -EINVAL;
	in_segments = a->rmpp && rmpp_is_active(mad);
	if (in_segments ? length < agents_data_offset((uint8_t)wire_get_MAD_mgmt_class(mad)) : length > ATT_MAD_LENGTH)
		return -EINVAL;
	s = make_sent(f, h, mad, length);
	if (!s)
		return -ENOMEM;
	s->in_segments = in_segments;
	set_tid(a, s->mad);
	return start(f, a, s);
}

int umad_file_send(struct umad_file *f, const struct ib_user_mad *header, const uint8_t *mad, size_t length)
{
	int r;

	ut_lock(&f->lock);
	r = send_locked(f, header, mad, length);
	settle(f);
	ut_unlock(&f->lock);
	return r;
}

/* --- receiving --- */

/* Takes over mad, also if it fails for want of memory: then the MAD is lost. */
static void queue(struct umad_file *f, const struct ib_user_mad *h, uint8_t *mad, size_t length)
{
	struct umad_ready *r = ut_zalloc(sizeof(*r));

	if (!r || !mad) {
		free(r);
		free(mad);
		return;
	}
	r->header = *h;
	r->header.length = (uint32_t)(sizeof(struct ib_user_mad) + length);
	r->mad = mad;
	r->length = length;
	ut_list_add_tail(&f->ready, &r->node);
}

static uint8_t *copy(const uint8_t *bytes, size_t n)
{
	uint8_t *p = ut_malloc(n);

	return p ? memcpy(p, bytes, n) : NULL;
}

static void fill_header(struct ib_user_mad *h, uint32_t agent, const struct att_addr *from)
{
	ib_mad_addr_t *a = &h->addr;

	memset(h, 0, sizeof(*h));
	h->agent_id = agent;
	a->qpn = htobe32(from->qpn);
	a->lid = htobe16(from->lid);
	a->sl = from->sl;
	a->path_bits = from->path_bits;
	a->pkey_index = from->pkey_index;
	if (!from->grh_present)
		return;
	a->grh_present = 1;
	a->gid_index = from->gid_index;
	a->hop_limit = from->hop_limit;
	a->traffic_class = from->traffic_class;
	a->flow_label = htobe32(from->flow_label);
	memcpy(a->gid, from->gid, sizeof(a->gid));
}

/* A whole MAD or message for the agent; mad for free(). An answer needs its request. */
static void deliver(struct umad_file *f, uint32_t agent, const struct att_addr *from, uint8_t *mad, size_t length)
{
	const struct umad_agent *a = &f->agents[agent];
	struct ib_user_mad h;

	if (mad && agents_is_response(mad)) {
		struct umad_sent *s = find_sent(f, agent, mad, from);

		/* Segments of a program that has RMPP itself come without a match. */
		if (s)
			free_sent(f, s);
		else if (!(a->user_rmpp && rmpp_is_active(mad))) {
			free(mad);
			return;
		}
	}
	fill_header(&h, agent, from);
	queue(f, &h, mad, length);
}

/* While the answer comes in segments, its request does not time out. */
static void keep_waiting(struct umad_file *f, uint32_t agent, const uint8_t *mad, const struct att_addr *from)
{
	struct umad_sent *s = agents_is_response(mad) ? find_sent(f, agent, mad, from) : NULL;

	if (s && s->timeout_ms)
		restart_timer(f, s);
}

static void take_segment(struct umad_file *f, uint32_t agent, const struct att_mad *m, const struct rmpp_out *out)
{
	struct rmpp_message msg;

	keep_waiting(f, agent, m->bytes, &m->addr);
	if (rmpp_receive(f->agents[agent].rmpp, &m->addr, m->bytes, ut_now(), out, &msg))
		deliver(f, agent, &msg.from, msg.bytes, msg.length);
}

static void take_reply(struct umad_file *f, uint32_t agent, const struct att_mad *m, const struct rmpp_out *out)
{
	struct umad_sent *s = find_sent(f, agent, m->bytes, &m->addr);

	if (!s || !s->in_segments) {
		if (wire_get_RMPP_type(m->bytes) == WIRE_RMPP_ACK && !wire_get_RMPP_segment(m->bytes))
			rmpp_receive_opening(f->agents[agent].rmpp, &m->addr, m->bytes);
		else
			rmpp_send_stray(&m->addr, m->bytes, out);
		return;
	}
	switch (rmpp_send_reply(&s->rmpp, &m->addr, m->bytes, s->timeout_ms != 0, out)) {
	case RMPP_PROGRESS:
		s->retries_left = s->retries;
		restart_timer(f, s);
		rmpp_send_more(&s->rmpp, out);
		break;
	case RMPP_DONE:
		if (s->timeout_ms)
			restart_timer(f, s);
		else
			free_sent(f, s);
		break;
	case RMPP_ENDED:
		free_sent(f, s);
		break;
	case RMPP_NOTHING:
	case RMPP_REPEATED:
		break;
	}
}

static bool is_reply(const uint8_t *mad)
{
	unsigned type = (unsigned)wire_get_RMPP_type(mad);

	return type == WIRE_RMPP_ACK || type == WIRE_RMPP_STOP || type == WIRE_RMPP_ABORT;
}

static void take_mad(struct umad_file *f, const struct att_mad *m)
{
	struct umad_agent *a = &f->agents[m->agent];
	struct by_agent b = { f, m->agent };
	struct rmpp_out out = { transmit, &b };

	if (!a->used)
		return;
	if (!a->rmpp || !rmpp_is_active(m->bytes))
		deliver(f, m->agent, &m->addr, copy(m->bytes, ATT_MAD_LENGTH), ATT_MAD_LENGTH);
	else if (is_reply(m->bytes))
		take_reply(f, m->agent, m, &out);
	else
		take_segment(f, m->agent, m, &out);
}

static void take_message(struct umad_file *f, const struct att_msg *m)
{
	if (m->type == ATT_MAD)
		take_mad(f, &m->u.mad);
	else if (m->type == ATT_PORT && (m->u.port.events & ATT_NODE_GONE))
		f->gone = true;
}

/* Reads one message. Returns false if there was none. */
static bool read_one(struct umad_file *f, struct att_msg *m)
{
	int r = att_receive(f->sock, m, true);

	if (r == 1)
		return true;
	if (r != -EAGAIN)
		f->gone = true;
	return false;
}

/* --- time --- */

/* send_handler() of the kernel with a time-out: the head of the MAD goes back. */
static void time_out(struct umad_file *f, struct umad_sent *s)
{
	s->header.status = ETIMEDOUT;
	queue(f, &s->header, copy(s->mad, WIRE_MAD_LEN), WIRE_MAD_LEN);
	free_sent(f, s);
}

static void retry(struct umad_file *f, struct umad_sent *s)
{
	if (!s->retries_left) {
		time_out(f, s);
		return;
	}
	s->retries_left--;
	restart_timer(f, s);
	/* A request in segments of which all are acknowledged waits for its answer alone. */
	if (!s->in_segments || !rmpp_send_done(&s->rmpp))
		send_sent(f, s, true);
}

static void expire_receivers(struct umad_file *f, uint64_t now)
{
	for (unsigned i = 0; i < ATT_AGENTS_MAX; i++) {
		struct by_agent b = { f, i };
		struct rmpp_out out = { transmit, &b };

		if (f->agents[i].rmpp)
			rmpp_receive_expire(f->agents[i].rmpp, now, &out);
	}
}

static void run_due(struct umad_file *f) UT_REQUIRES(f->lock)
{
	uint64_t now = ut_now(), count;
	struct ut_timer *t;

	while ((t = ut_heap_expired(&f->deadlines, now)))
		retry(f, ut_container(t, struct umad_sent, timer));
	if (f->timer_at > now)
		return;
	expire_receivers(f, now);
	UT_SYS(SYS_read, f->timer, &count, sizeof(count));
	f->timer_at = UT_NEVER;
}

/* Reads until a MAD is ready, or the socket is empty. Returns 0, -EAGAIN or -EIO. */
static int collect(struct umad_file *f) UT_REQUIRES(f->lock)
{
	struct att_msg m;

	run_due(f);
	while (ut_list_empty(&f->ready) && !f->gone && read_one(f, &m))
		take_message(f, &m);
	if (!ut_list_empty(&f->ready))
		return 0;
	return f->gone ? -EIO : -EAGAIN;
}

/* copy_recv_mad() of the kernel: what is longer than a MAD is refused with its first segment. */
static long copy_out(const struct umad_ready *r, void *buf, size_t room)
{
	size_t head = sizeof(r->header), first = r->length < ATT_MAD_LENGTH ? r->length : ATT_MAD_LENGTH;

	if (room < head + first) {
		if (room >= head)
			memcpy(buf, &r->header, head);
		return -EINVAL;
	}
	memcpy(buf, &r->header, head);
	if (room < head + r->length) {
		memcpy((uint8_t *)buf + head, r->mad, first);
		return -ENOSPC;
	}
	memcpy((uint8_t *)buf + head, r->mad, r->length);
	return (long)(head + r->length);
}

/* Gives the first MAD out. Called with one there. */
static long give(struct umad_file *f, void *buf, size_t room)
{
	struct umad_ready *r = ut_list_first(&f->ready, struct umad_ready, node);
	long n = buf ? copy_out(r, buf, room) : 0;

	if (n > 0)
		free_ready(r);
	return n;
}

static long try(struct umad_file *f, void *buf, size_t room)
{
	long n;

	ut_lock(&f->lock);
	n = collect(f);
	if (!n)
		n = give(f, buf, room);
	settle(f);
	ut_unlock(&f->lock);
	return n;
}

/* Milliseconds until a time, rounded up, for epoll_wait(2). */
static int ms_until(uint64_t at)
{
	uint64_t now = ut_now();

	return now >= at ? 0 : (int)((at - now + UT_MS - 1) / UT_MS);
}

long umad_file_wait(struct umad_file *f, void *buf, size_t room, int wait_ms)
{
	uint64_t until = wait_ms > 0 ? ut_now() + (uint64_t)wait_ms * UT_MS : 0;
	struct epoll_event ev;
	int ms = wait_ms;
	long n;

	while ((n = try(f, buf, room)) == -EAGAIN) {
		if (wait_ms > 0)
			ms = ms_until(until);
		if (!ms)
			return n;
		if (epoll_wait(f->fd, &ev, 1, ms) < 0)
			return -errno;
	}
	return n;
}

/* --- agents --- */

/* Waits for the answer to REGISTER; MADs that come before it are taken. */
static int await_registered(struct umad_file *f, struct att_registered *ret)
{
	struct att_msg m;
	uint64_t until = ut_now() + ANSWER_MS * UT_MS;
	int r;

	do {
		r = att_wait(f->sock, &m, ANSWER_MS);
		if (r <= 0) {
			f->gone = r != -ETIMEDOUT;
			return -EIO;
		}
		if (m.type == ATT_REGISTERED) {
			*ret = m.u.registered;
			return ret->err;
		}
		take_message(f, &m);
	} while (ut_now() < until);
	return -EIO;
}

/* Returns when other files may have its methods, as in the kernel; a fabric that does not answer has none. */
static void drop_agent(struct umad_file *f, unsigned agent)
{
	struct att_msg m = { .type = ATT_UNREGISTER, .u.unreg.agent = agent };
	struct att_registered answer;

	end_agent(f, agent);
	if (!f->gone && !send_to_fabric(f, &m))
		await_registered(f, &answer);
}

static struct umad_agent *free_agent(struct umad_file *f)
{
	for (unsigned i = 0; i < ATT_AGENTS_MAX; i++)
		if (!f->agents[i].used)
			return &f->agents[i];
	return NULL;
}

static struct rmpp_receiver *make_receiver(void)
{
	struct rmpp_receiver *r = ut_malloc(sizeof(*r));

	if (r)
		rmpp_receiver_init(r);
	return r;
}

static int register_locked(struct umad_file *f, struct att_register *reg, bool user_rmpp)
{
	struct umad_agent *a = free_agent(f);
	struct att_msg m = { .type = ATT_REGISTER };
	struct att_registered answer;
	int r;

	if (f->gone)
		return -EIO;
	if (!a)
		return -ENOMEM;
	if (reg->rmpp_version && !user_rmpp) {
		a->rmpp = make_receiver();
		if (!a->rmpp)
			return -ENOMEM;
	}
	reg->agent = (uint32_t)(a - f->agents);
	m.u.reg = *reg;
	r = send_to_fabric(f, &m);
	if (!r)
		r = await_registered(f, &answer);
	if (r) {
		end_agent(f, reg->agent);
		return r;
	}
	a->used = true;
	a->user_rmpp = user_rmpp;
	a->qpn = reg->qpn;
	a->rmpp_version = reg->rmpp_version;
	a->tid_high = answer.tid_high;
	return (int)reg->agent;
}

int umad_file_register(struct umad_file *f, struct att_register *reg, bool user_rmpp)
{
	int r;

	ut_lock(&f->lock);
	r = register_locked(f, reg, user_rmpp);
	settle(f);
	ut_unlock(&f->lock);
	return r;
}

int umad_file_unregister(struct umad_file *f, unsigned agent)
{
	int r = -EINVAL;

	ut_lock(&f->lock);
	if (agent < ATT_AGENTS_MAX && f->agents[agent].used) {
		drop_agent(f, agent);
		r = 0;
	}
	settle(f);
	ut_unlock(&f->lock);
	return r;
}

int umad_file_close(int fd)
{
	struct umad_file *f = fd < 0 ? NULL : take_out(fd);

	if (!f)
		return -EBADF;
	ut_lock(&f->lock);
	for (unsigned i = 0; i < ATT_AGENTS_MAX; i++)
		if (f->agents[i].used)
			drop_agent(f, i);
	ut_unlock(&f->lock);
	ut_close(fd);
	umad_file_put(f);
	return 0;
}

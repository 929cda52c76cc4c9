/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/initiator.h"
#include "ulp/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SPARE_RECEIVES 8        /* for requests of the target */
#define ANSWERS 8               /* messages for answers, task management and logout */
#define READS 4                 /* RDMA Reads of the target outstanding, as Linux's */
#define IT_LENGTH_OLD 260       /* 12 descriptors; every target takes it */
#define IT_LENGTH_MAX 65536
#define IMMEDIATE_OFFSET (WIRE_SRP_CMD_LEN + 16 + WIRE_SRP_IMMEDIATE_LEN)
#define IMMEDIATE_MAX 8192
#define LIMIT_MAX 65536
#define TABLE_LEN ((size_t)SRP_DESCRIPTORS_MAX * WIRE_SRP_MEMORY_LEN)
#define FORMATS (1 << WIRE_SRP_FORMAT_DIRECT | 1 << WIRE_SRP_FORMAT_INDIRECT)
#define LOGOUT_MS 1000
#define ABORT_MS 5000

const struct srp_conf srp_conf_default = { .depth = 32, .it_length = IMMEDIATE_OFFSET + IMMEDIATE_MAX, .immediate = true,
					   .pieces_here = 255 };

enum { WORK_COMMAND = 1, WORK_ANSWER };

/* A command under way, and its message of the same index. */
struct slot {
	struct srp_io *io;              /* NULL: it is done */
	bool sending;                   /* the message is the adapter's */
	uint32_t round;
	struct ibv_mr *mr[SRP_PIECES_MAX];
	unsigned nr_mr;
	struct slot *next;              /* while it is free */
};

struct srp_session {
	struct srp_chan ch;
	struct srp_conf conf;
	struct srp_agreed agreed;
	struct srp_counts counts;
	uint32_t limit;                 /* requests that may be sent now */
	uint32_t reject;                /* reason of a rejected login */
	struct slot *slots, *free;
	uint8_t *tables;                /* descriptor tables, one for each slot */
	struct ibv_mr *tables_mr;
	bool answering[ANSWERS];
	uint64_t task_tag;              /* of the task management function that is waited for; 0: none */
	int task_code;                  /* its response code; -1: none yet */
	uint32_t task_nr;
};

static struct srp_session *of(struct srp_chan *ch)
{
	return (struct srp_session *)ch;
}

/* --- tags: slot and round, so that a late response is known --- */

static uint64_t tag_of(const struct srp_session *s, const struct slot *slot)
{
	return (uint64_t)slot->round << 16 | (uint32_t)(slot - s->slots);
}

static struct slot *slot_of(const struct srp_session *s, uint64_t tag)
{
	uint32_t i = tag & 0xffff;
	struct slot *slot = i < s->conf.depth ? &s->slots[i] : NULL;

	return slot && slot->io && tag_of(s, slot) == tag ? slot : NULL;
}

#define TASK_TAG (1ull << 63)

/* --- the end of commands --- */

static void close_memory(struct slot *slot)
{
	while (slot->nr_mr)
		ibv_dereg_mr(slot->mr[--slot->nr_mr]);
}

static void release(struct srp_session *s, struct slot *slot)
{
	if (slot->io || slot->sending)
		return;
	slot->next = s->free;
	s->free = slot;
}

static void finish(struct srp_session *s, struct slot *slot, int error)
{
	struct srp_io *io = slot->io;

	close_memory(slot);
	slot->io = NULL;
	io->error = error;
	io->done = true;
	release(s, slot);
}

static void finish_all(struct srp_session *s, int error)
{
	for (uint32_t i = 0; s->slots && i < s->conf.depth; i++)
		if (s->slots[i].io)
			finish(s, &s->slots[i], error);
}

/* --- what the target sends --- */

static int raise(struct srp_session *s, uint32_t delta)
{
	if (delta > LIMIT_MAX || s->limit + delta > LIMIT_MAX)
		return srp_chan_end_rule(&s->ch, SRP_BAD_DELTA);
	s->limit += delta;
	return 0;
}

static uint32_t total(const struct iovec *v, unsigned nr)
{
	size_t sum = 0;

	for (unsigned i = 0; i < nr; i++)
		sum += v[i].iov_len;
	return (uint32_t)sum;
}

static void take_status(struct srp_io *io, const struct srp_response *r, uint32_t len, uint32_t residual)
{
	io->status = r->status;
	io->sense_len = r->sense_len < SRP_SENSE_MAX ? r->sense_len : SRP_SENSE_MAX;
	memcpy(io->sense, r->sense, io->sense_len);
	io->moved = len - residual;
}

static int take_response(struct srp_session *s, const uint8_t *data, uint32_t len)
{
	struct srp_response r;
	enum srp_verdict v = srp_response_get(&r, data, len);
	struct slot *slot;
	uint32_t want, residual;

	if (v)
		return srp_chan_end_rule(&s->ch, v);
	s->counts.responses++;
	if (raise(s, r.limit_delta))
		return -s->ch.rdma.error;
	if (r.tag == s->task_tag && s->task_tag) {
		s->task_code = r.has_code ? r.code : WIRE_SRP_FUNCTION_FAILED;
		return 0;
	}
	slot = slot_of(s, r.tag);
	if (!slot) {
		s->counts.stray++; /* to a task that has been aborted */
		return 0;
	}
	want = total(slot->io->nr_in ? slot->io->in : slot->io->out, slot->io->nr_in ? slot->io->nr_in : slot->io->nr_out);
	residual = slot->io->nr_in ? (r.in_under ? r.in_residual : 0) : r.out_under ? r.out_residual : 0;
	if (residual > want)
		return srp_chan_end_rule(&s->ch, SRP_BAD_RESIDUAL);
	take_status(slot->io, &r, want, residual);
	finish(s, slot, 0);
	return 0;
}

/* The message for an answer, or -1: all are under way. */
static int next_answer(struct srp_session *s)
{
	for (int i = 0; i < ANSWERS; i++)
		if (!s->answering[i])
			return i;
	return -1;
}

static int send_answer(struct srp_session *s, int i, size_t len)
{
	s->answering[i] = true;
	return srp_chan_send(&s->ch, s->conf.depth + (uint32_t)i, len, WORK_ANSWER);
}

/* Answers that find no message are left out: the target has sent more requests at once than it may. */
static int answer(struct srp_session *s, const struct srp_short *q, uint8_t type)
{
	struct srp_short a = { .type = type, .tag = q->tag };
	int i = next_answer(s);

	if (raise(s, q->number))
		return -s->ch.rdma.error;
	if (i < 0)
		return ulp_end(&s->ch.rdma, EPROTO, "the target sends requests without waiting for answers");
	srp_short_put(srp_chan_send_at(&s->ch, s->conf.depth + (uint32_t)i), &a);
	return send_answer(s, i, WIRE_SRP_SHORT_LEN);
}

static int take_unit(struct srp_session *s, const uint8_t *data, uint32_t len)
{
	struct srp_short q;

	if (len && data[0] == WIRE_SRP_RSP)
		return take_response(s, data, len);
	if (srp_short_get(&q, data, len))
		return srp_chan_end_rule(&s->ch, SRP_SHORT);
	switch (q.type) {
	case WIRE_SRP_CRED_REQ:
		s->counts.credit_requests++;
		return answer(s, &q, WIRE_SRP_CRED_RSP);
	case WIRE_SRP_AER_REQ:
		if (len < WIRE_SRP_AER_REQ_LEN)
			return srp_chan_end_rule(&s->ch, SRP_SHORT);
		s->counts.events++;
		return answer(s, &q, WIRE_SRP_AER_RSP);
	case WIRE_SRP_T_LOGOUT:
		return ulp_end(&s->ch.rdma, ECONNRESET, "the target logs out (reason %u)", q.number);
	default:
		return srp_chan_end_rule(&s->ch, SRP_BAD_TYPE);
	}
}

static int completed(struct srp_chan *ch, const struct srp_done *d)
{
	struct srp_session *s = of(ch);
	int r;

	if (d->kind == WORK_ANSWER) {
		s->answering[d->index - s->conf.depth] = false;
		return 0;
	}
	if (d->kind == WORK_COMMAND) {
		s->slots[d->index].sending = false;
		release(s, &s->slots[d->index]);
		return 0;
	}
	r = take_unit(s, srp_chan_recv_at(ch, d->index), d->len);
	return r ? r : srp_chan_post_recv(ch, d->index);
}

int srp_session_progress(struct srp_session *s)
{
	int r = srp_chan_progress(&s->ch, completed);

	if (r)
		finish_all(s, -r);
	return r;
}

const char *srp_session_why(const struct srp_session *s)
{
	return s->ch.rdma.why;
}

const struct srp_counts *srp_session_counts(const struct srp_session *s)
{
	return &s->counts;
}

const struct srp_agreed *srp_session_agreed(const struct srp_session *s)
{
	return &s->agreed;
}

/* --- login --- */

static int take_accepted(struct srp_session *s, const uint8_t *data, size_t len)
{
	struct srp_accepted a;
	enum srp_verdict v = srp_accepted_get(&a, data, len);

	if (v)
		return srp_chan_end_rule(&s->ch, v);
	if (a.ti_length > s->ch.sizes.recv_size)
		return ulp_end(&s->ch.rdma, EPROTO, "the target's information units are %u octets long, and %u were asked for",
			       a.ti_length, s->ch.sizes.recv_size);
	s->agreed = (struct srp_agreed){ .limit = a.limit, .ti_length = a.ti_length, .channels = a.channels,
					 .it_length = a.it_length < s->conf.it_length ? a.it_length : s->conf.it_length,
					 .immediate = a.immediate && s->conf.immediate };
	return raise(s, a.limit);
}

static int take_rejected(struct srp_session *s, const struct rdma_cm_event *ev)
{
	s->reject = srp_reject_get(ev->param.conn.private_data, ev->param.conn.private_data_len);
	if (!s->reject)
		return ulp_unexpected(&s->ch.rdma, ev, ECONNREFUSED);
	return ulp_end(&s->ch.rdma, s->reject == WIRE_SRP_REJ_IT_LENGTH ? EMSGSIZE : s->reject == WIRE_SRP_REJ_RESOURCES ? EBUSY : EACCES,
		       "the target rejects the login: %s (SRP_LOGIN_REJ, reason %#x)", srp_reject_text(s->reject), s->reject);
}

static int take_event(struct ulp_conn *u, const struct rdma_cm_event *ev)
{
	struct srp_session *s = (struct srp_session *)u;

	if (ulp_is_step(ev))
		return 0;
	switch (ev->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		s->ch.established = true;
		return take_accepted(s, ev->param.conn.private_data, ev->param.conn.private_data_len);
	case RDMA_CM_EVENT_REJECTED:
		return take_rejected(s, ev);
	case RDMA_CM_EVENT_DISCONNECTED:
		s->ch.disconnected = true;
		return ulp_end(u, ECONNRESET, "the target has disconnected");
	default:
		return ulp_unexpected(u, ev, EHOSTUNREACH);
	}
}

static bool conf_is_sane(const struct srp_conf *f)
{
	return f->depth && f->depth <= 1024 && f->it_length >= WIRE_SRP_IT_MIN && f->it_length <= IT_LENGTH_MAX && f->pieces_here &&
	       f->pieces_here <= 255;
}

static struct srp_session *create(const struct srp_conf *conf)
{
	struct srp_session *s = conf_is_sane(conf) ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return NULL;
	s->conf = *conf;
	s->ch.rdma.take_event = take_event;
	s->slots = calloc(conf->depth, sizeof(*s->slots));
	if (!s->slots) {
		free(s);
		return NULL;
	}
	for (uint32_t i = conf->depth; i--;)
		release(s, &s->slots[i]);
	return s;
}

static int make_tables(struct srp_session *s)
{
	void *at = mmap(NULL, s->conf.depth * TABLE_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return ulp_end(&s->ch.rdma, errno, "no memory for descriptor tables");
	s->tables = at;
	s->tables_mr = ibv_reg_mr(s->ch.rdma.pd, at, s->conf.depth * TABLE_LEN, IBV_ACCESS_REMOTE_READ);
	return s->tables_mr ? 0 : ulp_end(&s->ch.rdma, errno, "descriptor tables cannot be registered (%s); raise the limit of "
					  "locked memory (ulimit -l)", strerror(errno));
}

static int prepare(struct srp_session *s)
{
	struct srp_chan_sizes sizes = { .nr_recv = s->conf.depth + SPARE_RECEIVES, .recv_size = s->conf.it_length,
					.nr_send = s->conf.depth + ANSWERS, .send_size = s->conf.it_length,
					.sq_depth = s->conf.depth + ANSWERS };
	int r = srp_chan_make(&s->ch, &sizes);

	return r ? r : make_tables(s);
}

/* Without an identifier it is that of the adapter, as ib_srp has it without initiator_ext. */
static void name_initiator(struct srp_session *s, uint8_t out[16])
{
	static const uint8_t none[16];
	__be64 guid = ibv_get_device_guid(s->ch.rdma.id->verbs->device);

	memcpy(out, s->conf.initiator, 16);
	if (!memcmp(out, none, 16))
		memcpy(out + 8, &guid, 8);
}

static int request(struct srp_session *s, int timeout_ms)
{
	uint8_t data[WIRE_SRP_LOGIN_REQ_LEN];
	struct rdma_conn_param p = { .private_data = data, .private_data_len = sizeof(data), .responder_resources = READS,
				     .flow_control = 1, .retry_count = 7, .rnr_retry_count = 7 };
	struct srp_login l = { .it_length = s->conf.it_length, .formats = FORMATS, .immediate = s->conf.immediate,
			       .immediate_offset = s->conf.immediate ? IMMEDIATE_OFFSET : 0, .multi = s->conf.multi };

	name_initiator(s, l.initiator);
	memcpy(l.target, s->conf.target, 16);
	srp_login_put(data, &l);
	if (rdma_connect(s->ch.rdma.id, &p))
		return ulp_end(&s->ch.rdma, errno, "the login cannot be requested (%s)", strerror(errno));
	return ulp_await(&s->ch.rdma, RDMA_CM_EVENT_ESTABLISHED, timeout_ms);
}

static int connect_to(struct srp_session *s, const struct sockaddr *to, int timeout_ms)
{
	int r = ulp_open(&s->ch.rdma);

	if (r)
		return r;
	if (rdma_create_id(s->ch.rdma.events, &s->ch.rdma.id, s, RDMA_PS_TCP))
		return ulp_end(&s->ch.rdma, errno, "no connection identifier can be made (%s)", strerror(errno));
	r = ulp_resolve(&s->ch.rdma, to, timeout_ms);
	if (!r)
		r = prepare(s);
	return r ? r : request(s, timeout_ms);
}

static void destroy(struct srp_session *s)
{
	srp_chan_end(&s->ch);
	finish_all(s, ECONNABORTED);
	if (s->tables_mr)
		ibv_dereg_mr(s->tables_mr);
	if (s->tables)
		munmap(s->tables, s->conf.depth * TABLE_LEN);
	srp_chan_free(&s->ch);
	free(s->slots);
	free(s);
}

struct srp_session *srp_login(const struct sockaddr *to, const struct srp_conf *conf, int timeout_ms, int *ret_err,
			      char why[ULP_WHY_MAX])
{
	struct srp_session *s = create(conf);
	struct srp_conf shorter = *conf;
	bool again;

	if (!s) {
		*ret_err = EINVAL;
		snprintf(why, ULP_WHY_MAX, "the configuration of the session is invalid, or there is no memory");
		return NULL;
	}
	if (!connect_to(s, to, timeout_ms))
		return s;
	*ret_err = s->ch.rdma.error;
	snprintf(why, ULP_WHY_MAX, "%s", s->ch.rdma.why);
	again = s->reject == WIRE_SRP_REJ_IT_LENGTH && conf->it_length > IT_LENGTH_OLD;
	destroy(s);
	if (!again)
		return NULL;
	shorter.it_length = IT_LENGTH_OLD;
	shorter.immediate = false;
	return srp_login(to, &shorter, timeout_ms, ret_err, why);
}

/* --- waiting --- */

int srp_session_sleep(const struct srp_session *s, int timeout_ms)
{
	struct pollfd p[SRP_CHAN_FDS];

	srp_chan_fds(&s->ch, p);
	return ulp_poll(&s->ch.rdma, p, SRP_CHAN_FDS, timeout_ms);
}

/* Waits for something until `end`. Returns 0, or a negative errno: the session has ended, and with it all commands; or -ETIMEDOUT. */
static int wait_until(struct srp_session *s, int64_t end)
{
	int64_t left = end - ulp_now_ms();
	int r;

	if (left <= 0)
		return -ETIMEDOUT;
	r = srp_session_sleep(s, (int)left);
	if (r >= 0 || r == -EINTR)
		return srp_session_progress(s);
	r = ulp_end(&s->ch.rdma, -r, "poll fails (%s)", strerror(-r));
	finish_all(s, -r);
	return r;
}

void srp_logout(struct srp_session *s)
{
	struct srp_short q = { .type = WIRE_SRP_I_LOGOUT };
	int i = s->ch.established && !s->ch.rdma.error ? next_answer(s) : -1;
	int64_t end = ulp_now_ms() + LOGOUT_MS;

	if (i >= 0) {
		srp_short_put(srp_chan_send_at(&s->ch, s->conf.depth + (uint32_t)i), &q);
		if (!send_answer(s, i, WIRE_SRP_SHORT_LEN))
			while (s->answering[i] && !wait_until(s, end))
				;
	}
	destroy(s);
}

/* --- commands --- */

/* Makes one piece of data reachable, with its descriptor at *at. */
static int open_piece(struct srp_session *s, struct slot *slot, const struct iovec *v, int access, uint8_t *at)
{
	struct ibv_mr *mr = ibv_reg_mr(s->ch.rdma.pd, v->iov_base, v->iov_len, access);
	struct srp_memory m;

	if (!mr)
		return -errno;
	slot->mr[slot->nr_mr++] = mr;
	m = (struct srp_memory){ (uintptr_t)v->iov_base, mr->rkey, (uint32_t)v->iov_len };
	srp_memory_put(at, &m);
	return 0;
}

/* Octets that a command has for descriptors. */
static size_t descriptor_room(const struct srp_session *s, const struct srp_io *io)
{
	size_t used = WIRE_SRP_CMD_LEN + (io->cdb_len > 16 ? (size_t)(io->cdb_len - 16 + 3) / 4 * 4 : 0);

	return used < s->agreed.it_length ? s->agreed.it_length - used : 0;
}

static int open_data(struct srp_session *s, struct slot *slot, const struct iovec *v, unsigned nr, int access, size_t room,
		     struct srp_buffer *b)
{
	size_t at = (size_t)(slot - s->slots) * TABLE_LEN;
	int r = 0;

	for (unsigned i = 0; i < nr && !r; i++)
		r = open_piece(s, slot, &v[i], access, s->tables + at + i * WIRE_SRP_MEMORY_LEN);
	if (r)
		return r;
	*b = (struct srp_buffer){ .format = nr == 1 ? WIRE_SRP_FORMAT_DIRECT : WIRE_SRP_FORMAT_INDIRECT, .length = total(v, nr),
				  .nr = nr, .nr_here = nr, .list = s->tables + at,
				  .table = { (uintptr_t)s->tables + at, s->tables_mr->rkey, nr * WIRE_SRP_MEMORY_LEN } };
	if (b->nr_here > s->conf.pieces_here)
		b->nr_here = s->conf.pieces_here;
	if (nr > 1 && b->nr_here > (room - WIRE_SRP_INDIRECT_LEN) / WIRE_SRP_MEMORY_LEN)
		b->nr_here = (uint32_t)(room - WIRE_SRP_INDIRECT_LEN) / WIRE_SRP_MEMORY_LEN;
	s->counts.direct += nr == 1;
	s->counts.indirect += nr != 1;
	return 0;
}

static bool fits_immediate(const struct srp_session *s, const struct srp_io *io)
{
	return s->agreed.immediate && io->nr_out && s->agreed.it_length > IMMEDIATE_OFFSET &&
	       total(io->out, io->nr_out) <= s->agreed.it_length - IMMEDIATE_OFFSET;
}

static void copy_immediate(struct srp_session *s, uint8_t *at, const struct srp_io *io)
{
	for (unsigned i = 0; i < io->nr_out; i++) {
		memcpy(at, io->out[i].iov_base, io->out[i].iov_len);
		at += io->out[i].iov_len;
	}
	s->counts.immediate++;
}

static int send_command(struct srp_session *s, struct slot *slot, struct srp_io *io)
{
	uint32_t i = (uint32_t)(slot - s->slots);
	uint8_t *out = srp_chan_send_at(&s->ch, i);
	struct srp_command c = { .tag = io->tag, .lun = io->lun, .cdb_len = io->cdb_len };
	size_t room = descriptor_room(s, io);
	int r = 0;

	memcpy(c.cdb, io->cdb, io->cdb_len);
	if (fits_immediate(s, io)) {
		c.out = (struct srp_buffer){ .format = WIRE_SRP_FORMAT_IMMEDIATE, .length = total(io->out, io->nr_out) };
		copy_immediate(s, out + IMMEDIATE_OFFSET, io);
	} else if (io->nr_out) {
		r = open_data(s, slot, io->out, io->nr_out, IBV_ACCESS_REMOTE_READ, room, &c.out);
	} else if (io->nr_in) {
		r = open_data(s, slot, io->in, io->nr_in, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, room, &c.in);
	}
	if (r)
		return ulp_end(&s->ch.rdma, -r, "the memory of a command cannot be registered (%s); raise the limit of locked memory "
			       "(ulimit -l)", strerror(-r));
	slot->sending = true;
	s->limit--;
	s->counts.commands++;
	return srp_chan_send(&s->ch, i, srp_command_put(out, &c, IMMEDIATE_OFFSET), WORK_COMMAND);
}

/* The last request of the limit is kept for task management, unless the target gives one alone. */
static bool may_send(const struct srp_session *s)
{
	return s->free && s->limit > (s->agreed.limit > 1);
}

static bool pieces_are_sane(const struct iovec *v, unsigned nr)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < nr; i++) {
		if (!v[i].iov_len || v[i].iov_len > UINT32_MAX)
			return false;
		sum += v[i].iov_len;
	}
	return sum <= UINT32_MAX;
}

static bool io_fits(const struct srp_session *s, const struct srp_io *io)
{
	unsigned nr = io->nr_out + io->nr_in;
	size_t need = nr > 1 ? WIRE_SRP_INDIRECT_LEN : nr ? WIRE_SRP_MEMORY_LEN : 0;

	if (!io->cdb_len || io->cdb_len > sizeof(io->cdb) || (io->nr_out && io->nr_in) || nr > SRP_PIECES_MAX)
		return false;
	return pieces_are_sane(io->out, io->nr_out) && pieces_are_sane(io->in, io->nr_in) && need <= descriptor_room(s, io);
}

int srp_submit(struct srp_session *s, struct srp_io *io)
{
	struct slot *slot = s->free;
	int r;

	if (s->ch.rdma.error)
		return -s->ch.rdma.error;
	if (!io_fits(s, io))
		return -EMSGSIZE;
	if (!may_send(s))
		return -EAGAIN;
	s->free = slot->next;
	slot->round++;
	slot->io = io;
	io->done = false;
	io->error = 0;
	io->status = 0;
	io->sense_len = 0;
	io->moved = 0;
	io->tag = tag_of(s, slot);
	r = send_command(s, slot, io);
	if (r)
		finish_all(s, -r);
	return r;
}

int srp_manage(struct srp_session *s, enum wire_srp_function function, uint64_t lun, const struct srp_io *task, int timeout_ms)
{
	struct srp_task t = { .tag = TASK_TAG | ++s->task_nr, .lun = lun, .function = (uint8_t)function,
			      .task_tag = task ? task->tag : 0 };
	int64_t end = ulp_now_ms() + timeout_ms;
	int i = next_answer(s), r = 0;

	if (s->ch.rdma.error)
		return -s->ch.rdma.error;
	while (!r && (i < 0 || !s->limit)) {
		r = wait_until(s, end);
		i = next_answer(s);
	}
	if (r)
		return r;
	s->task_tag = t.tag;
	s->task_code = -1;
	s->limit--;
	srp_task_put(srp_chan_send_at(&s->ch, s->conf.depth + (uint32_t)i), &t);
	r = send_answer(s, i, WIRE_SRP_TSK_MGMT_LEN);
	while (!r && s->task_code < 0)
		r = wait_until(s, end);
	s->task_tag = 0;
	return r ? r : s->task_code;
}

void srp_abort(struct srp_session *s, struct srp_io *io)
{
	struct slot *slot;
	int code = srp_manage(s, WIRE_SRP_ABORT_TASK, io->lun, io, ABORT_MS);

	if (!io->done && code != WIRE_SRP_FUNCTION_COMPLETE)
		code = srp_manage(s, WIRE_SRP_LUN_RESET, io->lun, NULL, ABORT_MS);
	slot = io->done ? NULL : slot_of(s, io->tag);
	if (!slot)
		return;
	if (code == WIRE_SRP_FUNCTION_COMPLETE) {
		finish(s, slot, ETIMEDOUT);
		return;
	}
	ulp_end(&s->ch.rdma, ETIMEDOUT, "the target neither answers a command nor aborts it");
	srp_chan_end(&s->ch);
	s->ch.established = false;
	finish_all(s, ETIMEDOUT);
}

int srp_execute(struct srp_session *s, struct srp_io *io, int timeout_ms)
{
	int64_t end = ulp_now_ms() + timeout_ms;
	int r;

	while ((r = srp_submit(s, io)) == -EAGAIN) {
		r = wait_until(s, end);
		if (r)
			return r;
	}
	while (!r && !io->done)
		r = wait_until(s, end);
	if (r == -ETIMEDOUT && !io->done)
		srp_abort(s, io);
	return io->done ? -io->error : r;
}

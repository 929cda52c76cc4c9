/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TABLE_LEN ((size_t)SRP_DESCRIPTORS_MAX * WIRE_SRP_MEMORY_LEN)
#define STAGE_LEN (SCSI_TRANSFER_MAX + TABLE_LEN)
#define HEAD_OF_QUEUE 1         /* task attributes: table 19 */
#define ORDERED 2

int srp_tasks_init(struct srp_serving *s)
{
	size_t len = SRP_STAGES * STAGE_LEN;
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return ulp_end(&s->ch.rdma, errno, "no memory for data");
	s->memory = at;
	s->queue_end = &s->queue;
	s->mr = ibv_reg_mr(s->ch.rdma.pd, at, len, srp_chan_read_access(&s->ch));
	s->tasks = calloc(s->nr_tasks, sizeof(*s->tasks));
	if (!s->mr || !s->tasks)
		return ulp_end(&s->ch.rdma, ENOMEM, "the memory for data cannot be registered; raise the limit of locked memory "
			       "(ulimit -l)");
	for (unsigned i = 0; i < SRP_STAGES; i++)
		s->stages[i].data = s->memory + i * STAGE_LEN;
	return 0;
}

void srp_tasks_fini(struct srp_serving *s)
{
	if (s->mr)
		ibv_dereg_mr(s->mr);
	if (s->memory)
		munmap(s->memory, SRP_STAGES * STAGE_LEN);
	free(s->tasks);
}

/* --- the end of a task --- */

static void give_stage_back(struct srp_serving *s, struct srp_work_task *t)
{
	if (t->stage)
		t->stage->used = false;
	if (t->stage && t->c.attribute == ORDERED)
		s->ordered = false;
	t->stage = NULL;
}

/* The task ends without a response; the next response grants its request again. */
static int drop(struct srp_serving *s, struct srp_work_task *t)
{
	give_stage_back(s, t);
	t->state = SRP_FREE;
	s->owed++;
	s->requests--;
	s->served.tasks_aborted++;
	return srp_chan_post_recv(&s->ch, t->recv);
}

static void residual(struct srp_response *r, const struct srp_work_task *t)
{
	uint32_t wanted = t->plan.direction == SCSI_OUT ? t->plan.len : 0, out = t->c.out.length, in = t->c.in.length;

	if (t->result.status && t->plan.direction == SCSI_OUT)
		wanted = wanted < out ? wanted : out;
	r->out_under = out > wanted;
	r->out_over = out < wanted;
	r->out_residual = out > wanted ? out - wanted : wanted - out;
	r->in_under = in > t->result.len;
	r->in_over = in < t->result.len;
	r->in_residual = in > t->result.len ? in - t->result.len : t->result.len - in;
}

static int respond(struct srp_serving *s, struct srp_work_task *t)
{
	uint32_t i = (uint32_t)(t - s->tasks);
	struct srp_response r = { .limit_delta = 1 + s->owed };
	int err;

	if (t->state == SRP_MANAGING) {
		r.tag = t->manage.tag;
		r.has_code = true;
		r.code = t->code;
	} else {
		r.tag = t->c.tag;
		r.status = t->result.status;
		r.sense = t->result.sense;
		r.sense_len = t->result.sense_len;
		residual(&r, t);
	}
	s->owed = 0;
	s->requests--;
	s->responding++;
	t->state = SRP_RESPONDING;
	err = srp_chan_post_recv(&s->ch, t->recv);
	return err ? err : srp_chan_send(&s->ch, i, srp_response_put(srp_chan_send_at(&s->ch, i), &r), SRP_WORK_RESPONSE);
}

/* --- data --- */

static bool is_reset(const struct srp_serving *s, const struct srp_work_task *t)
{
	int n = scsi_lun_number(t->c.lun);

	return n >= 0 && (unsigned)n < s->nexus.nr && atomic_load(&s->nexus.units[n]->resets) != t->resets;
}

static const struct srp_buffer *buffer_of(const struct srp_work_task *t)
{
	return t->c.out.format ? &t->c.out : &t->c.in;
}

/* Posts RDMA operations for the data of a task, as many as there is room for. */
static int move(struct srp_serving *s, struct srp_work_task *t, enum ibv_wr_opcode opcode)
{
	int r = 0;

	while (t->left && !r && s->rdma_posted < SRP_RDMA_DEPTH && !t->aborted) {
		struct srp_memory m = t->stage->table[t->piece];

		if (m.length > t->left)
			m.length = t->left;
		if (m.length) {
			r = srp_chan_rdma(&s->ch, opcode, &m, t->stage->data + t->done, s->mr->lkey, SRP_WORK_DATA,
					  (uint32_t)(t - s->tasks));
			t->outstanding++;
			s->rdma_posted++;
		}
		t->left -= m.length;
		t->done += m.length;
		t->piece++;
	}
	return r;
}

static void begin_move(struct srp_work_task *t, enum srp_state state, uint32_t len)
{
	t->state = state;
	t->piece = t->done = 0;
	t->left = len;
}

/* Executes a command whose data-out is there. */
static void execute(struct srp_serving *s, struct srp_work_task *t)
{
	uint8_t *data = t->c.out.format == WIRE_SRP_FORMAT_IMMEDIATE ? (uint8_t *)(uintptr_t)t->c.out.data : t->stage->data;
	uint32_t len;

	if (t->plan.direction == SCSI_OUT && t->c.out.length < t->plan.len) {
		t->result = (struct scsi_result){ 0 };
		scsi_sense(&t->result, SCSI_KEY_ABORTED_COMMAND, SCSI_ASC_DATA_PHASE);
	} else if (t->c.out.format && t->c.in.format) {
		t->result = (struct scsi_result){ 0 };
		scsi_sense(&t->result, SCSI_KEY_ILLEGAL_REQUEST, SCSI_ASC_INVALID_FIELD);
	} else {
		/* Immediate data lies in the receive, where there is no room for an answer. */
		if (t->plan.direction != SCSI_OUT)
			data = t->stage->data;
		scsi_run(&s->nexus, t->c.lun, t->c.cdb, data, &t->result);
	}
	len = t->result.len < t->c.in.length ? t->result.len : t->c.in.length;
	s->served.read += len;
	s->served.written += t->plan.direction == SCSI_OUT && !t->result.status ? t->plan.len : 0;
	begin_move(t, SRP_GIVING, len);
}

/* The descriptors are there: brings the data of the initiator. */
static int bring(struct srp_serving *s, struct srp_work_task *t)
{
	const struct srp_buffer *b = buffer_of(t);
	enum srp_verdict v;
	uint32_t len = 0;

	v = b->format == WIRE_SRP_FORMAT_INDIRECT ? srp_table_check(t->stage->table, b->nr, b->length) : SRP_GOOD;
	if (v)
		return srp_chan_end_rule(&s->ch, v);
	if (t->plan.direction == SCSI_OUT && t->c.out.format != WIRE_SRP_FORMAT_IMMEDIATE && t->c.out.length >= t->plan.len)
		len = t->plan.len;
	begin_move(t, SRP_BRINGING, len);
	return 0;
}

static void read_table(struct srp_work_task *t, const uint8_t *at, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		t->stage->table[i] = srp_memory_get(at + (size_t)i * WIRE_SRP_MEMORY_LEN);
}

static int fetch_table(struct srp_serving *s, struct srp_work_task *t)
{
	t->state = SRP_TABLE;
	t->outstanding++;
	s->rdma_posted++;
	return srp_chan_rdma(&s->ch, IBV_WR_RDMA_READ, &buffer_of(t)->table, t->stage->data + SCSI_TRANSFER_MAX, s->mr->lkey,
			     SRP_WORK_TABLE, (uint32_t)(t - s->tasks));
}

static int begin(struct srp_serving *s, struct srp_work_task *t, struct srp_stage *stage)
{
	const struct srp_buffer *b = buffer_of(t);

	t->stage = stage;
	stage->used = true;
	s->ordered |= t->c.attribute == ORDERED;
	t->plan = scsi_plan(&s->nexus, t->c.lun, t->c.cdb);
	if (b->nr_here < b->nr)
		return fetch_table(s, t);
	if (b->format != WIRE_SRP_FORMAT_IMMEDIATE)
		read_table(t, b->list, b->nr);
	return bring(s, t);
}

/* --- progress --- */

static bool is_active(const struct srp_work_task *t)
{
	return t->state == SRP_TABLE || t->state == SRP_BRINGING || t->state == SRP_GIVING || t->state == SRP_DONE;
}

/* Moves an active task on. */
static int step(struct srp_serving *s, struct srp_work_task *t)
{
	int r = 0;

	t->aborted |= is_reset(s, t);
	if (t->state == SRP_BRINGING)
		r = move(s, t, IBV_WR_RDMA_READ);
	if (!r && t->aborted)
		return t->outstanding ? 0 : drop(s, t);
	if (!r && t->state == SRP_BRINGING && !t->left && !t->outstanding)
		execute(s, t);
	if (!r && t->state == SRP_GIVING)
		r = move(s, t, IBV_WR_RDMA_WRITE);
	if (!r && t->state == SRP_GIVING && !t->left)
		t->state = SRP_DONE;
	if (!r && t->state == SRP_DONE && s->responding < s->target->limit)
		r = respond(s, t);
	return r;
}

static struct srp_stage *free_stage(struct srp_serving *s, bool *ret_all_free)
{
	struct srp_stage *found = NULL;

	*ret_all_free = true;
	for (unsigned i = 0; i < SRP_STAGES; i++) {
		if (s->stages[i].used)
			*ret_all_free = false;
		else if (!found)
			found = &s->stages[i];
	}
	return found;
}

static void unqueue(struct srp_serving *s, struct srp_work_task **at)
{
	if (!(*at)->next)
		s->queue_end = at;
	*at = (*at)->next;
}

/* Begins queued commands: an ordered one alone. */
static int begin_queued(struct srp_serving *s)
{
	bool all_free;
	int r = 0;

	while (s->queue && !r && !s->ordered && s->rdma_posted < SRP_RDMA_DEPTH) {
		struct srp_work_task *t = s->queue;
		struct srp_stage *stage = free_stage(s, &all_free);

		if (!stage || (t->c.attribute == ORDERED && !all_free))
			break;
		unqueue(s, &s->queue);
		r = begin(s, t, stage);
	}
	return r;
}

/* Task management functions are answered when all that they abort is over. */
static int answer_managing(struct srp_serving *s)
{
	int r = 0;

	for (uint32_t i = 0; i < s->nr_tasks; i++)
		if (s->tasks[i].aborted && (is_active(&s->tasks[i]) || s->tasks[i].state == SRP_QUEUED))
			return 0;
	for (uint32_t i = 0; i < s->nr_tasks && !r; i++)
		if (s->tasks[i].state == SRP_MANAGING && s->responding < s->target->limit)
			r = respond(s, &s->tasks[i]);
	return r;
}

int srp_tasks_pump(struct srp_serving *s)
{
	int r = begin_queued(s);

	for (uint32_t i = 0; i < s->nr_tasks && !r; i++)
		if (is_active(&s->tasks[i]))
			r = step(s, &s->tasks[i]);
	return r ? r : answer_managing(s);
}

int srp_tasks_completed(struct srp_serving *s, enum srp_work kind, uint32_t index)
{
	struct srp_work_task *t = &s->tasks[index];

	if (kind == SRP_WORK_RESPONSE) {
		give_stage_back(s, t);
		t->state = SRP_FREE;
		s->responding--;
		return 0;
	}
	t->outstanding--;
	s->rdma_posted--;
	if (kind != SRP_WORK_TABLE || t->aborted)
		return 0;
	read_table(t, t->stage->data + SCSI_TRANSFER_MAX, buffer_of(t)->nr);
	return bring(s, t);
}

/* --- requests --- */

static struct srp_work_task *free_task(struct srp_serving *s)
{
	for (uint32_t i = 0; i < s->nr_tasks; i++)
		if (s->tasks[i].state == SRP_FREE)
			return &s->tasks[i];
	return NULL;
}

static void enqueue(struct srp_serving *s, struct srp_work_task *t)
{
	int n = scsi_lun_number(t->c.lun);

	t->state = SRP_QUEUED;
	t->resets = n >= 0 && (unsigned)n < s->nexus.nr ? atomic_load(&s->nexus.units[n]->resets) : 0;
	t->next = NULL;
	if (t->c.attribute == HEAD_OF_QUEUE) {
		t->next = s->queue;
		s->queue = t;
		if (!t->next)
			s->queue_end = &t->next;
	} else {
		*s->queue_end = t;
		s->queue_end = &t->next;
	}
	s->served.commands++;
}

static bool is_meant(const struct srp_work_task *t, const struct srp_task *m)
{
	return t->c.lun == m->lun && (m->function != WIRE_SRP_ABORT_TASK || t->c.tag == m->task_tag);
}

/* Aborts the tasks that a function means: queued ones at once, others when their RDMA operations are over. */
static int abort_tasks(struct srp_serving *s, const struct srp_task *m)
{
	struct srp_work_task **at = &s->queue;
	int r = 0;

	while (*at && !r) {
		struct srp_work_task *t = *at;

		if (!is_meant(t, m)) {
			at = &t->next;
			continue;
		}
		unqueue(s, at);
		r = drop(s, t);
	}
	for (uint32_t i = 0; i < s->nr_tasks; i++)
		if (is_active(&s->tasks[i]) && is_meant(&s->tasks[i], m))
			s->tasks[i].aborted = true;
	return r;
}

static int manage(struct srp_serving *s, struct srp_work_task *t)
{
	int n = scsi_lun_number(t->manage.lun), r;

	t->state = SRP_MANAGING;
	t->c.attribute = 0;
	if (t->manage.function != WIRE_SRP_ABORT_TASK && t->manage.function != WIRE_SRP_ABORT_TASK_SET &&
	    t->manage.function != WIRE_SRP_LUN_RESET) {
		t->code = WIRE_SRP_FUNCTION_UNSUPPORTED;
		return 0;
	}
	if (n < 0 || (unsigned)n >= s->nexus.nr) {
		t->code = WIRE_SRP_FUNCTION_FAILED;
		return 0;
	}
	r = abort_tasks(s, &t->manage);
	if (t->manage.function == WIRE_SRP_LUN_RESET)
		atomic_fetch_add(&s->nexus.units[n]->resets, 1);
	t->code = WIRE_SRP_FUNCTION_COMPLETE;
	return r;
}

int srp_tasks_take(struct srp_serving *s, uint32_t recv, uint32_t len)
{
	const uint8_t *data = srp_chan_recv_at(&s->ch, recv);
	struct srp_work_task *t = free_task(s);
	enum srp_verdict v;

	if (s->requests == s->granted || !t)
		return srp_chan_end_rule(&s->ch, SRP_OVER_LIMIT);
	s->requests++;
	*t = (struct srp_work_task){ .recv = recv };
	if (data[0] == WIRE_SRP_TSK_MGMT) {
		v = srp_task_get(&t->manage, data, len);
		return v ? srp_chan_end_rule(&s->ch, v) : manage(s, t);
	}
	v = srp_command_get(&t->c, data, len, s->login.immediate ? s->login.immediate_offset : 0);
	if (v)
		return srp_chan_end_rule(&s->ch, v);
	enqueue(s, t);
	return 0;
}

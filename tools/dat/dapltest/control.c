/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "control.h"

#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

#define SLOT 12288		/* of READY with all its qualifiers, the longest message */
#define RECVS 2
#define HEADER 16

/* --- a bounded cursor --- */

struct cur {
	unsigned char *p, *end;
	bool bad;
};

static void put(struct cur *c, uint64_t value, int bytes)
{
	if (c->end - c->p < bytes) {
		c->bad = true;
		return;
	}
	while (bytes--)
		*c->p++ = value >> (8 * bytes);
}

static uint64_t get(struct cur *c, int bytes)
{
	uint64_t value = 0;

	if (c->end - c->p < bytes) {
		c->bad = true;
		return 0;
	}
	while (bytes--)
		value = value << 8 | *c->p++;
	return value;
}

/* --- bodies --- */

static void put_plan(struct cur *c, const struct dtt_plan *p)
{
	uint32_t i;

	put(c, p->kind, 1);
	put(c, p->how, 1);
	put(c, p->verify, 1);
	put(c, p->rsp, 1);
	put(c, p->threads, 4);
	put(c, p->ends, 4);
	put(c, p->iterations, 4);
	put(c, p->window, 4);
	put(c, p->n_ops, 4);
	for (i = 0; i < p->n_ops; i++) {
		put(c, p->ops[i].side, 1);
		put(c, p->ops[i].type, 1);
		put(c, p->ops[i].late, 1);
		put(c, p->ops[i].size, 4);
		put(c, p->ops[i].segments, 4);
	}
}

static void get_plan(struct cur *c, struct dtt_plan *p)
{
	uint32_t i;

	memset(p, 0, sizeof(*p));
	p->kind = get(c, 1);
	p->how = get(c, 1);
	p->verify = get(c, 1);
	p->rsp = get(c, 1);
	p->threads = get(c, 4);
	p->ends = get(c, 4);
	p->iterations = get(c, 4);
	p->window = get(c, 4);
	p->n_ops = get(c, 4);
	if (p->n_ops > DTT_OPS_MAX || p->how > DTL_CNO)
		c->bad = true;
	for (i = 0; i < p->n_ops && !c->bad; i++) {
		p->ops[i].side = get(c, 1);
		p->ops[i].type = get(c, 1);
		p->ops[i].late = get(c, 1);
		p->ops[i].size = get(c, 4);
		p->ops[i].segments = get(c, 4);
	}
}

static void put_ready(struct cur *c, const struct ctl_ready *r)
{
	uint32_t i;

	put(c, r->n_quals, 4);
	for (i = 0; i < r->n_quals; i++)
		put(c, r->quals[i], 8);
}

static void get_ready(struct cur *c, struct ctl_ready *r)
{
	uint32_t i;

	r->n_quals = get(c, 4);
	if (r->n_quals > DTT_LANES_MAX)
		c->bad = true;
	for (i = 0; i < r->n_quals && !c->bad; i++)
		r->quals[i] = get(c, 8);
}

static void put_result(struct cur *c, bool ok, const char *text)
{
	size_t n = strlen(text) < CTL_TEXT - 1 ? strlen(text) : CTL_TEXT - 1, i;

	put(c, ok, 1);
	put(c, n, 2);
	for (i = 0; i < n; i++)
		put(c, (unsigned char)text[i], 1);
}

static void get_result(struct cur *c, struct ctl_result *r)
{
	size_t n, i;

	r->ok = get(c, 1);
	n = get(c, 2);
	if (n > CTL_TEXT - 1) {
		c->bad = true;
		n = 0;
	}
	for (i = 0; i < n; i++)
		r->text[i] = get(c, 1);
	r->text[n] = '\0';
}

/* --- connection --- */

void ctl_hello_set(struct ctl_hello *h)
{
	h->magic = htonl(CTL_MAGIC);
	h->version = htonl(CTL_VERSION);
}

/* Some transports pad private data, so it may be longer. */
static bool read_hello(const void *data, int size, struct ctl_hello *ret)
{
	if (size < (int)sizeof(*ret))
		return false;
	memcpy(ret, data, sizeof(*ret));
	return true;
}

bool ctl_hello_ok(const void *data, int size)
{
	struct ctl_hello want, got;

	ctl_hello_set(&want);
	return read_hello(data, size, &got) && got.magic == want.magic && got.version == want.version;
}

bool ctl_hello_there(const void *data, int size)
{
	struct ctl_hello got;

	return read_hello(data, size, &got) && got.magic == htonl(CTL_MAGIC);
}

static int post(struct ctl *c, uint64_t nr)
{
	DAT_LMR_TRIPLET seg = dtl_segment(c->mem.context, c->mem.start + nr % RECVS * SLOT, SLOT);

	return dtl_post_recv(&c->end, &seg, 1, nr);
}

int ctl_make(struct ctl *c, struct dtl_ia *ia, DAT_QOS qos)
{
	struct dtl_end_wish wish = { .recvs = RECVS, .requests = 2, .iov = 1, .how = DTL_WAIT,
				     .cno = DAT_HANDLE_NULL, .srq = DAT_HANDLE_NULL, .qos = qos };
	uint64_t i;

	memset(c, 0, sizeof(*c));
	if (dtl_mem_make(&c->mem, ia, SLOT * (RECVS + 1),
			 DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG) != 0)
		return -1;
	if (dtl_end_make(&c->end, ia, &wish) != 0)
		goto fail;
	for (i = 0; i < RECVS; i++)
		if (post(c, i) != 0)
			goto fail;
	return 0;
fail:
	ctl_drop(c);
	return -1;
}

int ctl_drop(struct ctl *c)
{
	int bad = dtl_end_drop(&c->end);

	return dtl_mem_drop(&c->mem) | bad;
}

/* --- messages --- */

unsigned char *ctl_room(struct ctl *c)
{
	return (unsigned char *)c->mem.start + SLOT * RECVS;
}

static int post_send(struct ctl *c, uint32_t bytes)
{
	DAT_LMR_TRIPLET seg = dtl_segment(c->mem.context, ctl_room(c), bytes);

	return dtl_post_send(&c->end, &seg, 1, c->sent);
}

int ctl_send(struct ctl *c, uint32_t bytes)
{
	return post_send(c, bytes) != 0 ? -1 : dtl_reap(&c->end, c->end.request, c->sent++, NULL);
}

int ctl_send_last(struct ctl *c, uint32_t bytes)
{
	return post_send(c, bytes) != 0 ? -1 : dtl_reap_parting(&c->end, c->sent++);
}

static struct cur begin(struct ctl *c)
{
	unsigned char *p = ctl_room(c);

	return (struct cur){ p + HEADER, p + SLOT, false };
}

static int finish(struct ctl *c, struct cur *cur, enum ctl_type type)
{
	unsigned char *start = ctl_room(c);
	struct cur head = { start, start + HEADER, false };

	if (cur->bad) {
		dtl_complain("a control message is too long: the test fails; use fewer operations");
		return -1;
	}
	put(&head, CTL_MAGIC, 4);
	put(&head, CTL_VERSION, 2);
	put(&head, type, 2);
	put(&head, cur->p - start - HEADER, 4);
	put(&head, 0, 4);
	return ctl_send(c, cur->p - start);
}

int ctl_send_request(struct ctl *c, const struct dtt_plan *plan)
{
	struct cur cur = begin(c);

	put_plan(&cur, plan);
	return finish(c, &cur, CTL_REQUEST);
}

int ctl_send_ready(struct ctl *c, const struct ctl_ready *ready)
{
	struct cur cur = begin(c);

	put_ready(&cur, ready);
	return finish(c, &cur, CTL_READY);
}

int ctl_send_result(struct ctl *c, enum ctl_type type, bool ok, const char *text)
{
	struct cur cur = begin(c);

	put_result(&cur, ok, text);
	return finish(c, &cur, type);
}

static int parse(struct cur *c, union ctl_body *ret)
{
	uint32_t magic = get(c, 4), version = get(c, 2), type = get(c, 2), length = get(c, 4);

	get(c, 4);
	if (magic != CTL_MAGIC || version != CTL_VERSION || length > (uint64_t)(c->end - c->p))
		return -1;
	c->end = c->p + length;
	switch (type) {
	case CTL_REQUEST:
		get_plan(c, &ret->plan);
		break;
	case CTL_READY:
		get_ready(c, &ret->ready);
		break;
	case CTL_DONE:
	case CTL_RESULT:
		get_result(c, &ret->result);
		break;
	default:
		return -1;
	}
	return c->bad ? -1 : (int)type;
}

/* Without a timeout: a test may take any time, and a peer that ends completes the receive. */
int64_t ctl_next(struct ctl *c, unsigned char **ret)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT ev;
	int r;

	do
		r = dtl_next(DTL_WAIT, DAT_HANDLE_NULL, c->end.recv, 10 * DTL_TIMEOUT_MS, &ev);
	while (r > 0);
	dto = &ev.event_data.dto_completion_event_data;
	if (r < 0)
		return -1;
	if (dto->status != DAT_DTO_SUCCESS) {
		dtl_complain("the peer's dapltest left the connection that agrees on tests (%s): this test ends; see what the peer printed", dtl_status_name(dto->status));
		return -1;
	}
	*ret = (unsigned char *)c->mem.start + c->received % RECVS * SLOT;
	return dto->transfered_length < SLOT ? dto->transfered_length : SLOT;
}

int ctl_taken(struct ctl *c)
{
	c->received++;
	return post(c, c->received + RECVS - 1);
}

int ctl_recv(struct ctl *c, union ctl_body *ret)
{
	unsigned char *start;
	struct cur cur = { .bad = false };
	int64_t length = ctl_next(c, &start);
	int type;

	if (length < 0)
		return -1;
	cur.p = start;
	cur.end = start + length;
	type = parse(&cur, ret);
	if (type < 0) {
		dtl_complain("a control message of the peer is unknown: the test fails; run the same version "
			     "at both ends");
		return -1;
	}
	return ctl_taken(c) == 0 ? type : -1;
}

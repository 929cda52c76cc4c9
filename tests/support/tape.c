/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "support/tape.h"

#include "support/check.h"
#include "util/clock.h"

static int hook(void *arg, struct sim_packet *raw)
{
	struct tape *t = arg;
	struct tape_packet *x = &t->v[t->n];
	int copies = 1;

	CHECK(t->n < TAPE_MAX);
	*x = (struct tape_packet){ .at = t->w->now, .from = raw->from, .sport = raw->flow.sport,
				   .tos = raw->flow.tos };
	CHECK(wire_ib_parse(raw->data, raw->len, &x->p) == WIRE_OK);
	if (t->judge)
		copies = t->judge(t, x, raw);
	x->copies = copies;
	x->p.payload = x->p.icrc = NULL;
	t->n++;
	return copies;
}

void tape_start(struct tape *t, struct sim_world *w)
{
	t->w = w;
	t->n = 0;
	sim_net_hook(w->net, hook, t);
}

const struct tape_packet *tape_find(const struct tape *t, uint8_t opcode, int k)
{
	for (int i = 0; i < t->n; i++)
		if (t->v[i].p.opcode == opcode && k-- == 0)
			return &t->v[i];
	return NULL;
}

int tape_count(const struct tape *t, uint8_t opcode)
{
	int n = 0;

	while (tape_find(t, opcode, n))
		n++;
	return n;
}

int tape_syndromes(const struct tape *t, uint8_t syndrome)
{
	int n = 0;

	for (int i = 0; i < t->n; i++)
		n += t->v[i].p.opcode == WIRE_RC_ACKNOWLEDGE && t->v[i].p.syndrome == syndrome;
	return n;
}

int tape_drop(struct tape *t, const struct tape_packet *x, struct sim_packet *raw)
{
	return t->n != t->k;
}

int tape_double(struct tape *t, const struct tape_packet *x, struct sim_packet *raw)
{
	return 1 + (t->n == t->k);
}

int tape_late(struct tape *t, const struct tape_packet *x, struct sim_packet *raw)
{
	if (t->n == t->k)
		raw->delay += t->delay;
	return 1;
}

struct rig *rig_open_on(const struct sim_options *so, const struct sim_qp_options *qo, size_t bytes)
{
	struct rig *r = calloc(1, sizeof(*r));

	CHECK(r);
	sim_world_open(&r->w, so);
	sim_pair(&r->a, &r->w.host[0], &r->b, &r->w.host[1], qo);
	sim_end_memory(&r->a, bytes);
	sim_end_memory(&r->b, bytes);
	tape_start(&r->tape, &r->w);
	return r;
}

struct rig *rig_open(const struct sim_qp_options *qo, size_t bytes)
{
	return rig_open_on(&(struct sim_options){ .seed = 1 }, qo, bytes);
}

void rig_close(struct rig *r)
{
	sim_end_close(&r->a);
	sim_end_close(&r->b);
	sim_world_close(&r->w);
	free(r);
}

void rig_recv(struct rig *r, uint64_t id, size_t off, uint32_t len)
{
	CHECK(sim_post_recv(&r->b, id, r->b.mem + off, len) == 0);
}

void rig_op(struct rig *r, enum ibv_wr_opcode code, uint64_t id, size_t off, size_t remote,
	    uint32_t len, unsigned flags)
{
	struct sim_op o = {
		.code = code, .id = id, .at = r->a.mem + off, .len = len,
		.remote = r->b.mem + remote, .rkey = r->b.mr->key, .flags = flags,
		.imm = (uint32_t)id, .add = id,
	};

	CHECK(sim_post(&r->a, &o) == 0);
}

void rig_run(struct rig *r, uint64_t ns)
{
	sim_run(&r->w, ns, NULL, NULL);
}

void pattern_fill(uint8_t *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(seed * 37 + i * 11 + (i >> 8) * 3);
}

void pattern_check(const uint8_t *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		CHECK_MSG(p[i] == (uint8_t)(seed * 37 + i * 11 + (i >> 8) * 3),
			  "byte %zu of %zu, pattern %u", i, n, seed);
}

void bytes_are(const uint8_t *p, size_t n, uint8_t value)
{
	for (size_t i = 0; i < n; i++)
		CHECK_MSG(p[i] == value, "byte %zu of %zu is %02x, not %02x", i, n, p[i], value);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ring of an EVD against a model: every sequence of steps up to a length, over every small
 * ring. The model is an array of (number, notifies) without wrap.
 */
#include "dat/core/ring.h"

#include "support/check.h"

#define MOST 8
#define DEPTH 9

struct model {
	int id[MOST];
	bool notify[MOST];
	unsigned int n, size;
};

enum step { PUT_QUIET, PUT, GET, PURGE_ODD, GROW, SHRINK, STEPS };

static bool model_ripe(const struct model *m, unsigned int threshold)
{
	bool told = false;

	for (unsigned int i = 0; i < m->n; i++)
		told |= m->notify[i];
	return told && m->n >= threshold;
}

static void model_drop(struct model *m, unsigned int at)
{
	for (unsigned int i = at; i + 1 < m->n; i++) {
		m->id[i] = m->id[i + 1];
		m->notify[i] = m->notify[i + 1];
	}
	m->n--;
}

static void put(struct dpr_evring *r, struct model *m, int id, bool notify)
{
	DAT_EVENT *slot = dpr_evring_slot(r);

	CHECK(!slot == (m->n == m->size));
	if (!slot)
		return;
	memset(slot, 0, sizeof(*slot));
	slot->event_number = (DAT_EVENT_NUMBER)id;
	dpr_evring_commit(r, notify);
	m->id[m->n] = id;
	m->notify[m->n++] = notify;
}

static void get(struct dpr_evring *r, struct model *m)
{
	DAT_EVENT ev = { 0 };
	bool got = dpr_evring_get(r, &ev);

	CHECK(got == (m->n > 0));
	if (!got)
		return;
	CHECK((int)ev.event_number == m->id[0]);
	model_drop(m, 0);
}

static bool odd(const DAT_EVENT *ev, void *arg)
{
	return (int)ev->event_number & 1;
}

/*
 * A purged event that notified leaves those before it as notified: they may be handed out early,
 * never late. The model does the same, since callers rely on "never late" only.
 */
static void purge(struct dpr_evring *r, struct model *m)
{
	unsigned int dropped = 0;

	for (unsigned int i = 0; i < m->n;) {
		if (!(m->id[i] & 1)) {
			i++;
			continue;
		}
		if (m->notify[i] && i)
			m->notify[i - 1] = true;
		model_drop(m, i);
		dropped++;
	}
	CHECK(dpr_evring_purge(r, odd, NULL) == dropped);
}

static void resize(struct dpr_evring *r, struct model *m, unsigned int size)
{
	int err;

	if (!size || size > MOST)
		return;
	err = dpr_evring_resize(r, size);
	CHECK(err == (size < m->n ? -EBUSY : 0));
	if (!err)
		m->size = size;
}

static void step(struct dpr_evring *r, struct model *m, enum step what, int id)
{
	if (what == PUT || what == PUT_QUIET)
		put(r, m, id, what == PUT);
	else if (what == GET)
		get(r, m);
	else if (what == PURGE_ODD)
		purge(r, m);
	else
		resize(r, m, what == GROW ? m->size + 1 : m->size - 1);
	CHECK(r->count == m->n);
	CHECK(r->size == m->size);
	for (unsigned int t = 1; t <= MOST; t++)
		CHECK_MSG(dpr_evring_is_ready(r, t) == model_ripe(m, t), "threshold %u of %u", t, m->n);
}

/* Copies, so that each sequence of the tree goes on from the same state. */
static unsigned long tree(const struct dpr_evring *r, const struct model *m, int depth, int id)
{
	unsigned long n = 1;

	if (depth == DEPTH)
		return n;
	for (int what = 0; what < STEPS; what++) {
		struct dpr_evring copy = *r;
		struct model model = *m;

		/* equal sizes are not resized to and fro at the end of a sequence */
		if (depth > DEPTH - 3 && what >= GROW)
			continue;
		copy.ev = malloc(copy.size * sizeof(DAT_EVENT));
		CHECK(copy.ev);
		memcpy(copy.ev, r->ev, copy.size * sizeof(DAT_EVENT));
		step(&copy, &model, (enum step)what, id);
		n += tree(&copy, &model, depth + 1, id + 1);
		dpr_evring_fini(&copy);
	}
	return n;
}

int main(void)
{
	unsigned long n = 0;

	for (unsigned int size = 1; size <= 3; size++) {
		struct model m = { .size = size };
		struct dpr_evring r;

		CHECK(!dpr_evring_init(&r, size));
		n += tree(&r, &m, 0, 0);
		dpr_evring_fini(&r);
		CHECK(!r.ev && !r.size);
	}
	printf("%lu states\n", n);
	return 0;
}

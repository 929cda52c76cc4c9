/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/core/ring.h"

int dpr_evring_init(struct dpr_evring *r, unsigned int size)
{
	*r = (struct dpr_evring){ .ev = dpr_core_alloc(size, sizeof(DAT_EVENT)), .size = size };
	return r->ev ? 0 : -ENOMEM;
}

void dpr_evring_fini(struct dpr_evring *r)
{
	dpr_core_free(r->ev);
	memset(r, 0, sizeof(*r));
}

static unsigned int place(const struct dpr_evring *r, unsigned int i)
{
	unsigned int at = r->head + i;

	return at < r->size ? at : at - r->size;
}

DAT_EVENT *dpr_evring_move(struct dpr_evring *r, DAT_EVENT *ev, unsigned int size)
{
	DAT_EVENT *former = r->ev;

	for (unsigned int i = 0; i < r->count; i++)
		ev[i] = r->ev[place(r, i)];
	r->ev = ev;
	r->size = size;
	r->head = 0;
	return former;
}

int dpr_evring_resize(struct dpr_evring *r, unsigned int size)
{
	DAT_EVENT *ev;

	if (size < r->count)
		return -EBUSY;
	ev = dpr_core_alloc(size, sizeof(*ev));
	if (!ev)
		return -ENOMEM;
	dpr_core_free(dpr_evring_move(r, ev, size));
	return 0;
}

DAT_EVENT *dpr_evring_slot(struct dpr_evring *r)
{
	return r->count < r->size ? &r->ev[place(r, r->count)] : NULL;
}

void dpr_evring_commit(struct dpr_evring *r, bool notify)
{
	r->count++;
	if (notify)
		r->notified = r->count;
}

bool dpr_evring_get(struct dpr_evring *r, DAT_EVENT *ev)
{
	if (!r->count)
		return false;
	*ev = r->ev[r->head];
	r->count--;
	r->head = r->count ? place(r, 1) : 0; /* an empty queue touches no more memory than it needs */
	if (r->notified)
		r->notified--;
	return true;
}

unsigned int dpr_evring_purge(struct dpr_evring *r, bool (*drop)(const DAT_EVENT *ev, void *arg),
			      void *arg)
{
	unsigned int kept = 0, notified = 0, was = r->count;

	for (unsigned int i = 0; i < was; i++) {
		DAT_EVENT *ev = &r->ev[place(r, i)];

		if (drop(ev, arg))
			continue;
		if (place(r, kept) != place(r, i))
			r->ev[place(r, kept)] = *ev;
		kept++;
		if (i < r->notified)
			notified = kept;
	}
	r->count = kept;
	r->notified = notified;
	return was - kept;
}

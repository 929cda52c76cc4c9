/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers count up and are not used twice before they wrap. */

#include "abi/verbs/handle.h"

#include "util/idtab.h"
#include "util/lock.h"

static struct ut_mutex lock = UT_MUTEX_INIT;
static struct ut_idtab tables[VRB_KINDS] UT_GUARDED_BY(lock);
static uint32_t last[VRB_KINDS] UT_GUARDED_BY(lock);

uint32_t vrb_handle_add(enum vrb_kind kind, struct vrb_handle *h)
{
	uint32_t id;

	ut_lock(&lock);
	do
		id = ++last[kind];
	while (!id || ut_idtab_get(&tables[kind], id));
	h->id = ut_idtab_add(&tables[kind], id, h) ? 0 : id;
	ut_unlock(&lock);
	return id;
}

bool vrb_handle_end(enum vrb_kind kind, struct vrb_handle *h)
{
	bool unused;

	ut_lock(&lock);
	unused = !atomic_load(&h->users);
	if (unused && h->id) {
		ut_idtab_del(&tables[kind], h->id);
		h->id = 0;
	}
	ut_unlock(&lock);
	return unused;
}

struct vrb_handle *vrb_handle_take(enum vrb_kind kind, uint32_t id)
{
	struct vrb_handle *h;

	ut_lock(&lock);
	h = ut_idtab_get(&tables[kind], id);
	if (h)
		atomic_fetch_add(&h->users, 1);
	ut_unlock(&lock);
	return h;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/registry/handle.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GONE ((uintptr_t)1) /* marks where a table was */

_Atomic uint64_t dreg_pages[DREG_PAGES];
_Atomic uint32_t dreg_generation = 1; /* never 0, so that an empty slot is a miss for page 0 */
_Atomic(uintptr_t) dreg_tables[DREG_TABLES];

/* By the index of dreg_tables. Guarded by dreg_lock, but for the atomic. */
static struct {
	unsigned users;
	_Atomic bool extensions;
} tables[DREG_TABLES];
static unsigned n_tables;

/* Returns the index of a table, or one where it may be put, or DREG_TABLES. */
static unsigned find(uintptr_t table, bool to_put)
{
	unsigned at = dreg_table_place(table), hole = DREG_TABLES;

	for (unsigned i = 0; i < DREG_TABLES; i++, at = (at + 1) % DREG_TABLES) {
		uintptr_t found = atomic_load_explicit(&dreg_tables[at], memory_order_relaxed);

		if (found == table)
			return at;
		if (found <= GONE && hole == DREG_TABLES)
			hole = at;
		if (!found)
			break;
	}
	return to_put ? hole : DREG_TABLES;
}

int dreg_table_use(const DAT_PROVIDER *table, bool extensions)
{
	unsigned at = find((uintptr_t)table, n_tables < DREG_TABLES / 4 * 3);

	if ((uintptr_t)table <= GONE || at == DREG_TABLES)
		return -ENOSPC;
	if (tables[at].users++ == 0)
		n_tables++;
	if (extensions)
		tables[at].extensions = true;
	atomic_store_explicit(&dreg_tables[at], (uintptr_t)table, memory_order_release);
	return 0;
}

void dreg_table_drop(const DAT_PROVIDER *table)
{
	unsigned at = find((uintptr_t)table, false);

	if (at == DREG_TABLES || --tables[at].users)
		return;
	n_tables--;
	tables[at].extensions = false;
	atomic_store_explicit(&dreg_tables[at], GONE, memory_order_release);
}

bool dreg_table_extensions(const DAT_PROVIDER *table)
{
	unsigned at = find((uintptr_t)table, false);

	return at != DREG_TABLES && tables[at].extensions;
}

void dreg_new_generation(void)
{
	uint32_t now, next;

	do {
		now = atomic_load_explicit(&dreg_generation, memory_order_relaxed);
		next = now + 1 < DREG_GENERATIONS ? now + 1 : 1;
		/* Generations wrap around: pages of the former round must not match. */
		for (unsigned i = 0; next == 1 && i < DREG_PAGES; i++)
			atomic_store_explicit(&dreg_pages[i], 0, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(&dreg_generation, &now, next,
							memory_order_acq_rel,
							memory_order_relaxed));
}

/*
 * The kernel copies the signal set before it checks `how`, which is invalid on purpose: EFAULT if
 * the address is not readable, EINVAL if it is, and nothing changes. Unlike a pipe this needs no
 * descriptor; unlike process_vm_readv no container forbids it; unlike mincore it sees PROT_NONE.
 */
static bool is_readable(const void *at)
{
	int saved = errno;
	long rc = syscall(SYS_rt_sigprocmask, -1, at, NULL, 8);
	bool good = rc < 0 && errno == EINVAL;

	errno = saved;
	return good;
}

const DAT_PROVIDER *dreg_object_slow(DAT_HANDLE handle)
{
	uintptr_t a = (uintptr_t)handle, table;
	uint64_t page = a >> DREG_PAGE_BITS;
	/* Read before the check, so that a free meanwhile invalidates its result. */
	uint32_t generation = atomic_load_explicit(&dreg_generation, memory_order_acquire);

	if (a < DREG_MAX_IAS || a % sizeof(void *) != 0 || !is_readable(handle))
		return NULL;
	table = dreg_first_word(handle);
	if (!dreg_table_known(table))
		return NULL;
	if (page >> (64 - DREG_GENERATION_BITS) == 0)
		atomic_store_explicit(dreg_page_place(page),
				      page << DREG_GENERATION_BITS | generation,
				      memory_order_relaxed);
	return (const DAT_PROVIDER *)table;
}

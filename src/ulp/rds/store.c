/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/store.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define CLASSES 13                      /* slots of 512 octets to 2 MiB */
#define SMALLEST 512u
#define CLASS_ROOM (256ul << 20)        /* octets of a class: address space alone, until they are used */
#define NONE UINT32_MAX

struct shared {
	struct rds_store store;
	_Atomic uint32_t ever[CLASSES]; /* slots that have been in use */
};

static struct shared *shared;
static uint8_t *slots;
static uint32_t *next_free[CLASSES], first_free[CLASSES];

static size_t slot_size(unsigned c)
{
	return (size_t)SMALLEST << c;
}

static void *share(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int rds_store_make(void)
{
	shared = share(sizeof(*shared));
	slots = share(CLASSES * CLASS_ROOM);
	for (unsigned c = 0; c < CLASSES; c++)
		first_free[c] = NONE;
	return shared && slots ? 0 : -ENOMEM;
}

struct rds_store *rds_store(void)
{
	return &shared->store;
}

static uint8_t *slot(unsigned c, uint32_t i)
{
	return slots + c * CLASS_ROOM + i * slot_size(c);
}

/* A slot of a class, or NULL. */
static void *get(unsigned c)
{
	uint32_t i = first_free[c];

	if (!next_free[c])
		next_free[c] = calloc(CLASS_ROOM / slot_size(c), sizeof(uint32_t));
	if (!next_free[c])
		return NULL;
	if (i != NONE) {
		first_free[c] = next_free[c][i];
		return slot(c, i);
	}
	i = atomic_load(&shared->ever[c]);
	if (i == CLASS_ROOM / slot_size(c))
		return NULL;
	atomic_store(&shared->ever[c], i + 1);
	return slot(c, i);
}

void *rds_store_get(size_t len)
{
	void *m = NULL;

	for (unsigned c = 0; !m && c < CLASSES; c++)
		if (slot_size(c) >= len)
			m = get(c);
	return m;
}

static void put(unsigned c, uint32_t i)
{
	if (!next_free[c])
		return;
	next_free[c][i] = first_free[c];
	first_free[c] = i;
}

void rds_store_put(void *m)
{
	size_t at = (size_t)((uint8_t *)m - slots);
	unsigned c = (unsigned)(at / CLASS_ROOM);

	put(c, (uint32_t)(at % CLASS_ROOM / slot_size(c)));
}

void rds_store_each(bool (*is_in_use)(void *m, void *arg), void *arg)
{
	for (unsigned c = 0; c < CLASSES; c++) {
		uint32_t nr = atomic_load(&shared->ever[c]);

		next_free[c] = calloc(CLASS_ROOM / slot_size(c), sizeof(uint32_t));
		for (uint32_t i = 0; i < nr; i++)
			if (!is_in_use(slot(c, i), arg))
				put(c, i);
	}
}

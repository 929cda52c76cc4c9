/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/store.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CLASSES 13                      /* slots of 512 octets to 2 MiB */
#define SMALLEST 512u
#define CLASS_ROOM (256ul << 20)        /* octets of a class: address space alone, until they are used */
#define NONE UINT32_MAX

struct shared {
	struct rds_store store;
	_Atomic uint32_t ever[CLASSES]; /* slots that have been in use */
};

#define SLOTS_AT (2ul << 20)            /* of the memory: behind the rest */
#define WHOLE (SLOTS_AT + CLASSES * CLASS_ROOM)

_Static_assert(sizeof(struct shared) <= SLOTS_AT, "sockets and connections lie before the slots");

static struct shared *shared;
static uint8_t *slots;
static int store_fd = -1;
static uint32_t *next_free[CLASSES], first_free[CLASSES];

static size_t slot_size(unsigned c)
{
	return (size_t)SMALLEST << c;
}

static uint32_t nr_slots(unsigned c)
{
	return (uint32_t)(CLASS_ROOM / slot_size(c));
}

/* The lists of free slots, empty: 4 MiB of address space, of which as much is used as of the slots. */
static int make_lists(void)
{
	uint32_t *at = next_free[0], nr = 0;

	for (unsigned c = 0; c < CLASSES; c++)
		nr += nr_slots(c);
	if (!at)
		at = calloc(nr, sizeof(*at));
	if (!at)
		return -ENOMEM;
	for (unsigned c = 0; c < CLASSES; c++) {
		next_free[c] = at;
		first_free[c] = NONE;
		at += nr_slots(c);
	}
	return 0;
}

static int make_memory(void)
{
	int fd = memfd_create("rds-store", MFD_CLOEXEC);

	if (fd >= 0 && !ftruncate(fd, WHOLE))
		return fd;
	return -errno;
}

int rds_store_make(int fd)
{
	void *p;

	store_fd = fd < 0 ? make_memory() : fd;
	if (store_fd < 0)
		return store_fd;
	p = mmap(NULL, WHOLE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, store_fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	shared = p;
	slots = (uint8_t *)p + SLOTS_AT;
	return make_lists();
}

int rds_store_fd(void)
{
	return store_fd;
}

struct rds_store *rds_store(void)
{
	return &shared->store;
}

static uint8_t *slot(unsigned c, uint32_t i)
{
	return slots + c * CLASS_ROOM + i * slot_size(c);
}

static uint32_t ever(unsigned c)
{
	uint32_t n = atomic_load(&shared->ever[c]);

	return n < nr_slots(c) ? n : nr_slots(c);
}

/* A slot of a class, or NULL. */
static void *get(unsigned c)
{
	uint32_t i = first_free[c];

	if (i != NONE) {
		first_free[c] = next_free[c][i];
		return slot(c, i);
	}
	i = ever(c);
	if (i == nr_slots(c))
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
	return m ? m : malloc(len);
}

/* Every slot is behind the begin of the whole memory. */
uint64_t rds_store_place(const void *m)
{
	uintptr_t begin = (uintptr_t)slots, at = (uintptr_t)m;

	return at >= begin && at < begin + CLASSES * CLASS_ROOM ? at - begin + SLOTS_AT : 0;
}

/* The class of a place of the slots. */
static unsigned class_of(uint64_t place)
{
	return (unsigned)((place - SLOTS_AT) / CLASS_ROOM);
}

void *rds_store_at(uint64_t place)
{
	uint64_t at;
	unsigned c;

	if (place < SLOTS_AT || place >= WHOLE)
		return NULL;
	c = class_of(place);
	at = (place - SLOTS_AT) % CLASS_ROOM;
	return at % slot_size(c) || at / slot_size(c) >= ever(c) ? NULL : slots + (place - SLOTS_AT);
}

size_t rds_store_room(const void *m)
{
	uint64_t place = rds_store_place(m);

	return place ? slot_size(class_of(place)) : 0;
}

static void put(unsigned c, uint32_t i)
{
	next_free[c][i] = first_free[c];
	first_free[c] = i;
}

void rds_store_put(void *m)
{
	uint64_t place = rds_store_place(m);

	if (place)
		put(class_of(place), (uint32_t)((place - SLOTS_AT) % CLASS_ROOM / slot_size(class_of(place))));
	else
		free(m);
}

void rds_store_look(void (*look)(void *m, void *arg), void *arg)
{
	for (unsigned c = 0; c < CLASSES; c++)
		for (uint32_t i = 0; i < ever(c); i++)
			look(slot(c, i), arg);
}

void rds_store_each(bool (*is_in_use)(void *m, void *arg), void *arg)
{
	for (unsigned c = 0; c < CLASSES; c++)
		for (uint32_t i = 0; i < ever(c); i++)
			if (!is_in_use(slot(c, i), arg))
				put(c, i);
}

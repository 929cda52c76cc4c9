/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table from descriptors to rsockets has two levels, so that a high descriptor costs one page;
 * slots are guarded by a few mutexes, chosen by descriptor.
 *
 * After fork() the child keeps the table, but the rsockets in it belong to the parent: in the child
 * lookups find nothing, and rclose() only closes the descriptor. Hence each slot has the generation
 * in which it was filled; fork() starts a new one in the child.
 */
#include "ulp/rsocket/table.h"
#include "ulp/rsocket/dgram.h"
#include "ulp/rsocket/ep.h"
#include "ulp/rsocket/listen.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BITS 10
#define PAGE (1u << PAGE_BITS)
#define PAGES 1024u
#define STRIPES 32u

struct slot {
	struct rs_sock *sock;
	unsigned born;
};

static pthread_mutex_t stripes[STRIPES];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct slot *_Atomic pages[PAGES];
static atomic_uint generation;

static void init_stripes(void)
{
	for (unsigned i = 0; i < STRIPES; i++)
		pthread_mutex_init(&stripes[i], NULL);
}

static void child(void)
{
	init_stripes();
	rs_sleepers_after_fork();
	atomic_fetch_add(&generation, 1);
}

static void init(void)
{
	init_stripes();
	pthread_atfork(NULL, NULL, child);
}

static pthread_mutex_t *stripe(int fd)
{
	pthread_once(&once, init);
	return &stripes[(unsigned)fd % STRIPES];
}

static struct slot *slot_of(int fd, bool make)
{
	unsigned nr = (unsigned)fd >> PAGE_BITS;
	struct slot *page, *none = NULL;

	if (fd < 0 || nr >= PAGES)
		return NULL;
	page = atomic_load_explicit(&pages[nr], memory_order_acquire);
	if (!page && make) {
		page = calloc(PAGE, sizeof(*page));
		if (!page)
			return NULL;
		if (!atomic_compare_exchange_strong(&pages[nr], &none, page)) {
			free(page);
			page = none;
		}
	}
	return page ? &page[(unsigned)fd % PAGE] : NULL;
}

struct rs_sock *rs_new(int type, int family, const struct rs_opts *from)
{
	struct rs_sock *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	atomic_init(&s->refs, 1);
	s->fd = -1;
	s->type = type;
	s->family = family;
	s->o = *from;
	s->rd_open = s->wr_open = true;
	s->last_request = &s->requests;
	pthread_mutex_init(&s->m, NULL);
	pthread_mutex_init(&s->s, NULL);
	pthread_mutex_init(&s->r, NULL);
	pthread_mutex_init(&s->c, NULL);
	pthread_mutex_init(&s->maps_lock, NULL);
	return s;
}

int rs_publish(struct rs_sock *s, int fd)
{
	pthread_mutex_t *lock = stripe(fd);
	struct slot *slot = slot_of(fd, true);

	if (!slot)
		return fd < 0 || (unsigned)fd >> PAGE_BITS >= PAGES ? -EMFILE : -ENOMEM;
	s->fd = fd;
	pthread_mutex_lock(lock);
	*slot = (struct slot){ s, atomic_load(&generation) };
	pthread_mutex_unlock(lock);
	return fd;
}

bool rs_unpublish(struct rs_sock *s)
{
	pthread_mutex_t *lock = stripe(s->fd);
	struct slot *slot = slot_of(s->fd, false);
	bool was;

	pthread_mutex_lock(lock);
	was = slot && slot->sock == s;
	if (was)
		slot->sock = NULL;
	pthread_mutex_unlock(lock);
	return was;
}

struct rs_sock *rs_get(int fd)
{
	struct slot *slot = slot_of(fd, false);
	struct rs_sock *s = NULL;
	pthread_mutex_t *lock;

	if (!slot)
		return NULL;
	lock = stripe(fd);
	pthread_mutex_lock(lock);
	if (slot->sock && slot->born == atomic_load(&generation)) {
		s = slot->sock;
		atomic_fetch_add(&s->refs, 1);
	}
	pthread_mutex_unlock(lock);
	return s;
}

bool rs_stale(int fd)
{
	struct slot *slot = slot_of(fd, false);
	pthread_mutex_t *lock;
	bool stale;

	if (!slot)
		return false;
	lock = stripe(fd);
	pthread_mutex_lock(lock);
	stale = slot->sock && slot->born != atomic_load(&generation);
	if (stale)
		slot->sock = NULL;
	pthread_mutex_unlock(lock);
	return stale;
}

static void free_sock(struct rs_sock *s)
{
	int state = rs_cancel_off(), keep = errno;

	if (s->type == SOCK_DGRAM)
		rs_dgram_free(s);
	rs_listen_free(s);
	rs_ep_free(s);
	if (s->id)
		rdma_destroy_id(s->id);
	if (s->channel)
		rdma_destroy_event_channel(s->channel);
	pthread_mutex_destroy(&s->m);
	pthread_mutex_destroy(&s->s);
	pthread_mutex_destroy(&s->r);
	pthread_mutex_destroy(&s->c);
	pthread_mutex_destroy(&s->maps_lock);
	free(s->route);
	free(s);
	errno = keep;
	rs_cancel_back(state);
}

void rs_put(struct rs_sock *s)
{
	if (atomic_fetch_sub(&s->refs, 1) == 1)
		free_sock(s);
}

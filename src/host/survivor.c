/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/survivor.h"

#include "host/liveness.h"
#include "host/mailbox.h"
#include "host/shm/segment.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/log.h"
#include "util/syscall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define PEER_WATCHES_MAX 64u        /* each costs two descriptors */
#define RECORD_BYTES (4u << 20)
#define KEEPERS 2
#define SEND_TRIES 20
#define SEND_RETRY (5 * UT_MS)

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

/* Another member of an address, and its records. */
struct host_peer_watch {
	struct host_port port; /* its pidfd */
	struct ut_list node;   /* host.peer_watches, or dead */
	uint8_t addr[16];
	uint8_t slot;
	int records;           /* read by a call once it has died: calls can be recorded and replayed, memory cannot */
	void *copy;            /* NULL before */
	size_t len;
};

/* --- sending --- */

static bool is_member(const uint16_t *at, unsigned n, unsigned slot)
{
	for (unsigned i = 0; i < n; i++)
		if (at[i] == slot)
			return true;
	return false;
}

/* Finds the keepers: the next members after us, in a ring. Returns how many. */
static int keepers(const struct host *h, struct host_addr *a, unsigned *ret)
{
	uint16_t at[HOST_SLOTS];
	unsigned members = h->user->members(a, at);
	int n = 0;

	for (unsigned i = 1; i < HOST_SLOTS && n < KEEPERS; i++) {
		unsigned slot = (h->slot + i) % HOST_SLOTS;

		if (is_member(at, members, slot))
			ret[n++] = slot;
	}
	return n;
}

/* Returns false if a mailbox is full: tried again later. */
static bool send_records(struct host *h, struct host_addr *a)
{
	struct host_message m = { .type = HOST_MSG_RECORDS };
	unsigned slot[KEEPERS];
	bool done = true;
	int fds[2] = { -1, h->records };
	int n = keepers(h, a, slot);

	if (n)
		fds[0] = host_self_pidfd();
	if (fds[0] < 0)
		return true; /* an old kernel or a strict container: peers notice a death by their probes */
	for (int i = 0; i < n; i++)
		if (host_send_fds(h, a, host_to_slot(slot[i]), &m, NULL, 0, fds, 2) == -EAGAIN)
			done = false;
	ut_close_fd(&fds[0]);
	return done;
}

void host_records_news(struct host *h, struct host_addr *a)
{
	a->records_tries = h->records >= 0 ? SEND_TRIES : 0;
	a->records_at = 1; /* a timer set to 0 is none */
}

void host_records_settle(struct host *h, struct host_addr *a, uint64_t now)
{
	if (!a->records_tries || now < a->records_at)
		return;
	a->records_tries = send_records(h, a) ? 0 : a->records_tries - 1;
	a->records_at = now + SEND_RETRY;
}

uint64_t host_records_deadline(const struct host_addr *a)
{
	return a->records_tries ? a->records_at : UT_NEVER;
}

void host_entrust(struct host *h, int fd)
{
	struct host_addr *a;

	h->records = fd;
	ut_list_each(a, &h->addrs, node) {
		host_records_news(h, a);
		host_records_settle(h, a, ut_now());
	}
	h->user->deadline(h);
}

/* --- keeping --- */

static void drop(struct host *h, struct host_peer_watch *w)
{
	host_unwatch(h, &w->port);
	ut_close_fd(&w->records);
	ut_list_del(&w->node);
	h->n_peer_watches--;
	free(w->copy);
	free(w);
}

static void forget_slot(struct host *h, const struct host_addr *a, unsigned slot)
{
	struct host_peer_watch *w, *t;

	ut_list_each_safe(w, t, &h->peer_watches, node)
		if (w->slot == slot && !memcmp(w->addr, a->addr, 16))
			drop(h, w);
}

static void died(struct host *h, struct host_port *p, uint32_t events)
{
	struct host_peer_watch *w = ut_container(p, struct host_peer_watch, port);
	struct host_addr *a = host_addr_find(h, w->addr);

	host_unwatch(h, &w->port); /* it stays readable */
	ut_list_del(&w->node);
	ut_list_add_tail(&h->dead, &w->node);
	if (a)
		h->user->member_died(a);
}

static const struct host_port_kind watch_port = { .events = EPOLLIN, .ready = died };

/* Takes both descriptors, unless it returns NULL. */
static struct host_peer_watch *watch_new(struct host *h, struct host_addr *a, unsigned slot,
					 int pidfd, int records)
{
	off_t size = shm_seg_size(records);
	bool fits = size > 0 && size <= (off_t)RECORD_BYTES && h->n_peer_watches < PEER_WATCHES_MAX;
	struct host_peer_watch *w = fits ? ut_zalloc(sizeof(*w)) : NULL;

	if (!w)
		return NULL;
	w->records = records;
	w->len = (size_t)size;
	w->slot = (uint8_t)slot;
	memcpy(w->addr, a->addr, 16);
	w->port = (struct host_port){ .kind = &watch_port, .fd = pidfd };
	ut_list_init(&w->node);
	h->n_peer_watches++;
	return w;
}

void host_records_take(void *host, struct host_addr *a, const struct host_message *m,
		       const uint8_t *body, size_t len)
{
	struct host *h = host;
	int pidfd = h->fds[0], records = h->fds[1];
	struct host_peer_watch *w;

	if (records < 0)
		return;
	forget_slot(h, a, m->slot);
	h->fds[0] = -1; /* now the watch's */
	w = UT_SYS(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == -EBADF
		    ? NULL : watch_new(h, a, m->slot, pidfd, records);
	if (!w) {
		ut_close_fd(&h->fds[1]);
		ut_close_fd(&pidfd);
		ut_debug("the connection records of slot %u are refused", m->slot);
		return;
	}
	h->fds[1] = -1; /* likewise */
	ut_list_add_tail(&h->peer_watches, &w->node);
	if (host_watch(h, &w->port) < 0)
		drop(h, w);
}

/* Returns false without memory, or if the descriptor gives less than it said. */
static bool read_records(struct host_peer_watch *w)
{
	w->copy = ut_zalloc(w->len);
	return w->copy && UT_SYS(SYS_pread64, w->records, w->copy, w->len, 0L) == (long)w->len;
}

const void *host_dead_peer(struct host *h, uint8_t ret_addr[16], size_t *ret_len)
{
	struct host_peer_watch *w;

	if (h->told)
		drop(h, h->told);
	while ((w = ut_list_first(&h->dead, struct host_peer_watch, node)) && !read_records(w))
		drop(h, w);
	h->told = w;
	if (!w)
		return NULL;
	memcpy(ret_addr, w->addr, 16);
	*ret_len = w->len;
	return w->copy;
}

void host_peer_watches_drop(struct host *h, const struct host_addr *a)
{
	struct host_peer_watch *w, *t;

	h->told = NULL;
	ut_list_each_safe(w, t, &h->peer_watches, node)
		if (!a || !memcmp(w->addr, a->addr, 16))
			drop(h, w);
	ut_list_each_safe(w, t, &h->dead, node)
		if (!a || !memcmp(w->addr, a->addr, 16))
			drop(h, w);
}

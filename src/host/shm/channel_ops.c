/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages through the rings of near.h: the slots of shm_channel_ops. */
#include "host/shm/peer.h"
#include "host/shm/handshake.h"

#include "host/shm/channel.h"
#include "util/syscall.h"
#include "util/clock.h"
#include "util/ip.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

_Static_assert(SHM_GENERATIONS == SHM_CHANNEL_GENERATIONS && SHM_MESSAGE_MAX == SHM_CHANNEL_MAX, "the same numbers");
_Static_assert(sizeof(((struct shm_record *)0)->header) == SHM_CHANNEL_HEADER_BYTES, "a note is a record's");

#define FETCH_IOV 1024 /* IOV_MAX */

unsigned shm_peer_slot(uint32_t qpn)
{
	unsigned slot = qpn >> HOST_SLOT_SHIFT;

	return qpn < 2 || slot >= HOST_SLOTS ? HOST_NO_SLOT : slot;
}

static enum shm_reach reach(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn,
			     bool *ret_fetches)
{
	struct shm_peer_tx *t = NULL;

	*ret_fetches = false;
	if (!ut_ip_is_group(f->dst))
		t = shm_peer_get(shm_chan_of(c), f, shm_peer_slot(qpn));
	if (!t)
		return SHM_REACH_WIRE;
	if (t->state == SHM_PEER_ASKED)
		return SHM_REACH_ASKED;
	/* A ring stands for one pair of addresses. */
	if (!t->messages || memcmp(t->local_addr, f->src, 16))
		return SHM_REACH_WIRE;
	/* Answers come by the other ring, which may have had no luck: then nothing is asked. */
	if (!shm_peer_both(shm_chan_of(c), t)) {
		shm_handshake_await(shm_chan_of(c), f);
		return ut_now() - t->opened < SHM_PEER_TIMEOUT ? SHM_REACH_ASKED : SHM_REACH_WIRE;
	}
	*ret_fetches = t->fetches;
	return SHM_REACH_LOCAL;
}

static int reserve(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, uint32_t bytes,
		   struct shm_reservation *ret)
{
	struct shm_chan *ch = shm_chan_of(c);
	struct shm_peer_tx *t = shm_peer_get(ch, f, shm_peer_slot(qpn));
	struct shm_record *at;
	enum shm_put why;
	uint64_t skip;

	if (!t || (t->state == SHM_PEER_OPEN && !t->messages))
		return -ENOTCONN;
	if (t->state == SHM_PEER_ASKED)
		return -EAGAIN;
	at = shm_reserve(&t->ring, bytes, &skip, &why);
	if (!at)
		return why == SHM_FULL ? shm_peer_full(t, SHM_PEER_TIMEOUT)
				       : shm_peer_result(ch, t, why);
	*ret = (struct shm_reservation){ .header = at->header, .data = (uint8_t *)(at + 1),
				    .to = t, .skip = (uint32_t)skip };
	return 0;
}

static void commit(struct shm_channel *c, struct shm_reservation *at, uint32_t bytes)
{
	struct shm_record *r = (struct shm_record *)at->data - 1;
	struct shm_peer_tx *t = at->to;

	r->bytes = bytes;
	r->seg = 0;
	r->sport = 0;
	if (at->more) {
		shm_finish(&t->ring, r, at->skip);
		shm_chan_of(c)->unshown = true;
	} else if (at->quiet) {
		shm_finish(&t->ring, r, at->skip);
		shm_no_notify(&t->ring);
		c->unnotified += !t->untold;
		t->untold = true;
	} else {
		shm_peer_told(shm_chan_of(c), t);
		shm_peer_result(shm_chan_of(c), t, shm_commit(&t->ring, r, at->skip));
	}
	at->end = t->ring.tail;
}

static void show_all(struct shm_chan *ch)
{
	struct shm_peer_tx *t, *s;

	ch->unshown = false;
	ut_list_each_safe(t, s, &ch->tx, node)
		if (t->state == SHM_PEER_OPEN) {
			shm_peer_told(ch, t);
			if (t->ring.shown != t->ring.tail)
				shm_peer_result(ch, t, shm_show(&t->ring));
		}
}

static void show(struct shm_channel *c)
{
	if (shm_chan_of(c)->unshown)
		show_all(shm_chan_of(c));
}

static void tell(struct shm_channel *c)
{
	if (c->unnotified)
		show_all(shm_chan_of(c));
}

static uint64_t taken(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn)
{
	struct shm_peer_tx *t = shm_peer_open(shm_chan_of(c), f->dst, shm_peer_slot(qpn));

	return t ? shm_taken(&t->ring) : UINT64_MAX;
}

static long copy_in(int pid, const struct iovec *to, int n, const struct iovec *from, int k)
{
	return UT_SYS(SYS_process_vm_readv, pid, to, (long)n, from, (long)k, 0);
}

bool shm_access_probe(int pid, uint64_t at, uint64_t token)
{
	uint64_t word = ~token;
	struct iovec to = { &word, sizeof(word) };
	struct iovec from = { (void *)(uintptr_t)at, sizeof(word) };

	return copy_in(pid, &to, 1, &from, 1) == sizeof(word) && word == token;
}

/* The token goes along in the same call, which reads one address space: the one it is in. */
static ssize_t fetch_token(const struct shm_peer_rx *r, const struct iovec *to, int n,
			  const struct iovec *from, int k)
{
	struct iovec dst[FETCH_IOV], src[FETCH_IOV];
	uint64_t token = ~r->token;
	long got;

	if (n >= FETCH_IOV || k >= FETCH_IOV)
		return -EINVAL;
	memcpy(dst + 1, to, (size_t)n * sizeof(*to));
	memcpy(src + 1, from, (size_t)k * sizeof(*from));
	dst[0] = (struct iovec){ &token, sizeof(token) };
	src[0] = (struct iovec){ (void *)(uintptr_t)r->probe, sizeof(token) };
	got = copy_in(r->pid, dst, n + 1, src, k + 1);
	if (got < 0)
		return got;
	if (got < (long)sizeof(token) || token != r->token)
		return -ESRCH;
	return got - (long)sizeof(token);
}

static ssize_t fetch(struct shm_channel *c, const struct shm_message *m, const struct iovec *to, int n,
		    const struct iovec *from, int k)
{
	const struct shm_peer_rx *r = m->from;
	ssize_t got;

	if (!r->pid)
		return -ENOTCONN;
	if (host_life(&r->page->life) != HOST_LIFE_HERE)
		return fetch_token(r, to, n, from, k);
	got = copy_in(r->pid, to, n, from, k);
	/* What was read from another was read for nothing. */
	if (got >= 0 && host_life(&r->page->life) != HOST_LIFE_HERE &&
	    !shm_access_probe(r->pid, r->probe, r->token))
		return -ESRCH;
	return got;
}

static uint32_t generation(struct shm_channel *c, const struct shm_message *m, uint32_t index)
{
	const struct shm_peer_rx *r = m->from;

	return atomic_load_explicit(&r->page->generations[index % SHM_CHANNEL_GENERATIONS], memory_order_acquire);
}

const struct shm_channel_ops shm_chan_ops = {
	.reach = reach,
	.reserve = reserve,
	.commit = commit,
	.flush = show,
	.notify = tell,
	.consumed = taken,
	.fetch = fetch,
	.generation = generation,
	.poll = shm_chan_poll,
	.poll_fast = shm_chan_poll_fast,
	.release = shm_chan_release,
	.access_begin = shm_access_begin,
	.access_copy = shm_access_copy,
	.access_attached = shm_access_attached,
	.access_end = shm_access_end,
	.export_area = shm_export_area,
	.quiesce = shm_export_quiesce,
	.forget = shm_chan_forget,
};

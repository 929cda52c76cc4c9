/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages between processes of one host, beside the datagrams of link.h: a note of 40 bytes, which
 * is the protocol's own, and up to SHM_CHANNEL_MAX bytes behind it. They take the same ring as the
 * datagrams, so one order holds for both, and nothing of them is ever lost, doubled or damaged:
 * what may happen is that the ring is full, and that its reader dies.
 *
 * Memory of the writer may be named in a note instead of being copied into it; who reads the note
 * fetches it with fetch(), which only ever reads. So nobody but a process itself writes into its
 * memory, under its own locks and after its own checks, and a deregistration is final there
 * without asking anybody. What a fetch has read may be stale, though: each process shows its
 * readers a table of seals, one of which the note names with its value. Who takes memory back
 * breaks the seal first (eng_generation_end), and who pulled looks at it afterwards.
 */
#ifndef HOST_SHM_CHANNEL_H
#define HOST_SHM_CHANNEL_H

#include "link/link.h"
#include "host/shm/export.h"

#include <stdatomic.h>

#define SHM_CHANNEL_HEADER_BYTES 40u
#define SHM_CHANNEL_MAX (256u << 10)
#define SHM_CHANNEL_GENERATIONS 512u /* a power of two */

enum shm_reach {
	SHM_REACH_WIRE,   /* by datagrams only */
	SHM_REACH_ASKED, /* not known yet: ask again with the next round; 0.3 s at most */
	SHM_REACH_LOCAL,
};

/* Room for one message. */
struct shm_reservation {
	uint8_t *header, *data; /* SHM_CHANNEL_HEADER_BYTES, and as many as were asked for */
	uint64_t end;         /* set by commit(): the place behind it, for taken() */
	void *to;             /* the link's own */
	uint32_t skip;        /* likewise */
	bool more;            /* others follow at once: the reader need not be told before show() */
	bool quiet;           /* it can wait: a reader that sleeps is not woken before tell() */
};

struct shm_access {
	int fd;
	uint32_t most; /* bytes that reach_in() is good for, all direct to them taken together */
	void *to;      /* the link's own */
};

/* Progress lock held, none blocks. f->src is a local address, qpn the receiver's. */
struct shm_channel_ops {
	/* How the owner of a QPN is reached. *ret_fetches: he can fetch from our memory. */
	enum shm_reach (*reach)(struct link *l, const struct link_flow *f, uint32_t qpn,
				 bool *ret_fetches);
	/*
	 * Room for a note and `bytes` behind it, to be filled before the next call for this link.
	 * 0; -EAGAIN: full, or asked; -ENOBUFS: full for so long that its reader is stopped;
	 * -ENOTCONN: nobody reads it any more.
	 */
	int (*reserve)(struct link *l, const struct link_flow *f, uint32_t qpn, uint32_t bytes,
		       struct shm_reservation *ret);
	/* The message is complete, with no more bytes than were reserved; it leaves, unless at->more. What
	 * has left is read even if its writer dies. */
	void (*commit)(struct link *l, struct shm_reservation *at, uint32_t bytes);
	/* Whatever waits leaves now; next() does this too. */
	void (*show)(struct link *l);
	/* Who sleeps beside something quiet is woken; link.untold counts them. */
	void (*tell)(struct link *l);
	/* Up to where the reader has taken what was written; UINT64_MAX: there is none any more. */
	uint64_t (*taken)(struct link *l, const struct link_flow *f, uint32_t qpn);
	/*
	 * From the memory of who wrote rx (pieces `from`) to ours. Bytes or -errno; fewer than asked for,
	 * or an error: something is gone, at one of the ends.
	 */
	ssize_t (*fetch)(struct link *l, const struct link_rx *rx, const struct iovec *to, int n,
			const struct iovec *from, int m);
	/* A seal of who wrote rx; whatever he likes if there is none of this number. */
	uint32_t (*generation)(struct link *l, const struct link_rx *rx, uint32_t index);
	/* Nothing that the last recv() gave is looked at any more. */
	void (*release)(struct link *l);
	/*
	 * A visit to the memory of the QPN's owner (host/shm/export.h): what he shows, all of it still
	 * unproven; until leave() he gives nothing of it back. NULL: this way is not open, or not
	 * yet. One visit at a time, and a short one: he may be waiting for its end.
	 */
	const struct shm_export *(*enter)(struct link *l, const struct link_flow *f, uint32_t qpn,
					  struct shm_access *ret);
	/* Between our pieces and his memory at addr, one piece after the other, each on its own.
	 * Bytes or -errno. */
	ssize_t (*reach_in)(const struct shm_access *v, uint64_t addr, const struct iovec *iov,
			    int n, bool write);
	/* The owner's memory as ours: byte off of what he exported under this id; NULL: not here. */
	uint8_t *(*attached)(const struct shm_access *v, uint32_t id, uint64_t off, uint64_t len);
	void (*leave)(struct link *l);
	/* Who wrote rx may map this area (host/shm/area.h); at once or a little later, or never. Asked
	 * again for the same one, it costs a look. */
	void (*export_area)(struct link *l, const struct link_rx *rx, uint32_t id);
	/* Who was here when this was called has left, or is dead. What he came by is hidden. */
	void (*quiesce)(struct link *l);
	/* In a forked child: closes what the descriptor's set does not name. */
	void (*forget)(struct link *l);
	/*
	 * For a poller that asks often, and calls recv() now and then for the sake of what comes in
	 * other ways: the messages at hand, at most max, 0 if there are none; they end with
	 * release(). -EAGAIN: there is something else, or the like of late, so recv() must look.
	 */
	int (*next)(struct link *l, struct link_rx *v, int max);
};

/* For links without such a way. */
extern const struct shm_channel_ops shm_channel_none;

static inline const struct shm_channel_ops *shm_channel(const struct link *l)
{
	return l->chan ? l->chan : &shm_channel_none;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shm channel: messages between this process and the others of its host. A message is a header of
 * 40 bytes, which is the protocol's own, and up to SHM_CHANNEL_MAX bytes behind it. The messages for
 * one peer process take one ring (ring.h) and keep their order. None is lost, doubled or damaged:
 * the ring may be full, and its reader may die.
 *
 * Who writes what, in which order, and why no wake-up is lost: ring.h. How peers are found: peer.h. Direct access
 * and its end: export.h.
 *
 * The slots are called with the progress lock held. None blocks but quiesce(), which waits while a peer is in the
 * middle of a direct access, some microseconds, or until a peer that was stopped there goes on or dies. Every
 * implementation fills every slot, with shm_channel_default_* where it has nothing else. f->src is a local
 * address, qpn the receiver's.
 */
#ifndef HOST_SHM_CHANNEL_H
#define HOST_SHM_CHANNEL_H

#include "host/shm/export.h"
#include "util/flow.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define SHM_CHANNEL_HEADER_BYTES 40u
#define SHM_CHANNEL_MAX (256u << 10)

enum shm_reach {
	SHM_REACH_WIRE,  /* by datagrams only */
	SHM_REACH_ASKED, /* not known yet: to be asked again in the next round, for 1.5 s at most */
	SHM_REACH_LOCAL,
};

/* Room for one message. */
struct shm_reservation {
	uint8_t *header, *data; /* SHM_CHANNEL_HEADER_BYTES, and as many as were asked for */
	uint64_t end;   /* set by commit(): the end of the message in the ring, for consumed() */
	void *to;       /* the channel's own */
	uint32_t skip;  /* likewise */
	bool more;      /* others follow at once: visible to the reader from the next flush() on */
	bool quiet;     /* not urgent: a sleeping reader is woken by the next notify() */
};

/* The ring of a peer, as a connection remembers it (lane.h). */
struct shm_lane {
	struct shm_tx *ring;
	uint32_t epoch; /* it is there while the channel has the same one; 0: never; with SHM_LANE_WATCHED: likewise, and watch() sees
			   each message */
};
#define SHM_LANE_WATCHED (1u << 31)

#define SHM_INLETS 4 /* rings that are read without poll() */
#define SHM_CHAN_WARM 1000 /* empty looks after a record in which the rings come first */

/* The rings of the peers, as a thread that polls remembers them (inlet.h). */
struct shm_inlets {
	struct shm_inlet {
		struct shm_rx *ring;
		void *from;               /* as in struct shm_message */
		const uint8_t *src, *dst; /* likewise, of 16 octets */
		uint32_t said; /* shm_ring.extra when the inlet was found, which may name messages of an earlier ring of this process */
	} v[SHM_INLETS];
	unsigned n;
	uint32_t epoch; /* as in struct shm_lane; watched: hear() sees each message */
};

/* Direct access as a connection remembers it (grant.h). */
struct shm_grant {
	_Atomic uint64_t *word;           /* our process page's `access` */
	const struct shm_export *tables;  /* the exporter's, */
	uint64_t revoked;                 /* and their count when it granted */
	uint32_t exporter;                /* its id */
	uint32_t epoch;                   /* of the channel; 0: nothing was granted */
	bool fenced;                      /* the exporter executes the fences of this process */
};

struct shm_access {
	int fd;
	uint32_t most; /* bytes of a request up to which access_copy() is worth it */
	void *to;      /* the channel's own */
	struct shm_grant grant; /* for those who find in the tables what they ask for */
};

struct shm_channel;
struct shm_rx;
struct shm_tx;

/* A process that has died: the address and the slot that it had. */
struct shm_died {
	uint8_t addr[16];
	unsigned slot;
};

/* One message as poll() gives it; valid until release(). */
struct shm_message {
	const uint8_t *data; /* the header, and the bytes behind it */
	uint32_t len;        /* of both */
	void *from;          /* the channel's own: the writer */
	uint8_t src[16], dst[16];
};

struct shm_channel_ops {
	/* Returns how the process that has this QPN is reached. */
	enum shm_reach (*reach)(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn);
	/*
	 * Reserves room for a header and `bytes` behind it, to be filled before the next call. Returns 0;
	 * -EAGAIN if the ring is full or the peer has not responded yet; -ENOBUFS if it has been full for
	 * so long that its reader is stopped; -ENOTCONN if it has no reader any more.
	 */
	int (*reserve)(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, uint32_t bytes,
		       struct shm_reservation *ret);
	/* Finds the ring of that process, for messages that are written straight into it (lane.h). Returns false if there is
	 * none now: reserve() and commit() are the way. */
	bool (*lane)(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, struct shm_lane *ret);
	/* A message of this header and so many bytes is written to a watched lane, and about to leave; follows: together with the one
	 * before it. */
	void (*watch)(struct shm_channel *c, const struct ut_flow *f, const uint8_t *header, const uint8_t *data, uint32_t bytes,
		      bool follows);
	/* A message in this ring is visible, and the reader of the ring sleeps: wakes it. */
	void (*wake)(struct shm_channel *c, struct shm_tx *ring);
	/* The message is complete, with no more bytes than were reserved; it leaves, unless at->more. A
	 * message that has left is read even if its writer dies. */
	void (*commit)(struct shm_channel *c, struct shm_reservation *at, uint32_t bytes);
	/* Messages committed with `more` leave now. */
	void (*flush)(struct shm_channel *c);
	/* Wakes peers that sleep with a `quiet` message in their ring; c->unnotified counts them. */
	void (*notify)(struct shm_channel *c);
	/* Returns the end of what the reader has consumed, as in shm_reservation.end; UINT64_MAX without a reader. */
	uint64_t (*consumed)(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn);
	/* Returns how many messages of all peers it has put into v, at most max; they are valid until release(). */
	int (*poll)(struct shm_channel *c, struct shm_message *v, int max);
	/* Finds the rings of the peers, for a thread that polls often, and makes a round now and then (inlet.h). Returns false if they
	 * are not to be read without poll() in this epoch; ret does not lead then. */
	bool (*inlets)(struct shm_channel *c, struct shm_inlets *ret);
	/* A message of this header and so many bytes was taken from a watched inlet. */
	void (*hear)(struct shm_channel *c, const struct shm_inlet *in, const uint8_t *header, uint32_t bytes);
	/* Messages were taken from inlets while c->on was not SHM_POLLS. */
	void (*took)(struct shm_channel *c);
	/* Gives the room of the last poll's messages back to their writers. */
	void (*release)(struct shm_channel *c);
	/*
	 * Begins direct access to the memory of the process that has this QPN (export.h). Returns the tables it
	 * exports, whose contents are not checked, or NULL if there is no such access, or not yet. Until access_end()
	 * the exporter gives no memory back, so an access is short, and there is one at a time.
	 */
	const struct shm_export *(*access_begin)(struct shm_channel *c, const struct ut_flow *f,
						 uint32_t qpn, struct shm_access *ret);
	/* Copies between our pieces and the exporter's memory at addr, one piece after the other. Returns bytes or -errno. */
	ssize_t (*access_copy)(const struct shm_access *v, uint64_t addr, const struct iovec *iov,
			       int n, bool write);
	/* Returns byte `off` of an area of the exporter, as attached here; NULL if it is not attached. */
	uint8_t *(*access_attached)(const struct shm_access *v, uint32_t id, uint64_t off,
				    uint64_t len);
	void (*access_end)(struct shm_channel *c);
	/* Exports an area (area.h) to the writer of m, which attaches it at once, a little later, or never. A second
	 * call for the same one is cheap. */
	void (*export_area)(struct shm_channel *c, const struct shm_message *m, uint32_t id);
	/* Ends what requester processes may have kept as granted (grant.h). Before quiesce() where a queue pair or a key with an area has been
	 * revoked: either they find that out, or their access is seen from here on. */
	void (*end_grants)(struct shm_channel *c);
	/* Returns when no direct access that began before the call goes on. The entries have been revoked. Blocks. */
	void (*quiesce)(struct shm_channel *c);
	/*
	 * Returns true with a process that has died and whose messages have all been polled and released, each once;
	 * false: there is none now. c->n_died counts those that it has not returned yet.
	 */
	bool (*next_died)(struct shm_channel *c, struct shm_died *ret);
	/* In a forked child: closes descriptors that are not in the poll set. */
	void (*forget)(struct shm_channel *c);
};

struct shm_channel {
	const struct shm_channel_ops *ops;
	bool messages;      /* shm_channel_messages() was called */
	bool held;          /* messages are held, or a ring is broken: until release() */
	unsigned warm;      /* so many empty looks more until no record came lately */
	uint32_t epoch;     /* not 0, less than SHM_LANE_WATCHED; another one after a ring has begun that an inlet names, or one has ended that a lane
			     * or an inlet may name, an area was attached, or `ops` have changed */
	const _Atomic uint32_t *on; /* of the process page (ring.h) */
	struct shm_export *export;     /* the tables that we export; NULL: no direct access to our memory */
	unsigned unnotified;           /* peers that notify() would wake */
	bool unflushed;                /* messages were committed with `more`, and flush() was not called */
	bool found_self;               /* what reach() has found LOCAL last is this process itself */
	/* A message went to this process itself; set and cleared by the user of the channel. */
	bool to_self;
	bool asked_self;               /* a ring to this process was asked for; cleared by the user of the channel */
	unsigned n_died;               /* processes that next_died() has not returned yet */
	unsigned n_attached;           /* areas of peers that are attached; 0: access_attached() returns NULL */
	uint32_t accesses;             /* the number of our last direct access */
};

/* Lanes and inlets that were found before lead nowhere from here on. */
static inline void shm_channel_end_lanes(struct shm_channel *c)
{
	c->epoch = c->epoch + 1 == SHM_LANE_WATCHED ? 1 : c->epoch + 1;
}

/* Reaches no process: the default of an adapter without a local path. */
extern struct shm_channel shm_channel_none;

static inline bool shm_channel_is_none(const struct shm_channel *c)
{
	return c == &shm_channel_none;
}

/*
 * Slots of a channel without lanes and inlets: lane() and inlets() return false; of one that nothing observes: watch() and hear() do nothing; and of one without direct access: access_begin() returns NULL,
 * access_copy() -ENOTCONN, access_attached() NULL; next_died() false. nothing: for flush, notify, took, release, access_end, end_grants, quiesce and forget.
 */
bool shm_channel_default_lane(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, struct shm_lane *ret);
bool shm_channel_default_inlets(struct shm_channel *c, struct shm_inlets *ret);
void shm_channel_default_hear(struct shm_channel *c, const struct shm_inlet *in, const uint8_t *header, uint32_t bytes);
void shm_channel_default_watch(struct shm_channel *c, const struct ut_flow *f, const uint8_t *header, const uint8_t *data,
			       uint32_t bytes, bool follows);
void shm_channel_default_wake(struct shm_channel *c, struct shm_tx *ring);
const struct shm_export *shm_channel_default_access_begin(struct shm_channel *c,
							  const struct ut_flow *f, uint32_t qpn,
							  struct shm_access *ret);
ssize_t shm_channel_default_access_copy(const struct shm_access *v, uint64_t addr,
					const struct iovec *iov, int n, bool write);
uint8_t *shm_channel_default_access_attached(const struct shm_access *v, uint32_t id, uint64_t off,
					     uint64_t len);
void shm_channel_default_export_area(struct shm_channel *c, const struct shm_message *m, uint32_t id);
bool shm_channel_default_next_died(struct shm_channel *c, struct shm_died *ret);
void shm_channel_default_nothing(struct shm_channel *c);

/* Returns true if this QPN at this address was the process's. */
bool shm_died_had(const struct shm_died *d, const uint8_t addr[16], uint32_t qpn);

/* --- the channel of a host (peer.h); the functions below are for it alone --- */

/* A datagram, or a train of `seg` bytes each, as a record beside the messages. */
struct shm_datagrams {
	uint32_t bytes;
	uint16_t seg, sport;
	uint8_t tos, ttl;
	uint8_t src[16], dst[16];
};

/*
 * Sends datagrams to queue pairs of the process that has qpn. Returns 0 if they are in the ring; 1 if they keep to
 * the wire; -EAGAIN if the peer has not responded yet or the ring is full; -ENOBUFS if they are lost.
 */
int shm_channel_send(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, uint16_t sport,
		     const uint8_t *data, size_t len, size_t seg);
/* on: these are the last sends, or responses, so no response of a peer is awaited. */
void shm_channel_leaving(struct shm_channel *c, bool on);
/* Takes the next record of datagrams that fits. Returns 1 with its bytes in buf, or 0. */
int shm_channel_recv(struct shm_channel *c, struct shm_datagrams *ret, uint8_t *buf, size_t room);
/* Returns true if records came lately and a thread polls: the kernel is asked seldom then. */
bool shm_channel_warm(struct shm_channel *c);
/* on: a thread sleeps on the host's epoll set, so senders wake it; look: it is woken once now, for what may have come
 * meanwhile. From any thread. */
void shm_channel_sleep(struct shm_channel *c, bool on, bool look);
/* Ends a round of receiving: records that are left wake a thread that sleeps. */
void shm_channel_settle(struct shm_channel *c);

#endif

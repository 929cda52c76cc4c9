/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The peers of a channel: other processes on the same addresses, each reached by one ring of shared memory per
 * direction and pair of addresses, in place of the kernel's UDP.
 *
 * The process that sends first asks the owner of the slot through its mailbox, and holds its datagrams back until
 * the response, so that none overtakes another by changing its path (handshake.h):
 *
 *     sender                               receiver
 *     HELLO   addresses, token     ---->   (the kernel says which uid wrote)
 *     READY   token  <----  its consumer page, its process page, its wake fd (eventfd), its pidfd
 *     OPEN    token, the ring, the sender's pidfd and its process page  ---->
 *
 * The wire is taken if the name has no owner (another host), for another uid, after a READY without descriptors
 * (the owner has no channel, or no room), and without a response within SHM_PEER_TIMEOUT (the owner is stopped).
 * Connection management (QP0, QP1) and groups always take the wire, so that packet filters are asked. The death
 * of a peer process is noticed by its pidfd, and told by next_died() when its messages have been read; one that
 * closes sets `gone` in its consumer pages.
 *
 * Messages (host/shm/channel.h) take the same rings if both ends have asked for them. A fifth descriptor in READY is the
 * receiver's memory, for direct access (access.h); READY says where the token lies in it.
 *
 *     EXPORT  token, an id, memory that the sender may attach     <----
 *
 * All of this is guarded by the progress lock, but the segments, whose writers ring.h names, and
 * shm_channel_sleep(), which any thread may call.
 */
#ifndef HOST_SHM_PEER_H
#define HOST_SHM_PEER_H

#include "host/shm/channel.h"
#include "host/shm/ring.h"
#include "host/host.h"
#include "util/heap.h"

#include <string.h>

/* A process that does not respond for so long is stopped: a connection takes its path for life, so a busy machine must
 * not decide it. Datagrams wait less: they hold back those to all other peers, which messages do not. */
#define SHM_PEER_TIMEOUT (1500 * UT_MS)
#define SHM_PEER_TIMEOUT_DATAGRAMS (20 * UT_MS)
#define SHM_PEER_RETRY (1000 * UT_MS) /* until a name without owner is asked for again */
#define SHM_PEER_LATE (60000 * UT_MS) /* after READY, until a ring without OPEN is given up */
#define SHM_PEER_FULL (10 * UT_MS)    /* a full ring holds back datagrams for so long */
#define SHM_PEER_FULL_MESSAGES (300 * UT_MS)
#define SHM_PEER_KEYS 256u
#define SHM_PEER_AREAS 32u /* that one process exports to another; the oldest make room for more */
#define SHM_PEER_TX_MAX 1024
#define SHM_PEER_RX_MAX 1024
#define SHM_SLEEP_MAGIC 0x444c445bu
#define SHM_CONSUMER_MAGIC 0x444c4541u
#define SHM_ACCESS_FD_BEST 4096u  /* bytes up to which pread() and pwrite() are quicker than process_vm_*() */
#define SHM_ACCESS_FD_MOST 16384u /* more are faster as a message */
#define SHM_ACCESS_MOST (8u << 20)
#define SHM_CHAN_POLLS 1024 /* batches of messages after which a process says that it polls */

enum shm_peer_state { SHM_PEER_ASKED, SHM_PEER_OPEN, SHM_PEER_WIRE, SHM_PEER_DIED };

struct shm_attached {
	uint32_t id; /* 0: none */
	uint8_t *base;
	size_t length;
};

/* A peer to send to: one slot of one address. */
struct shm_peer_tx {
	struct shm_chan *ch;
	struct ut_list node, same_key;
	uint8_t addr[16];
	uint16_t slot;
	enum shm_peer_state state;
	bool self;           /* this process */
	bool refused;        /* WIRE since the name has no owner: asked again after SHM_PEER_RETRY */
	uint8_t local_addr[16];     /* our address in this pair */
	uint32_t scope;
	uint64_t since;      /* of the state */
	uint64_t token;
	bool messages;       /* OPEN: the peer takes messages */
	uint64_t opened;
	bool both;           /* OPEN: the ring of the other direction was seen open */
	struct shm_tx ring;
	struct host_port peer; /* the receiver's pidfd, in the epoll set */
	/* Its eventfd. In the epoll set, watched for nothing, since a child closes what is there. */
	struct host_port wake;
	int memory;          /* the receiver's; -1: it exports nothing */
	int pid;             /* the receiver's, if process_vm_* reaches it; 0 */
	uint64_t probe;      /* where it has the token */
	bool seen;           /* the receiver has our process page */
	struct shm_attached areas[SHM_PEER_AREAS]; /* what it has exported to us */
	unsigned n_areas;    /* ever */
};

/* A peer to receive from. */
struct shm_peer_rx {
	struct shm_chan *ch;
	struct ut_list node;
	uint64_t token, since;
	uint8_t addr[16], local_addr[16]; /* the sender's and ours */
	uint16_t slot;
	const struct shm_page *page; /* the sender's process page */
	bool broken;        /* dropped by the next release */
	uint32_t exported[SHM_PEER_AREAS]; /* to this sender */
	unsigned n_exported;
	size_t size;        /* of the sender's segment */
	struct shm_rx ring; /* ring.ring NULL: no OPEN yet */
	struct host_port peer;
};

struct shm_chan {
	struct shm_channel base;
	struct host *host;
	int page_fd; /* of `page`; not in the poll set, closed in a child; -1: none */
	struct shm_page *page; /* our page, passed to every sender */
	unsigned n_tx, n_rx;
	struct ut_list tx, rx;
	struct ut_list died;                /* tx in state DIED, in no other list */
	struct ut_list keys[SHM_PEER_KEYS]; /* tx by address and slot */
	struct shm_peer_tx *last;
	struct host_port wake;
	struct host_port life[2]; /* of a pipe, where there are no pidfds */
	uint32_t awake; /* batches of messages since this process slept, up to SHM_CHAN_POLLS */
	bool broken; /* a ring is */
	bool messages; /* shm_channel_messages() was called */
	bool direct; /* peers may have direct access to our memory */
};

static inline struct shm_chan *shm_chan_of(struct shm_channel *c)
{
	return ut_container(c, struct shm_chan, base);
}


/* --- the channel: its life, and that of its peers --- */

/* Opens the channel of a host, before its first address: peers that have one are reached by records of datagrams.
 * Returns 0 or negative errno. */
int shm_channel_open(struct host *h, struct shm_channel **ret);
/* Carries messages as well; called before the first address. direct: our tables are exported. */
void shm_channel_messages(struct shm_channel *c, bool direct);
void shm_channel_close(struct shm_channel *c);
/* Drops the peers that were reached from this local address. */
void shm_channel_forget_addr(struct shm_channel *c, const uint8_t addr[16]);

struct shm_peer_tx *shm_peer_find(struct shm_chan *ch, const uint8_t addr[16], unsigned slot);
/* Makes a peer and asks it. Returns NULL if there is no room. */
struct shm_peer_tx *shm_peer_tx_new(struct shm_chan *ch, const struct ut_flow *f, unsigned slot);
/* The peer is reached by the wire from now on. refused: its name has no owner, so it is asked again later. */
void shm_peer_tx_to_wire(struct shm_chan *ch, struct shm_peer_tx *t, bool refused);
void shm_peer_tx_drop(struct shm_chan *ch, struct shm_peer_tx *t);
void shm_peer_rx_drop(struct shm_chan *ch, struct shm_peer_rx *r);

extern const struct host_port_kind shm_rx_peer_port; /* of shm_peer_rx.peer */
/* Returns the peer of a slot, which is asked if it is new: OPEN or ASKED; NULL for the wire. */
struct shm_peer_tx *shm_peer_get(struct shm_chan *ch, const struct ut_flow *f, unsigned slot);
/* A slot of shm_channel_ops. */
bool shm_peer_next_died(struct shm_channel *c, struct shm_died *ret);
/* Returns true if the other direction is open as well: a peer that is asked can respond. */
bool shm_peer_both(struct shm_chan *ch, const struct shm_peer_tx *t);
/* Returns the peer of a slot if it is OPEN, else NULL. Asks no process. */
struct shm_peer_tx *shm_peer_open(struct shm_chan *ch, const uint8_t addr[16], unsigned slot);

/* Returns the slot of a QPN, or HOST_NO_SLOT for numbers that no process has alone. */
unsigned shm_peer_slot(uint32_t qpn);
/* The result of a put, of a record whose reader sleeps or that is not in the ring, as the next function returns it. */
int shm_peer_wake_or_fail(struct shm_chan *ch, struct shm_peer_tx *t, enum shm_put r);
/* Turns the result of a put into 0, -EAGAIN, -ENOBUFS or -ENOTCONN, and wakes the reader. -ENOTCONN: the reader has
 * closed; t is freed, and the next send asks anew. */
static inline int shm_peer_result(struct shm_chan *ch, struct shm_peer_tx *t, enum shm_put r)
{
	int ret = r == SHM_PUT ? 0 : shm_peer_wake_or_fail(ch, t, r);

	if (ret)
		return ret;
	t->ring.full_since = 0;
	return 0;
}
/* Its ring is full. Returns -EAGAIN, or -ENOBUFS if it has been full for longer than `timeout` ns. */
int shm_peer_full(struct shm_peer_tx *t, uint64_t timeout);
extern const struct shm_channel_ops shm_chan_ops;

#endif

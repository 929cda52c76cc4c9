/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The short way to members on the same host: a ring of shared memory per pair of links and
 * direction, in place of the kernel's UDP. What travels is the same - datagrams and trains of them,
 * with their addresses - so everything above is as on the wire.
 *
 * Who sends first asks the owner of the slot through its mailbox and holds its datagrams back until
 * the answer comes, so that none overtakes another by changing ways:
 *
 *     sender                               receiver
 *     HELLO   addresses, token     ---->   (the mailbox says which uid wrote)
 *     READY   token  <----  its ear, its page page, its wake (eventfd), its pidfd
 *     OPEN    token, the ring, the sender's pidfd and its page  ---->
 *
 * A name that is not there (another host), another uid, a READY with nothing in it (the owner wants
 * no part in this, or has no room), or no answer within SHM_PEER_TIMEOUT (it is stopped): the wire.
 * Connection management (QP0, QP1) and groups always take the wire, so that packet filters are
 * asked. An end that dies is noticed by its pidfd, one that closes says so in its ear.
 *
 * Messages (host/shm/channel.h) take the same rings between two links that both said so. What a message
 * names of its writer's memory the reader fetches by process_vm_readv(). HELLO says where the token
 * lies there, and the reader answers in READY whether it could read it: so both know that this way
 * is open, and each fetch takes the token along, which no program that came after an exec or under
 * the same process number would have there. Where it is not open (another user namespace, seccomp,
 * Yama), everything is copied into the ring. A fifth descriptor in READY is the memory itself, for
 * direct (local_visit.c); READY says where the token lies in it.
 *
 *     LEND    token, an id, memory that the sender may map        <----
 */
#ifndef HOST_SHM_PEER_H
#define HOST_SHM_PEER_H

#include "host/shm/channel.h"
#include "host/shm/ring.h"
#include "host/host.h"
#include "util/heap.h"

#include <string.h>

/* A process that has no processor for so long is stopped. Datagrams wait less: they hold back those
 * to everybody else, which messages do not. */
#define SHM_PEER_TIMEOUT (300 * UT_MS)
#define SHM_PEER_TIMEOUT_DATAGRAMS (20 * UT_MS)
#define SHM_PEER_RETRY (1000 * UT_MS) /* a name that was not there is asked for again */
#define SHM_PEER_LATE (60000 * UT_MS) /* after READY nobody opens a ring any more */
#define SHM_PEER_FULL (10 * UT_MS)    /* so long a full ring holds back datagrams; messages SHM_PEER_TIMEOUT */
#define SHM_PEER_KEYS 256u
#define SHM_PEER_AREAS 32u /* that one process lends to another; more are not */
#define SHM_PEER_TX_MAX 1024
#define SHM_PEER_RX_MAX 1024
#define SHM_SLEEP_MAGIC 0x444c445bu
#define SHM_CONSUMER_MAGIC 0x444c4541u
#define SHM_ACCESS_FD_BEST 4096u  /* bytes of a visit that the descriptor is quicker for */
#define SHM_ACCESS_FD_MOST 16384u /* more the peer fetches faster than the descriptor takes them */
#define SHM_ACCESS_MOST (8u << 20)
#define SHM_CHAN_WARM 1000 /* empty calls after a record that look at the rings first of all */

enum shm_peer_state { SHM_PEER_ASKED, SHM_PEER_OPEN, SHM_PEER_WIRE };

struct shm_attached {
	uint32_t id; /* 0: none */
	uint8_t *base;
	size_t length;
};

/* Towards one slot of one address. */
struct shm_peer_tx {
	struct shm_chan *ch;
	struct ut_list node, same_key;
	uint8_t addr[16];
	uint16_t slot;
	enum shm_peer_state state;
	bool refused;        /* FAR since nobody has the name: ask again later */
	uint8_t local_addr[16];     /* our address in this pair */
	uint32_t scope;
	uint64_t since;      /* of the state; OPEN: of being full, 0 = is not */
	uint64_t token;
	bool messages, fetches;   /* OPEN: it takes messages, and may fetch what they name */
	uint64_t opened;
	struct shm_tx ring;
	struct host_port peer; /* the receiver's pidfd, in the epoll set */
	/* Its eventfd: in the epoll set too, for no event, since a child closes what is there. */
	struct host_port wake;
	int memory;          /* the receiver's; -1: it lets nobody in */
	int pid;             /* the receiver's, if process_vm_* reaches it; 0 */
	uint64_t probe;      /* where it has the token */
	bool seen;           /* it has our page */
	bool untold;         /* something quiet lies in its ring */
	struct shm_attached areas[SHM_PEER_AREAS]; /* what it has exported to us */
	unsigned n_areas;    /* ever */
};

/* From one link. */
struct shm_peer_rx {
	struct shm_chan *ch;
	struct ut_list node;
	uint64_t token, since;
	uint8_t addr[16], local_addr[16]; /* the sender's and ours */
	uint16_t slot;
	int pid;            /* the sender's, if messages may be fetched from there; 0 */
	uint64_t probe;     /* where it has the token */
	const struct shm_page *page; /* the sender's; its seals */
	bool broken;        /* dropped by the next release */
	uint32_t exported[SHM_PEER_AREAS]; /* to this sender */
	unsigned n_exported;
	size_t size;        /* of the sender's segment */
	struct shm_rx ring; /* ring.ring NULL: it has not come yet */
	struct host_port peer;
};

struct shm_chan {
	struct shm_channel base;
	struct host *host;
	int page_fd; /* of `page`; not in the poll set, closed in a child; -1: none */
	struct shm_page *page; /* our page, passed to every sender */
	unsigned n_tx, n_rx;
	struct ut_list tx, rx;
	struct ut_list keys[SHM_PEER_KEYS]; /* tx by address and slot */
	struct shm_peer_tx *last;
	struct host_port wake;
	struct host_port life[2]; /* of a pipe, where there are no pidfds */
	uint64_t sent, received; /* records */
	unsigned warm; /* a record came so lately: shm_chan_warm() */
	bool held;  /* messages are looked at, or a ring is broken: shm_chan_release() */
	bool messages; /* messages are wanted: a user has said so */
	bool no_fetches;
	bool direct; /* others may come into our memory */
	uint32_t access; /* how many we have made */
};

static inline struct shm_chan *shm_chan_of(struct shm_channel *c)
{
	return ut_container(c, struct shm_chan, base);
}

static inline void shm_peer_told(struct shm_chan *ch, struct shm_peer_tx *t)
{
	ch->base.unnotified -= t->untold;
	t->untold = false;
}

/* local_way.c */
struct shm_peer_tx *shm_peer_find(struct shm_chan *ch, const uint8_t addr[16], unsigned slot);
/* Asks, too. NULL: no room. */
struct shm_peer_tx *shm_peer_tx_new(struct shm_chan *ch, const struct ut_flow *f, unsigned slot);
/* There is no way, as things are now, or since nobody has the name. */
void shm_peer_tx_far(struct shm_chan *ch, struct shm_peer_tx *t, bool refused);
void shm_peer_tx_drop(struct shm_chan *ch, struct shm_peer_tx *t);
void shm_peer_rx_drop(struct shm_chan *ch, struct shm_peer_rx *r);

extern const struct host_port_kind shm_rx_peer_port; /* of shm_peer_rx.peer */
/* The way to a QPN's slot, asked for if need be: OPEN, ASKED, or NULL for the wire. */
struct shm_peer_tx *shm_peer_get(struct shm_chan *ch, const struct ut_flow *f, unsigned slot);
/* The same. Inline for the peer that was reached last, if that is open. */
static inline struct shm_peer_tx *shm_peer_last(struct shm_chan *ch, const struct ut_flow *f, unsigned slot)
{
	struct shm_peer_tx *t = ch->last;

	return t && t->state == SHM_PEER_OPEN && t->slot == slot && !memcmp(t->addr, f->dst, 16)
		       ? t : shm_peer_get(ch, f, slot);
}
/* The other direction of an open one: who is asked there can answer. */
bool shm_peer_both(struct shm_chan *ch, const struct shm_peer_tx *t);
/* The same slot, if it is open; asks nobody. */
struct shm_peer_tx *shm_peer_open(struct shm_chan *ch, const uint8_t addr[16], unsigned slot);

/* Of a QPN, or HOST_NO_SLOT for numbers that no process has alone. */
unsigned shm_peer_slot(uint32_t qpn);
/* The result of a put into a ring: 0, -EAGAIN, -ENOBUFS, -ENOTCONN. With the last one its reader has let go of
 * it: t is freed, and the next user of this way asks anew. */
int shm_peer_result(struct shm_chan *ch, struct shm_peer_tx *t, enum shm_put r);
/* Its ring is full: -EAGAIN, or -ENOBUFS when it has been so for longer than `timeout` ns. */
int shm_peer_full(struct shm_peer_tx *t, uint64_t timeout);
extern const struct shm_channel_ops shm_chan_ops;

#endif

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
 *     READY   token  <----  its ear, its doze page, its bell (eventfd), its pidfd
 *     OPEN    token, the ring, the sender's pidfd and its page  ---->
 *
 * A name that is not there (another host), another uid, a READY with nothing in it (the owner wants
 * no part in this, or has no room), or no answer within NEAR_PATIENCE (it is stopped): the wire.
 * Connection management (QP0, QP1) and groups always take the wire, so that packet filters are
 * asked. An end that dies is noticed by its pidfd, one that closes says so in its ear.
 *
 * Messages (link/near.h) take the same rings between two links that both said so. What a message
 * names of its writer's memory the reader fetches by process_vm_readv(). HELLO says where the token
 * lies there, and the reader answers in READY whether it could read it: so both know that this way
 * is open, and each fetch takes the token along, which no program that came after an exec or under
 * the same process number would have there. Where it is not open (another user namespace, seccomp,
 * Yama), everything is copied into the ring. A fifth descriptor in READY is the memory itself, for
 * visits (near_visit.c); READY says where the token lies in it.
 *
 *     LEND    token, an id, memory that the sender may map        <----
 */
#ifndef LINK_UDP_NEAR_H
#define LINK_UDP_NEAR_H

#include "link/near.h"
#include "link/shm/ring.h"
#include "link/udp/local.h"
#include "util/heap.h"

/* A process that has no processor for so long is stopped. Datagrams wait less: they hold back those
 * to everybody else, which messages do not. */
#define NEAR_PATIENCE (300 * UT_MS)
#define NEAR_PATIENCE_DATAGRAMS (20 * UT_MS)
#define NEAR_AGAIN (1000 * UT_MS) /* a name that was not there is asked for again */
#define NEAR_LATE (60000 * UT_MS) /* after READY nobody opens a ring any more */
#define NEAR_FULL (10 * UT_MS)    /* so long a full ring holds back datagrams; messages NEAR_PATIENCE */
#define NEAR_KEYS 256u
#define NEAR_AREAS 32u /* that one process lends to another; more are not */
#define NEAR_TX_MAX 1024
#define NEAR_RX_MAX 1024
#define NEAR_DOZE_MAGIC 0x444c445bu
#define NEAR_EAR_MAGIC 0x444c4541u
#define NEAR_MEMORY_BEST 4096u  /* bytes of a visit that the descriptor is quicker for */
#define NEAR_MEMORY_MOST 16384u /* more the peer fetches faster than the descriptor takes them */
#define NEAR_VISIT_MOST (8u << 20)
#define NEAR_WARM 1000 /* empty calls after a record that look at the rings first of all */

enum near_state { NEAR_ASKED, NEAR_OPEN, NEAR_FAR };

struct udp_near_area {
	uint32_t id; /* 0: none */
	uint8_t *base;
	size_t length;
};

/* Towards one slot of one address. */
struct udp_near_tx {
	struct ut_list node, same_key;
	uint8_t addr[16];
	uint16_t slot;
	enum near_state state;
	bool refused;        /* FAR since nobody has the name: ask again later */
	uint8_t own[16];     /* our address in this pair */
	uint32_t scope;
	uint64_t since;      /* of the state; OPEN: of being full, 0 = is not */
	uint64_t token;
	bool notes, pulls;   /* OPEN: it takes messages, and may fetch what they name */
	uint64_t opened;
	struct shm_tx ring;
	struct udp_port peer; /* the receiver's pidfd, in the epoll set */
	/* Its eventfd: in the epoll set too, for no event, since a child closes what is there. */
	struct udp_port bell;
	int memory;          /* the receiver's; -1: it lets nobody in */
	int pid;             /* the receiver's, if process_vm_* reaches it; 0 */
	uint64_t probe;      /* where it has the token */
	bool seen;           /* it has our page */
	bool untold;         /* something quiet lies in its ring */
	struct udp_near_area areas[NEAR_AREAS]; /* what it has lent to us */
	unsigned n_areas;    /* ever */
};

/* From one link. */
struct udp_near_rx {
	struct ut_list node;
	uint64_t token, since;
	uint8_t addr[16], own[16]; /* the sender's and ours */
	uint16_t slot;
	int pid;            /* the sender's, if messages may be fetched from there; 0 */
	uint64_t probe;     /* where it has the token */
	const struct shm_doze *page; /* the sender's; its seals */
	bool broken;        /* dropped by the next release */
	uint32_t lent[NEAR_AREAS]; /* to this sender */
	unsigned n_lent;
	size_t size;        /* of the sender's segment */
	struct shm_rx ring; /* ring.ring NULL: it has not come yet */
	struct udp_port peer;
};

struct udp_near {
	struct shm_doze *doze; /* our page, passed to every sender */
	unsigned n_tx, n_rx;
	struct ut_list tx, rx;
	struct ut_list keys[NEAR_KEYS]; /* tx by address and slot */
	struct udp_near_tx *last;
	struct udp_port bell;
	struct udp_port life[2]; /* of a pipe, where there are no pidfds */
	unsigned warm; /* a record came so lately: udp_near_warm() */
	bool unshown; /* link_place.more */
	bool held;  /* messages are looked at, or a ring is broken: udp_near_release() */
	bool notes; /* messages are wanted: a user has said so */
	bool no_pulls;
	bool visits; /* others may come into our memory */
	uint32_t visit; /* how many we have made */
};

static inline void udp_near_told(struct udp_link *u, struct udp_near_tx *t)
{
	u->base.untold -= t->untold;
	t->untold = false;
}

/* near_way.c */
void udp_near_no_port(struct udp_port *p, enum udp_kind kind);
struct udp_near_tx *udp_near_find(struct udp_link *u, const uint8_t addr[16], unsigned slot);
/* Asks, too. NULL: no room. */
struct udp_near_tx *udp_near_tx_new(struct udp_link *u, const struct link_flow *f, unsigned slot);
/* There is no way, as things are now, or since nobody has the name. */
void udp_near_tx_far(struct udp_link *u, struct udp_near_tx *t, bool refused);
void udp_near_tx_drop(struct udp_link *u, struct udp_near_tx *t);
void udp_near_rx_drop(struct udp_link *u, struct udp_near_rx *r);
/* near_mail.c: the letter HELLO. */
void udp_near_ask(struct udp_link *u, struct udp_near_tx *t, const struct link_flow *f);

/* 0 or -errno. A link for which it is not called (u->near is NULL) neither asks nor answers. */
int udp_near_init(struct udp_link *u);
void udp_near_fini(struct udp_link *u);
/* Messages, too: before the first address. */
void udp_near_notes(struct udp_link *u);
/* And that others come into our memory by themselves. */
void udp_near_visits(struct udp_link *u);
void udp_near_forget_addr(struct udp_link *u, const uint8_t addr[16]);

/* As udp_send, if the datagrams go the short way: true and *ret. False: the wire. */
bool udp_near_send(struct udp_link *u, const struct link_flow *f, const uint8_t *data, size_t len,
		   size_t seg, int *ret);
/*
 * Takes one record of any ring: a datagram (or a train of them) into u->carry, or a message into
 * *note, which is link_rx.note then. False when all are empty.
 */
bool udp_near_recv(struct udp_link *u, struct link_rx *note);
/* What comes next will come this way, too, and the owner polls: the kernel is asked seldom. */
bool udp_near_warm(struct udp_link *u);
/* The messages it gave are not looked at any more. */
void udp_near_release(struct udp_link *u);
/* A letter of the three above; its descriptors are in u->gift. */
void udp_near_mail(struct udp_link *u, struct udp_local *lo, const struct udp_mail *m,
		   const uint8_t *body, size_t len);
/* The epoll set reports a peer's pidfd. */
void udp_near_died(struct udp_link *u, struct udp_port *p);
/* The letter LEND. */
int udp_near_letter_lend(struct udp_link *u, const struct udp_near_rx *r, uint32_t id, int fd);
/* The way to a QPN's slot, asked for if need be: OPEN, ASKED, or NULL for the wire. */
struct udp_near_tx *udp_near_way(struct udp_link *u, const struct link_flow *f, unsigned slot);
/* The other direction of an open one: who is asked there can answer. */
bool udp_near_both(struct udp_link *u, const struct udp_near_tx *t);
/* The same slot, if it is open; asks nobody. */
struct udp_near_tx *udp_near_open(struct udp_link *u, const uint8_t addr[16], unsigned slot);
/* An answer is waited for: the mailbox is read by the next call. */
void udp_near_await(struct udp_link *u, const struct link_flow *f);
/* What a put into a ring said: 0 or -EAGAIN, -ENOBUFS, -ENOTCONN as link_ops.send; the last when its
 * reader has let go of it: then t is freed, and the next who wants that way asks anew. */
int udp_near_result(struct udp_link *u, struct udp_near_tx *t, enum shm_put r);
/* Its ring is full: -EAGAIN, and -ENOBUFS when it has been so for longer than that. */
int udp_near_full(struct udp_near_tx *t, uint64_t patience);
/* A message of this ring as link_rx has it: its note at `at`, `bytes` behind that. */
void udp_near_note_at(struct udp_near_rx *r, const uint8_t *at, uint32_t bytes,
		      struct link_rx *note);
/* near_visit.c: the slots of link_near_ops */
const struct link_shown *udp_near_enter(struct link *l, const struct link_flow *f, uint32_t qpn,
					struct link_visit *ret);
ssize_t udp_near_reach_in(const struct link_visit *v, uint64_t addr, const struct iovec *iov,
			  int n, bool write);
uint8_t *udp_near_borrowed(const struct link_visit *v, uint32_t id, uint64_t off, uint64_t len);
void udp_near_leave(struct link *l);
void udp_near_lend(struct link *l, const struct link_rx *rx, uint32_t id);
void udp_near_see_off(struct link *l);
void udp_near_forget(struct link *l);
/* Only this one's visit. Nothing that it could enter by is left. */
void udp_near_see_off_one(struct udp_link *u, const struct udp_near_rx *r);
/* A letter with something that this one lends; all of it is given up with the ring. */
void udp_near_borrow(struct udp_near_tx *t, uint32_t id, int fd);
void udp_near_give_up(struct udp_near_tx *t);
/* Ours, to be given away and closed; or -1. */
int udp_near_memory(struct udp_link *u);
/* It is the memory in which the token lies there. */
bool udp_near_memory_is(int fd, uint64_t at, uint64_t token);
/* near_note.c */
extern const struct link_near_ops udp_near_ops;
unsigned udp_near_slot(uint32_t qpn); /* or UDP_NO_SLOT */
bool udp_near_probe(int pid, uint64_t at, uint64_t token);
/* link_ops.doze */
void udp_near_doze(struct link *l, bool on, bool look);
/* A call left something, and nobody will look unless the descriptor is readable: it is, then. */
void udp_near_settle(struct udp_link *u);

#endif

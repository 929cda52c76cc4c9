/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Inside of the UDP link. One udp_local per local address: its member socket
 * in the port's SO_REUSEPORT group, its mailbox (the claim of the slot), and
 * what is known about the order of the group. Everything is guarded by the
 * owner's progress lock.
 */
#ifndef LINK_UDP_LOCAL_H
#define LINK_UDP_LOCAL_H

#include "link/udp/udp.h"
#include "util/ip.h"
#include "util/list.h"
#include "util/rng.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Slot 255 would hold QPN 0xffffff, which means multicast. */
#define UDP_SLOTS 255u
#define UDP_NO_SLOT 0xffffu
#define UDP_NONE_YET 0xffffu /* u->slot before the first address */
#define UDP_TX_CACHE 32
#define UDP_KEYS 512u
#define UDP_RX_SLOTS 8u
#define UDP_RX_SLOT_BYTES 65536u
#define UDP_MAIL_FDS 5
#define UDP_BTH_BYTES 8u /* of BTH, up to the destination QPN, whose upper 8 bits are the slot */

enum udp_kind {
	UDP_MAIN, UDP_MAIL, UDP_GROUP, UDP_TX, UDP_TIMER, UDP_SERVICE, UDP_PEER_WATCH,
	UDP_WAKE, /* near.h: a sender wrote into a ring while we slept */
	UDP_PEER, /* its pidfd */
};

struct shm_peer_tx;
struct shm_peer_rx;

/* A descriptor in the epoll set. */
struct udp_port {
	enum udp_kind kind;
	int fd;
	bool error;            /* reports are waiting */
	unsigned polled;          /* polled directly for so many empty tries more */
	uint8_t addr[16];      /* bound address: local, or the group */
	struct udp_local *local; /* MAIN and MAIL */
	struct udp_service *service; /* SERVICE */
	struct udp_peer_watch *watch;       /* WARD: its pidfd */
	struct shm_peer_tx *local_tx; /* PEER: one of the two */
	struct shm_peer_rx *local_rx;
	struct ut_list polled_node; /* in udp_link.polled; MAIN and GROUP */
	struct ut_list err_node; /* in udp_link.errors */
};

struct udp_answer {
	uint64_t nonce;
	uint8_t slot, index;
};

/* What is known about the group, and the search for it. */
struct udp_order {
	uint16_t at[256];      /* index -> slot, UDP_NO_SLOT = not known */
	unsigned n;
	int lock;              /* held while searching; -1 */
	bool searching, attach, tell;
	uint64_t nonce, until; /* of the search */
	uint64_t again;        /* start a search then; UT_NEVER */
	uint64_t last, pause;  /* the previous search, least distance to it */
	unsigned asked, heard; /* probes sent, answers to different probes */
	uint16_t found[256];   /* slot -> least index that answered */
	uint8_t claimed[256], answered[256];
	struct udp_answer owed[64]; /* probes we saw and have not answered */
	unsigned n_owed;
};

struct udp_local {
	struct ut_list node;
	uint8_t addr[16];
	uint32_t scope;
	struct udp_port main, mail;
	bool mail_ready;
	unsigned mail_polled;     /* read without being told for so many calls */
	struct udp_order order;
	unsigned records_tries;   /* our will is to be given to others, from records_at on */
	uint64_t records_at;
	int tos, ttl;          /* defaults set on the main socket */
};

/* A claimed service ID: the socket with its name. It outlives the local address, as a
 * listener does whose interface goes down for a while. */
struct udp_service {
	struct ut_list node;  /* in udp_link.services */
	struct ut_list ready; /* in udp_link.ready when it may have something */
	uint8_t addr[16];
	uint64_t id;
	struct udp_port port;
};

/* Another member of an address, and what it wants to be said when it dies. */
struct udp_peer_watch {
	struct ut_list node;  /* in udp_link.peer_watches, or dead */
	struct udp_port port;
	uint8_t addr[16];
	uint8_t slot;
	const void *map;
	size_t len;
};

struct udp_group {
	struct ut_list node;
	uint32_t ifindex;
	struct udp_port port;
};

/* fd -1: this port cannot be had, the main socket sends instead. */
struct udp_tx {
	struct udp_port port;
	uint16_t sport;
	uint32_t scope;
	bool used;
	uint64_t stamp; /* of the last change to it */
	int tos, ttl;
};

/* The rest of a coalesced receive for which the caller had no room. */
struct udp_carry {
	struct link_rx rx;
	uint32_t left, step;
	struct udp_local *local; /* NULL: a group's, taken as it is */
};

struct udp_link {
	struct link base;
	uint16_t port;
	unsigned slot;
	bool active;           /* the slot was used: it cannot change any more */
	bool gso;
	uint32_t uid;
	int epfd;
	struct udp_port timer;
	uint64_t timer_at;
	struct ut_stage stage;
	unsigned rx_slot, empties, calls, streak;
	uint64_t looked; /* at the sockets, while records came through rings */
	_Atomic bool sleeping; /* recv() is called because there is something, somewhere */
	struct udp_carry carry;
	struct udp_port *kept; /* the socket that has it, while base.kept_len */
	struct ut_list locals, groups, polled, errors, outbox, services, ready;
	unsigned outbox_used;
	uint16_t outbox_for[UDP_KEYS]; /* by udp_key() */
	struct udp_tx tx[UDP_TX_CACHE];
	struct udp_tx *tx_last;
	struct ut_list peer_watches, dead;
	unsigned n_peer_watches;
	struct udp_peer_watch *shown; /* by dead_peer(); the first of the dead */
	int records;              /* the owner's descriptor, or -1 */
	int fds[UDP_MAIL_FDS];   /* descriptors of the last message read, or -1 */
	int fds_pid;          /* who sent it, as seen from here; 0: cannot be seen */
	struct ut_rng rng;
	struct udp_stats stats;
	struct shm_chan *chan; /* near.h; NULL: the wire only */
};

static inline struct udp_link *udp_of(struct link *l)
{
	return ut_container(l, struct udp_link, base);
}

/* sock.c: each returns a descriptor or -errno. */
int udp_sock_main(const uint8_t addr[16], uint16_t port, uint32_t scope);
int udp_sock_tx(const uint8_t addr[16], uint16_t port, uint32_t scope);
int udp_sock_group(const uint8_t group[16], uint16_t port, uint32_t ifindex);
int udp_sock_window(int fd, uint32_t *ret);
/* Segmentation offload works on this kernel. */
bool udp_sock_gso(void);

/* poll.c: the epoll set and what it said. */
int udp_watch(struct udp_link *u, struct udp_port *p);
/* Out of every list, out of epoll (a forked child may keep the file), closed. */
void udp_unwatch(struct udp_link *u, struct udp_port *p);
void udp_poll_add(struct udp_link *u, struct udp_port *p);
void udp_port_error(struct udp_link *u, struct udp_port *p);
/* Looks without waiting; true when something was marked. */
bool udp_look(struct udp_link *u);
/* Arms the timer for the earliest deadline of all searches. */
void udp_set_timer(struct udp_link *u);

/* locals.c: local addresses, and the slot that they share. */
int udp_add_addr(struct link *l, const uint8_t addr[16], uint32_t scope);
void udp_del_addr(struct link *l, const uint8_t addr[16]);
void udp_local_drop(struct udp_link *u, struct udp_local *lo);
void udp_set_slot(struct udp_link *u, unsigned slot);

/* service.c: the slots of link_ops, and what they need. */
int udp_service_claim(struct link *l, const uint8_t addr[16], uint64_t service);
void udp_service_unclaim(struct link *l, const uint8_t addr[16], uint64_t service);
int udp_pass_on(struct link *l, const struct link_rx *rx, uint64_t service);
socklen_t udp_service_name(const struct udp_link *u, const uint8_t addr[16], uint32_t scope,
			   uint64_t service, struct sockaddr_un *ret);
void udp_services_drop(struct udp_link *u);

/* claim.c */
/* A datagram socket with this name that is told who writes to it, or -errno. */
int udp_box(const struct sockaddr_un *sun, socklen_t n);
/* "127.0.0.1", "fe80::1%2"; as long as the longest of them. */
#define UDP_ADDR_TEXT 64
void udp_addr_text(const uint8_t addr[16], uint32_t scope, char ret[UDP_ADDR_TEXT]);
int udp_self_uid(uint32_t *ret);
/* A bound mailbox or -errno (-EADDRINUSE: the slot is claimed). */
int udp_claim(const struct udp_link *u, const uint8_t addr[16], uint32_t scope, unsigned slot);
socklen_t udp_name(const struct udp_link *u, const uint8_t addr[16], uint32_t scope,
		   unsigned slot, struct sockaddr_un *ret);
/* Marks who has claimed; returns how many did. */
unsigned udp_claims(const struct udp_link *u, const struct udp_local *lo, uint8_t claimed[256]);
/* The lock of an address: a descriptor, or -EBUSY. Waits up to ns. */
int udp_lock(const struct udp_link *u, const uint8_t addr[16], uint32_t scope, uint64_t ns);

/* mail.c: to the owner of a slot, or to whoever has claimed a service. */
struct udp_dest {
	uint16_t slot; /* UDP_NO_SLOT: the service */
	uint64_t service;
	const uint8_t *addr; /* of another local address; NULL: the sender's own */
	uint32_t scope;
};

static inline struct udp_dest udp_to_slot(unsigned slot)
{
	return (struct udp_dest){ .slot = (uint16_t)slot };
}

static inline struct udp_dest udp_to_service(uint64_t service)
{
	return (struct udp_dest){ .slot = UDP_NO_SLOT, .service = service };
}

/* Small number of a destination; services may share one. */
static inline unsigned udp_key(struct udp_dest to)
{
	return to.slot != UDP_NO_SLOT ? to.slot & 0xffu
				      : 0x100u + (unsigned)((to.service ^ to.service >> 8) & 0xff);
}

enum udp_mail_type {
	UDP_MAIL_ANSWER = 1, UDP_MAIL_ORDER, UDP_MAIL_LEFT, UDP_MAIL_FORWARD, UDP_MAIL_RECORDS,
	UDP_MAIL_GROUP, /* a datagram behind the group's address */
	UDP_MAIL_SHM_HELLO, UDP_MAIL_SHM_READY, UDP_MAIL_SHM_OPEN, UDP_MAIL_SHM_EXPORT /* near.h */
};

#define UDP_MAIL_MAGIC 0x444c5031u

struct udp_mail {
	uint32_t magic;
	uint8_t type, slot, index, tos;
	uint64_t nonce;
	uint8_t src[16];
	uint16_t sport, seg;
	uint8_t ttl, pad[3];
};

int udp_mail_send(struct udp_link *u, struct udp_local *lo, struct udp_dest to,
		  struct udp_mail *m, const void *body, size_t len);
/* The same with n descriptors, at most UDP_MAIL_FDS. */
int udp_mail_give(struct udp_link *u, struct udp_local *lo, struct udp_dest to,
		  struct udp_mail *m, const void *body, size_t len, const int *fds, int n);
/* By which those who keep something of ours hear of our end, to be given and then closed; -errno. */
int udp_self_pidfd(void);
/* One message: 1 and its parts, 0 = empty. Strangers' messages are skipped. Descriptors of it
 * are in u->fds until the next call. */
int udp_mail_read(struct udp_link *u, int fd, struct udp_mail *m, uint8_t *body, size_t room,
		  size_t *ret_len);

/* group.c: to all members of the source address, by message. */
int udp_group_post(struct udp_link *u, const struct ut_flow *f, const uint8_t *data,
		   size_t len, size_t seg);
bool udp_group_joined(struct udp_link *u, const uint8_t group[16]);

/* watch.c */
void udp_entrust(struct link *l, int fd);
const void *udp_dead_peer(struct link *l, uint8_t ret_addr[16], size_t *ret_len);
/* The order has changed: others keep our will now. Said by the next settle. */
void udp_peer_watch_news(struct udp_link *u, struct udp_local *lo);
void udp_peer_watch_settle(struct udp_link *u, struct udp_local *lo, uint64_t now);
uint64_t udp_peer_watch_deadline(const struct udp_local *lo);
/* A member gives us its own: what is in u->fds. */
void udp_peer_watch_take(struct udp_link *u, struct udp_local *lo, unsigned slot);
void udp_peer_watch_died(struct udp_link *u, struct udp_peer_watch *w);
void udp_peer_watches_drop(struct udp_link *u, const struct udp_local *lo); /* NULL: all */

/* outbox.c: as udp_mail_send, but what finds a full mailbox waits a little. */
int udp_outbox_send(struct udp_link *u, struct udp_local *lo, struct udp_dest to,
		    struct udp_mail *m, const void *body, size_t len);
void udp_outbox_flush(struct udp_link *u);
uint64_t udp_outbox_deadline(const struct udp_link *u);
void udp_outbox_forget(struct udp_link *u, const struct udp_local *lo);

/* route.c: who is meant by what is in a datagram. */
enum udp_route {
	UDP_ROUTE_SLOT, /* the owner of a slot and nobody else */
	UDP_ROUTE_GSI,  /* that slot if somebody has it, else any member */
	UDP_ROUTE_ANY   /* any member */
};
enum udp_route udp_route(const struct link_rx *rx, unsigned *ret_slot);
/* False: it was a probe, or for another member, and has been dealt with. lo NULL: a group's. */
bool udp_is_ours(struct udp_link *u, struct udp_local *lo, const struct link_rx *rx);
/* For a member that comes or goes: a request that any other member can take would be lost
 * with it, and its sender waits for seconds until it asks again. Others are dropped. */
void udp_hand_over(struct udp_link *u, struct udp_local *lo, const struct link_rx *rx);
/* The message in which a datagram travels. */
struct udp_mail udp_forwarding(const struct link_rx *rx);

/* steer.c */
int udp_steer(int fd, const uint16_t *at, unsigned n);

/* order.c */
void udp_order_init(struct udp_order *o);
/* Bound to the group: searches, at most some 20 ms, and attaches. Lock held. */
void udp_order_join(struct udp_link *u, struct udp_local *lo, int lock);
/* The member socket is closed; the mailbox lives still. */
void udp_order_left(struct udp_link *u, struct udp_local *lo);
void udp_order_mail(struct udp_link *u, struct udp_local *lo, const struct udp_mail *m,
		    const uint8_t *body, size_t len);
/* A datagram on the member socket is one of ours: true, it is eaten. */
bool udp_order_probe(struct udp_link *u, struct udp_local *lo, const struct link_rx *rx);
/* A datagram came to the wrong member. */
void udp_order_astray(struct udp_link *u, struct udp_local *lo);
/* The mailbox is empty: what it said is done now. */
void udp_order_settle(struct udp_link *u, struct udp_local *lo);
void udp_order_tick(struct udp_link *u, struct udp_local *lo, uint64_t now);
uint64_t udp_order_deadline(const struct udp_order *o);

/* rx.c, tx.c, err.c: the slots of link_ops. */
int udp_recv(struct link *l, struct link_rx *v, int max);
/* keep.c: the first look at a train that take() may want; and no more wanted. */
int udp_take(struct link *l, const struct iovec *iov, int n);
void udp_let_go(struct udp_link *u);
/* Reads what waits on a member socket outside recv(): probes are answered, what
 * belongs to others is handed on, the rest is dropped. */
void udp_drain(struct udp_link *u, struct udp_local *lo, uint8_t *buf, size_t room);
/* Default TOS and TTL of a socket, so that the usual packet needs no ancillary data. */
void udp_tx_defaults(int fd, bool v4, int tos, int ttl);
int udp_send(struct link *l, const struct ut_flow *f, const uint8_t *data, size_t len,
	     size_t seg);
uint16_t udp_source_port(struct link *l, const struct ut_flow *f);
void udp_tx_forget(struct udp_link *u, const uint8_t addr[16]);
struct udp_local *udp_local_find(struct udp_link *u, const uint8_t addr[16]);
int udp_error(struct link *l, struct link_err *ret);

#endif

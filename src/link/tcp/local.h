/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Inside link/tcp. All of it runs under the lock of the place's owner.
 *
 * Why level-triggered: the place's epoll descriptor is itself watched by the
 * owner's poll(), and a nested set asks the sockets again whether they are
 * ready. A socket that was read directly meanwhile thus does not wake the
 * sleeper, and a ping-pong that blocks costs recv, send and the sleep, with no
 * look into the set. Edges would save the rare change of interest below and
 * cost that look for each message. The price of levels is that nothing may be
 * asked for that nobody serves: `mask` is what is asked for now, and a stream
 * that is paused, without a user or at its end is not in the set at all.
 */
#ifndef LINK_TCP_LOCAL_H
#define LINK_TCP_LOCAL_H

#include "link/tcp/tcp.h"

#include "host/shm/pipe.h"
#include "util/ip.h"
#include "util/list.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#define TCP_STAGE_BYTES (256u * 1024)
#define TCP_READ_LEAST (64u * 1024) /* room for one read, or the rest moves to the front */
#define TCP_READ_MOST (512u * 1024)  /* of one stream in one poll() */
#define TCP_DRAIN_NS 1000000000ull  /* how long a closed stream reads and throws away */
#define TCP_DRAIN_BYTES (16u << 20) /* ... and how much */
#define TCP_RETRY_NS 100000000ull   /* out of descriptors: when to accept again */
#define TCP_FINI_MS 200             /* fini waits so long for what was sent */
#define TCP_LOCAL_MOST 1024          /* streams of a place that have shared memory */
#define TCP_LOCAL_ROOM (72u * 1024)  /* less is no room: an FPDU fits as a whole */
#define TCP_LOCAL_TIMEOUT 300000000ull /* an answer takes so long at most, or the wire it is */
#define TCP_RENDEZVOUS_MOST 256          /* of strangers that have not said what they want */

enum tcp_state {
	TCP_S_CONNECTING,
	TCP_S_OPEN,
	TCP_S_DRAINING, /* closed by its user, see end.c */
	TCP_S_DEAD      /* freed when poll() returns */
};

/* What an epoll event points at. */
enum tcp_kind { TCP_K_STREAM, TCP_K_LISTENER, TCP_K_RENDEZVOUS_LISTENER, TCP_K_RENDEZVOUS, TCP_K_WAKE };

/* How the bytes of a stream go, see agree.c. */
enum tcp_way {
	TCP_W_WIRE,
	TCP_W_OFFERED, /* passive: the peer may still ask */
	TCP_W_ASKED,   /* active: awaits the answer */
	TCP_W_ANSWERED,   /* passive: it has our segment and decides */
	TCP_W_LOCAL
};

/* Where peers of this host ask: the name belongs to a local address and port. */
struct tcp_rdv_listener {
	enum tcp_kind kind;
	struct ut_list node; /* place->rdv_listeners or dead_rdv_listeners */
	struct tcp_link *place;
	struct link_end local;
	int fd;
	unsigned offers; /* streams that need it */
};

/* A unix connection on which two ends agree. */
struct tcp_rendezvous {
	enum tcp_kind kind;
	struct ut_list node; /* place->young_rendezvous, the oldest first; late_rendezvous or dead_rendezvous */
	struct tcp_link *place;
	struct tcp_stream *s; /* NULL: who called has not said yet */
	int fd;
	uint64_t until;
};

/* What a stream has while it may leave the wire, and when it has left it. */
struct tcp_local {
	struct shm_pipe pipe;
	struct tcp_stream *s; /* whose it is */
	struct tcp_rendezvous *rendezvous;
	struct ut_list polled_node; /* place->local_polled */
	uint64_t seen;  /* the end of what its user was shown */
	uint32_t polled;   /* looks in empty_polls until it is quiet */
	uint32_t polled_from;  /* what it begins with; the more, the oftener it had something */
	bool wake_due;  /* the kernel had no memory for it */
	bool fin;       /* TCP has ended, with `error` of the stream: told when all was shown */
};

struct tcp_stream {
	enum tcp_kind kind; /* first, as in tcp_listener */
	enum tcp_state state;
	struct link_stream base;
	struct ut_list node;      /* place->streams, drains or dead */
	struct ut_list polled_node;  /* place->polled */
	struct ut_list todo_node; /* place->todo: something to do that no descriptor reports; over */
	struct ut_list idle_node; /* place->unclaimed: bytes wait for a user */
	int fd;
	int error;         /* to be told by closed() */
	uint32_t mask;     /* epoll events asked for; 0 = not in the set */
	uint16_t polled;      /* empty reads until it is quiet again */
	bool paused;
	bool blocked;      /* a send was refused or cut: writable() is due */
	bool news;         /* connected() or closed() with `error` is due */
	bool rx_over;      /* no more reads */
	bool told;         /* closed() was called */
	/* What the user left, when it lies neither consumed nor in the stage. */
	uint8_t *carry;
	size_t carry_len;
	size_t credit;     /* room() without asking the kernel */
	uint32_t mss;
	uint64_t mss_at;   /* when it was asked for */
	uint64_t drain_until;
	size_t drain_left;
	enum tcp_way way;
	bool handed_over;  /* adopted: its bytes go by TCP unless the place says otherwise */
	const struct link_stream_user *offered_by; /* OFFERED: its bytes do not decide */
	struct tcp_local *shm; /* ASKED, SHOWN, NEAR */
	struct ut_list offer_node; /* place->offers */
};

struct tcp_listener {
	enum tcp_kind kind;
	bool listening, watched, reuse, dead;
	struct link_listener base;
	struct ut_list node; /* place->listeners or dead_listeners */
	int fd;
};

struct tcp_link {
	struct link_streams base;
	struct ut_stage stage;
	int epfd;
	uint32_t ifindex;
	struct ut_list streams, drains, dead;
	struct ut_list listeners, dead_listeners;
	struct ut_list polled, todo, unclaimed;
	struct ut_list over; /* ended: closed() is due when the others have been looked at */
	unsigned n_polled, calls, empties, look_only;
	uint64_t now;       /* of the last poll() */
	uint64_t accept_at; /* listeners rest until then; 0 = they do not */
	/* The stream whose rest still lies in the stage. */
	struct tcp_stream *owner;
	size_t rest_off, rest_len;
	/* What is shown of [peek_at, peek_end) is still in the socket, see take.c. */
	size_t peek_at, peek_end;
	/* Shared memory, see agree.c and near.c. */
	unsigned local;      /* enum tcp_local_how; 0: none */
	uint32_t uid;       /* ours and our number, as peers are shown them */
	int pid;
	struct ut_list rdv_listeners, dead_rdv_listeners, offers, local_polled;
	struct ut_list young_rendezvous, late_rendezvous, dead_rendezvous; /* late: without a time limit */
	unsigned n_rendezvous; /* of strangers */
	unsigned n_local_polled;
	_Atomic unsigned n_local;
	_Atomic bool sleeping; /* somebody sleeps on the descriptor */
	struct tcp_wake { enum tcp_kind kind; int fd; } wake;
};

static inline struct tcp_link *tcp_of(struct link_streams *p)
{
	return ut_container(p, struct tcp_link, base);
}

static inline struct tcp_stream *tcp_stream_of(struct link_stream *s)
{
	return ut_container(s, struct tcp_stream, base);
}

static inline struct tcp_link *tcp_link_of(const struct tcp_stream *s)
{
	return tcp_of(s->base.place);
}

/* sock.c: descriptors and options. Negative errno. */
/* scope: the interface index of link-local addresses that name none. */
socklen_t tcp_sock_addr(union ut_sockaddr *sa, const struct link_end *e, uint32_t scope);
int tcp_sock_open(bool v4);
int tcp_sock_option(int fd, int level, int name, int value);
int tcp_sock_number(int fd, int level, int name, int fallback);
int tcp_sock_bind(int fd, const struct link_end *e, uint32_t scope);
int tcp_sock_ends(int fd, struct link_end *local, struct link_end *remote); /* remote may be NULL */
void tcp_sock_tos(int fd, bool v4, int tos);
/* Once connected: no delay, and a congestion control that suits the path. */
void tcp_sock_tune(int fd);
/* Bytes that the peer's host has not acknowledged. */
size_t tcp_sock_unacked(int fd);

/* watch.c: who may have something. */
void tcp_watch(struct tcp_stream *s);          /* makes the set agree with the flags */
void tcp_unwatch(struct tcp_link *p, int fd); /* out of the set */
int tcp_watch_listener(struct tcp_link *p, struct tcp_listener *l);
void tcp_poll_add(struct tcp_stream *s);
void tcp_poll_remove(struct tcp_stream *s);
/* poll() is to look after it without an event. */
void tcp_todo(struct tcp_stream *s);
int tcp_poll(struct link_streams *l, uint64_t now);
uint64_t tcp_deadline(struct link_streams *l);

/* stream.c: making streams. In which state, told nothing yet; takes fd on success. */
int tcp_stream_new(struct tcp_link *p, int fd, enum tcp_state state, struct tcp_stream **ret);
int tcp_connect(struct link_streams *l, struct link_listener *from, const struct link_end *local,
		const struct link_end *remote, int tos, struct link_stream **ret);
int tcp_adopt(struct link_streams *l, int fd, struct link_stream **ret);
/* The connect that was under way has ended. */
void tcp_connect_over(struct tcp_stream *s);

/* listen.c */
int tcp_bind(struct link_streams *l, const struct link_end *local, bool reuse, bool v6only,
	     struct link_listener **ret);
int tcp_listen(struct link_listener *l, int backlog);
void tcp_unbind(struct link_listener *l);
/* Gives the descriptor up, for connect(). */
int tcp_listener_take(struct tcp_listener *l);
int tcp_accept(struct tcp_listener *l);
void tcp_accept_again(struct tcp_link *p);

/* rendezvous.c */
struct tcp_hello {
	uint32_t magic;
	uint16_t from_port, to_port;
	uint8_t from[16], to[16];
};
#define TCP_HELLO_MAGIC 0x44504931u /* and a version */

/* Of an end's door. */
socklen_t tcp_rdv_listener_name(const struct link_end *e, struct sockaddr_un *ret);
int tcp_unix_socket(void);
int tcp_watch_unix(struct tcp_link *p, int fd, void *what);
/* Another user is a stranger. Within one process the host's stack has nothing to wake. */
bool tcp_is_one_of_us(const struct tcp_link *p, int fd);
int tcp_tell(int fd, const struct tcp_hello *h, int segment);
/* A descriptor and what was said with it; -EAGAIN; or another -errno: nothing will come. */
int tcp_hear(int fd, struct tcp_hello *h);
/* fd is its own then; or NULL. s NULL: a stranger's. */
struct tcp_rendezvous *tcp_rendezvous_new(struct tcp_link *p, struct tcp_stream *s, int fd);
void tcp_rendezvous_over(struct tcp_rendezvous *c);
/* The connection itself is the limit now. */
void tcp_rendezvous_keep(struct tcp_rendezvous *c);
void tcp_rendezvous_expired(struct tcp_link *p);
void tcp_rendezvous_reap(struct tcp_link *p);

/* agree.c: how two ends agree to leave the wire. */
bool tcp_local(struct link_stream *l, bool active);
void tcp_hurry(struct link_stream *l);
/* It keeps to the wire from now on, if it is not too late. */
void tcp_to_wire(struct tcp_stream *s);
/* The peer has what it needs, and something has come by TCP: which way is it? */
void tcp_decide(struct tcp_stream *s);
/* Takes the rendezvous away, and what the stream has. */
void tcp_local_free(struct tcp_stream *s);
int tcp_rendezvous_event(struct tcp_rendezvous *c);

/* door.c: where they ask. */
/* The peer of this passive end may ask from now on; not any more. */
void tcp_offer(struct tcp_stream *s);
void tcp_offer_over(struct tcp_stream *s);
/* The stream that is meant, if it is offered, or NULL. */
struct tcp_stream *tcp_offered(struct tcp_link *p, const struct tcp_hello *h);
int tcp_rdv_listener_event(struct tcp_rdv_listener *d);
/* Those that nobody needs. */
void tcp_rdv_listeners_close(struct tcp_link *p);
void tcp_rdv_listeners_fini(struct tcp_link *p);
void tcp_rdv_listeners_forget(struct tcp_link *p);

/* near.c: bytes through shared memory. */
void tcp_local_begin(struct tcp_stream *s);
void tcp_local_end(struct tcp_stream *s); /* its user has closed it */
void tcp_local_again(struct tcp_stream *s); /* what it was shown before is shown once more */
ssize_t tcp_local_send(struct tcp_stream *s, const void *data, size_t len);
size_t tcp_local_room(struct tcp_stream *s);
bool tcp_local_drained(struct tcp_stream *s);
uint8_t *tcp_reserve(struct link_stream *l, size_t len);
void tcp_commit(struct link_stream *l, size_t len);
/* Its ring has news, or room that is waited for. Returns how many things happened. */
int tcp_local_serve(struct tcp_stream *s);
/* TCP is readable: bells, or the end. */
int tcp_local_wake(struct tcp_stream *s);
bool tcp_local_has_news(const struct tcp_stream *s);
bool tcp_local_has_room(const struct tcp_stream *s); /* and waits for it */

/* local_look.c: which of these are looked at. */
void tcp_local_poll_add(struct tcp_stream *s);
void tcp_local_poll_remove(struct tcp_stream *s);
/* It is rung for from now on. */
void tcp_local_sleep(struct tcp_stream *s);
/* Some that are polled, in turns; or all. */
int tcp_local_look(struct tcp_link *p, bool all);
/* The owner may sleep now. */
void tcp_local_settle(struct tcp_link *p);
int tcp_peek_shm(struct link_streams *l);
void tcp_sleep(struct link_streams *l, bool on, bool look);
static inline bool tcp_sleeping(const struct tcp_link *p)
{
	return atomic_load(&p->sleeping);
}

/* rx.c */
/* Reads what there is, a bounded amount. Returns how many things happened. */
int tcp_read(struct tcp_stream *s);
/* Shows the user what it left. */
void tcp_show_rest(struct tcp_stream *s);
/* The stage is needed: the rest in it goes elsewhere. */
void tcp_evict(struct tcp_link *p);
void tcp_tell_closed(struct tcp_stream *s, int error);
/* The end has come; it is told in its turn. */
void tcp_over(struct tcp_stream *s, int error);
static inline bool tcp_may_read(const struct tcp_stream *s)
{
	return s->state == TCP_S_OPEN && !s->paused && !s->rx_over && s->base.user_ops;
}
void tcp_pause(struct link_stream *l, bool on);

/* take.c */
bool tcp_take(struct link_stream *l, size_t off, const struct iovec *iov, int n, size_t len);
/* What was shown and not taken has been read. */
void tcp_settle(struct tcp_stream *s);

/* tx.c */
ssize_t tcp_send(struct link_stream *l, const void *data, size_t len);
size_t tcp_room(struct link_stream *l);
uint32_t tcp_mss(struct link_stream *l);
bool tcp_drained(struct link_stream *l);
void tcp_shutdown(struct link_stream *l);

/* end.c */
void tcp_close(struct link_stream *l, bool abort);
/* A draining stream may have something to throw away. */
void tcp_drain(struct tcp_stream *s);
void tcp_drain_expired(struct tcp_link *p);
void tcp_reap(struct tcp_link *p);
void tcp_fini(struct link_streams *l);

#endif

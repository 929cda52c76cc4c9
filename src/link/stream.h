/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A byte-stream link: how the bytes of a stream protocol (MPA) move. link/tcp implements it on TCP
 * sockets of the host's own stack; link/local decorates another implementation and lets two
 * processes of one host exchange the bytes through shared memory; tests implement it without a host.
 * Addresses are 16 bytes, IPv4 as ::ffff:a.b.c.d.
 *
 * Push model: poll() finds out what happened and calls the user of each stream or listener. Inside a
 * callback the user may send, pause, change the user, close this stream or others; a closed stream
 * gets no more callbacks, its memory is freed when poll() has returned.
 *
 * Who writes what: every slot runs under the progress lock of the adapter that owns the place, and
 * none blocks. sleep() alone is called from any thread and without the lock; what it changes is
 * atomic. The user writes user_ops, user and the hints of a stream (`want`, `seldom`, `whole`); the owner of the
 * place writes the hints of a place (`cheap`, `rare`, `found`); the implementation writes the rest.
 *
 * In which order: of one stream, connected() comes first, then bytes in their order, then closed(),
 * once and last. Of several streams and listeners, what happened first is told first as far as the
 * host shows an order; closed() is told when every other stream has been looked at, so that bytes which
 * a peer sent on one connection before it closed another one are told before that end.
 *
 * Why no wake-up is lost: fd() is level-triggered and asks again for whatever poll() left behind. What
 * no descriptor shows (bytes that wait for a user, an end that is due) makes deadline() return 0. An
 * owner that sleeps calls sleep(on, look), then poll() if the descriptor is readable or deadline() has
 * passed; an implementation with things that do not show at the descriptor while the owner polls makes
 * them show from that call on, and with `look` makes the descriptor readable once, for what came before.
 *
 * An implementation fills in every slot, so no caller tests one for NULL. A slot that it can do without has
 * a default, link_streams_no_*() below; the others are what a stream is.
 */
#ifndef LINK_STREAM_H
#define LINK_STREAM_H

#include "util/stage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The longest piece a user may leave unconsumed while it waits for the rest: an FPDU with markers.
 * A stream whose user consumes nothing of so much fails (EMSGSIZE). */
#define LINK_STREAM_KEEP (68u * 1024)

#define LINK_TAKE_IOV 42 /* pieces in one take() */

struct link_streams;
struct link_stream;
struct link_listener;

/* One end: IP address, port in host order, interface index for link-local ones. */
struct link_end {
	uint8_t addr[16];
	uint16_t port;
	uint32_t scope;
};

/* The events of a stream, for its user. Every slot is filled. */
struct link_stream_user {
	/*
	 * Bytes have come: data[0..len) lies in the receive stage of the place at `off`; the stage
	 * is the callee's until it returns. Returns the bytes consumed; the rest is shown again, in
	 * front of the next bytes. A callback that changed the user returns what it consumed
	 * itself; the new user is shown the rest at once.
	 */
	size_t (*received)(struct link_stream *s, const uint8_t *data, size_t off, size_t len,
			   uint64_t now);
	/*
	 * The same for a stream whose `shm` is set: the bytes lie in memory that the peer process may
	 * rewrite at any time, and stay valid until this call returns. The callee copies what decides
	 * anything before it looks at it.
	 */
	size_t (*received_shm)(struct link_stream *s, const uint8_t *data, size_t len, uint64_t now);
	/* A send() was refused or cut; now the stream has room. */
	void (*writable)(struct link_stream *s, uint64_t now);
	/* An active connect has succeeded. */
	void (*connected)(struct link_stream *s, uint64_t now);
	/*
	 * No more bytes will come: 0 = FIN, else a positive errno (ECONNREFUSED, ECONNRESET,
	 * ETIMEDOUT, EHOSTUNREACH ...). After FIN sending is still possible. Called once, after all
	 * bytes that came before.
	 */
	void (*closed)(struct link_stream *s, int error, uint64_t now);
};

struct link_listener_user {
	/* A connection has come. Its stream has no user yet: the callee sets one, or closes it. */
	void (*accepted)(struct link_listener *l, struct link_stream *s, uint64_t now);
};

struct link_stream {
	struct link_streams *place;
	const struct link_stream_user *user_ops; /* NULL: there is none, and bytes wait */
	void *user;
	struct link_end local, remote;
	/* The user's hint: one look should show so many bytes, of which it will take() most; 0: no
	 * preference. Fewer or more may come. */
	size_t want;
	/* The user's hint: bytes are rare and none announces the next, so only the descriptor tells
	 * of them, and no read is tried out of turn. */
	bool seldom;
	/* The user's hint: what the next send() takes ends with a frame, and no segment carries its last bytes
	 * together with later ones. */
	bool whole;
	/* The bytes go through memory that is shared with the peer process: nothing damages them on
	 * the way. Known before the first one is sent or shown. */
	bool shm;
};

/* A descriptor of the owner's that the place watches with its own. The owner fills it in, and frees
 * it only after a poll() that follows unwatch() has returned. */
struct link_watch {
	int fd;
	bool edge; /* it is a member that shows an event once, to the thread that takes it (link_streams.woken) */
	/* Called by poll() while the descriptor is readable, or behind each event that poll() takes. Returns the number of events. */
	int (*ready)(struct link_watch *w, uint64_t now);
};

/* A bound port; it may listen, or be used up by connect(). */
struct link_listener {
	struct link_streams *place;
	const struct link_listener_user *user_ops;
	void *user;
	struct link_end local; /* with the port that the host chose */
};

struct link_streams_ops {
	/* Binds a port. Returns 0 or -EADDRINUSE, -EADDRNOTAVAIL, -EACCES, ... local->port 0: the
	 * host chooses. reuse: SO_REUSEADDR; v6only: an IPv6 any-address takes no IPv4. */
	int (*bind)(struct link_streams *p, const struct link_end *local, bool reuse, bool v6only,
		    struct link_listener **ret);
	int (*listen)(struct link_listener *l, int backlog); /* Listens. backlog 0: the largest. */
	/* Stops listening and releases the port. Accepted streams stay. */
	void (*unbind)(struct link_listener *l);
	/*
	 * Starts connecting; connected() or closed() follows from poll(). from: a bound,
	 * not listening port that is consumed on success, or NULL with *local (port 0)
	 * the source address. tos: IP TOS / traffic class, -1 = default.
	 */
	int (*connect)(struct link_streams *p, struct link_listener *from,
		       const struct link_end *local, const struct link_end *remote, int tos,
		       struct link_stream **ret);
	/* An established socket of the host becomes a stream; it owns fd from then on. */
	int (*adopt)(struct link_streams *p, int fd, struct link_stream **ret);
	/*
	 * Sends data. Returns the bytes taken (0 < n <= len; the link keeps no copy),
	 * -EAGAIN (writable() will be called), or another -errno (closed() follows).
	 */
	ssize_t (*send)(struct link_stream *s, const void *data, size_t len);
	/* Returns about how many bytes send() would take now; a hint to compose no more than that.
	 * 0: writable() will be called. */
	size_t (*room)(struct link_stream *s);
	/*
	 * To be called when the connection managers have agreed: the stream may leave the wire, if
	 * there is a way within the host. active: this end asks the peer process, and its next byte
	 * waits until that is decided; else it may be asked, and the next byte of another user than
	 * the present one waits, or decides for the wire. Returns true if it has asked; writable()
	 * follows when it is decided. Default: false.
	 */
	bool (*local)(struct link_stream *s, bool active);
	/* The next byte does not wait for that any longer: the stream takes the wire unless the way
	 * is decided. Default: nothing. */
	void (*hurry)(struct link_stream *s);
	/* Returns where the next `len` bytes to send may be put together, in one piece, or NULL if they
	 * go by send(), which is the default. commit() sends as many of them. */
	uint8_t *(*reserve)(struct link_stream *s, size_t len);
	void (*commit)(struct link_stream *s, size_t len);
	/* Returns the largest TCP payload of a segment now (EMSS), in bytes. */
	uint32_t (*mss)(struct link_stream *s);
	/* Returns true if the peer's host has acknowledged everything sent so far. */
	bool (*drained)(struct link_stream *s);
	/*
	 * Inside received(): moves the bytes shown at `off` to application memory, pieces in order,
	 * later pieces later. Returns false if it did not, or not wholly: the user then scatters
	 * them from the stage, which is unchanged.
	 */
	bool (*take)(struct link_stream *s, size_t off, const struct iovec *iov, int n, size_t len);
	/* Stops or continues reading: back-pressure, or before a user exists. */
	void (*pause)(struct link_stream *s, bool on);
	/* Sends FIN after all bytes sent before. */
	void (*shutdown)(struct link_stream *s);
	/*
	 * Ends the stream. abort: RST. Otherwise all bytes sent are delivered: FIN leaves, incoming
	 * bytes are read and dropped for a bounded time, so that no RST destroys the last message
	 * on its way.
	 */
	void (*close)(struct link_stream *s, bool abort);
	/* Reads this stream now, out of its turn; calls its user as poll() does. Not inside
	 * received(). Returns the number of events. Default: 0. */
	int (*read)(struct link_stream *s);
	/* Calls users for all events, bounded work per call. Returns the number of events. */
	int (*poll)(struct link_streams *p, uint64_t now);
	/*
	 * A part of poll(), for an owner that polls or was woken: the bytes of streams that had some lately, by the way
	 * that needs the least, with the time of the last poll(). Returns the number of events, or -EAGAIN
	 * if only a whole poll() can tell, as when more is due behind the last call.
	 */
	int (*peek)(struct link_streams *p);
	/* Returns true if nothing is due and no stream is read out of its turn: every event shows
	 * at the descriptor. Default: false. */
	bool (*is_quiet)(struct link_streams *p);
	/*
	 * From any thread, no lock held. on: the owner is about to sleep on the descriptor; off: it
	 * polls. look: the descriptor becomes readable once, for events that it does not show yet;
	 * else the owner calls poll() before it sleeps. Default: nothing, every event always shows.
	 */
	void (*sleep)(struct link_streams *p, bool on, bool look);
	/* Returns when poll() must run although the descriptor is not readable, or UT_NEVER. */
	uint64_t (*deadline)(struct link_streams *p);
	/* Returns a descriptor that is readable (epoll) when poll() has something to do. It stays
	 * the same for life. -1: the owner drives virtual time. It is an epoll set, as link_ops.fd. */
	int (*fd)(struct link_streams *p);
	/* w->fd joins the set of fd(), until unwatch(). Returns 0 or -errno. Default: -EOPNOTSUPP. */
	int (*watch)(struct link_streams *p, struct link_watch *w);
	/* An event that poll() has fetched already may still call w->ready() until poll() returns. */
	void (*unwatch)(struct link_streams *p, struct link_watch *w);
	/*
	 * The process exits: every stream is closed as by close(s, false), and the call lasts until
	 * the bytes sent have reached the peers' hosts, 200 ms at most. The place stays, empty.
	 * Default: nothing.
	 */
	void (*leave)(struct link_streams *p);
	/* In a child of fork(): closes the descriptors, sends nothing. Default: nothing. */
	void (*forget)(struct link_streams *p);
	/* Closes everything (as close(s, false)) and frees. */
	void (*fini)(struct link_streams *p);
};

struct link_streams {
	const struct link_streams_ops *ops;
	struct ut_stage *rx_stage; /* where received() data lies */
	/* Set by the owner: seconds of silence until the peer's kernel is asked whether it lives; 0: it is not. */
	unsigned keepalive;
	/* The owner's hints for the next poll(): */
	bool cheap; /* bytes that the descriptor shows may stay unread, and no system call is made */
	bool rare;  /* the owner polls other things besides: the descriptor is asked in some calls
                     * only */
	bool found; /* one of those had an event in this round, so the owner does not sleep yet */
	bool woken; /* also for a peek(): a thread has slept on the descriptor since the last poll(), and may have taken events that
                     * are shown once (link_watch.edge). poll() follows before the next sleep, and is told, too */
	bool asked; /* the place's: the last peek() has made system calls */
};

/* The defaults. */
bool link_streams_no_local(struct link_stream *s, bool active);
void link_streams_no_hurry(struct link_stream *s);
uint8_t *link_streams_no_reserve(struct link_stream *s, size_t len);
void link_streams_no_commit(struct link_stream *s, size_t len);

#endif

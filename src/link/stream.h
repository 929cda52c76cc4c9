/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A byte-stream link: how the bytes of a stream protocol (MPA) move. The real
 * one is TCP of the host's own stack (link/tcp); the simulator speaks the
 * same interface. Addresses are 16 bytes, IPv4 as ::ffff:a.b.c.d.
 *
 * Push model: poll() finds out what happened and calls the user of each stream
 * or listener. Everything runs under the adapter's progress lock; nothing
 * blocks. Inside a callback the user may send, pause, change the user, close
 * this stream or others; a closed stream gets no more callbacks, its memory is
 * freed when poll() has returned.
 */
#ifndef LINK_STREAM_H
#define LINK_STREAM_H

#include "util/stage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The longest piece a user may leave unconsumed while it waits for the rest: an FPDU
 * with markers. A user that consumes nothing of so much has its stream failed (EMSGSIZE). */
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

/* What the user of a stream is told. Every slot is filled. */
struct link_stream_user {
	/*
	 * data[0..len) lies in the receive stage of the place at `off`. Returns the bytes
	 * consumed; the rest is shown again, in front of what comes next. A callback
	 * that changed the user returns what it consumed itself; the new user is
	 * shown the rest at once.
	 */
	size_t (*received)(struct link_stream *s, const uint8_t *data, size_t off, size_t len,
			   uint64_t now);
	/*
	 * The same for a stream that is `near`: the bytes lie in memory that the peer may rewrite at
	 * any time, and stay valid until this call returns. Whatever decides something is copied
	 * first.
	 */
	size_t (*shown)(struct link_stream *s, const uint8_t *data, size_t len, uint64_t now);
	/* A send() was refused or cut; now there is room. */
	void (*writable)(struct link_stream *s, uint64_t now);
	/* An active connect has succeeded. */
	void (*connected)(struct link_stream *s, uint64_t now);
	/* No more bytes will come: 0 = FIN, else a positive errno (ECONNREFUSED, ECONNRESET,
	 * ETIMEDOUT, EHOSTUNREACH ...). After FIN sending is still possible. Told once, after
	 * all bytes that came before. */
	void (*closed)(struct link_stream *s, int error, uint64_t now);
};

struct link_listener_user {
	/* A connection has come. The stream has no user yet: set one, or close it. */
	void (*accepted)(struct link_listener *l, struct link_stream *s, uint64_t now);
};

struct link_stream {
	struct link_streams *place;
	const struct link_stream_user *user_ops; /* NULL: nobody, bytes wait */
	void *user;
	struct link_end local, remote;
	/* The user's: one look should show so many bytes, of which it will take() most; 0: it wants
	 * whatever there is. Fewer or more may come. */
	size_t want;
	/* The bytes go through memory that is shared with the peer's process: nothing damages them on
	 * the way. Known before the first one is sent or shown. */
	bool shm;
};

/* A bound port; it may listen, or be used up by connect(). */
struct link_listener {
	struct link_streams *place;
	const struct link_listener_user *user_ops;
	void *user;
	struct link_end local; /* with the port the host chose */
};

struct link_streams_ops {
	/* 0 or -EADDRINUSE, -EADDRNOTAVAIL, -EACCES, ... local->port 0: the host's choice.
	 * reuse: SO_REUSEADDR; v6only: an IPv6 any-address takes no IPv4. */
	int (*bind)(struct link_streams *p, const struct link_end *local, bool reuse, bool v6only,
		    struct link_listener **ret);
	int (*listen)(struct link_listener *l, int backlog); /* backlog 0: the most */
	/* Stops listening, gives the port back. Accepted streams live on. */
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
	/* About how many bytes send() would take now; a hint to compose no more than that. 0: writable()
	 * will be called. */
	size_t (*room)(struct link_stream *s);
	/*
	 * What was agreed lets the stream take a shorter way than the wire, if there is one. active: it
	 * asks for it, and its next byte waits until that is decided; else it will be asked, and the
	 * next byte of another user than the present one waits, or decides for the wire. True: it has
	 * asked, and writable() tells when it is decided.
	 */
	bool (*local)(struct link_stream *s, bool active);
	/* Its next byte waits no longer for that: it has chosen the wire, unless it had chosen before. */
	void (*hurry)(struct link_stream *s);
	/* Where the next `len` bytes to send may be put together, in one piece, or NULL: by send().
	 * commit() sends as many of them. */
	uint8_t *(*reserve)(struct link_stream *s, size_t len);
	void (*commit)(struct link_stream *s, size_t len);
	/* Largest TCP payload of a segment now (EMSS), in bytes. */
	uint32_t (*mss)(struct link_stream *s);
	/* Everything sent so far was acknowledged by the peer's host. */
	bool (*drained)(struct link_stream *s);
	/*
	 * Inside received(): moves what is shown at `off` to application memory, pieces in
	 * order, later pieces later. False: it did not, or not wholly, so scatter it from the
	 * stage, whose bytes stay as they are.
	 */
	bool (*take)(struct link_stream *s, size_t off, const struct iovec *iov, int n, size_t len);
	/* Stop / go on reading: back-pressure, or before a user exists. */
	void (*pause)(struct link_stream *s, bool on);
	/* FIN after what was sent. */
	void (*shutdown)(struct link_stream *s);
	/*
	 * Ends it. abort: RST. Otherwise what was sent is delivered: FIN goes out, incoming
	 * bytes are read and thrown away for a bounded time, so that no RST destroys the
	 * last message on its way.
	 */
	void (*close)(struct link_stream *s, bool abort);
	/* Calls users for all that happened, bounded work per call. Returns how many things. */
	int (*poll)(struct link_streams *p, uint64_t now);
	/* A part of poll(): what costs no system call to find out, with the time of the last one.
	 * -EAGAIN: it takes a whole one. */
	int (*peek_shm)(struct link_streams *p);
	/* From any thread, no lock held: the owner is about to sleep on the descriptor (on), and makes
	 * a poll() before, or wants to be told to (look); or it polls. */
	void (*sleep)(struct link_streams *p, bool on, bool look);
	/* When poll() must run although the descriptor is not readable; UT_NEVER. */
	uint64_t (*deadline)(struct link_streams *p);
	/* A descriptor that is readable (epoll) when poll() has something to do. Stays the
	 * same for life. -1: the owner drives virtual time. An epoll set, and as link_ops.fd. */
	int (*fd)(struct link_streams *p);
	/* Closes everything (as close(s, false)) and frees. */
	void (*fini)(struct link_streams *p);
};

struct link_streams {
	const struct link_streams_ops *ops;
	struct ut_stage *rx_stage; /* where received() data lies */
	bool cheap; /* as link.cheap, for poll() */
};

#endif

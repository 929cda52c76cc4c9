/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The structures of link/tcp: a place, its streams and listeners. All of it runs under the progress
 * lock of the adapter that owns the place, but for what tcp_sleep() sets from any thread: `sleeping`, an atomic, and
 * which streams are muted (mute.h), under the lock `muting`.
 */
#ifndef LINK_TCP_PLACE_H
#define LINK_TCP_PLACE_H

#include "link/stream.h"
#include "util/list.h"
#include "util/lock.h"

#include <stdatomic.h>

#define TCP_STAGE_BYTES (256u * 1024)

enum tcp_state {
	TCP_S_CONNECTING,
	TCP_S_OPEN,
	TCP_S_DRAINING, /* closed by its user, see stream.c */
	TCP_S_DEAD      /* freed when poll() returns */
};

/* The first member of every object that an epoll event points at. */
enum tcp_kind { TCP_K_STREAM, TCP_K_LISTENER, TCP_K_AGAIN };

struct tcp_stream {
	enum tcp_kind kind;
	enum tcp_state state;
	struct link_stream base;
	struct ut_list node;        /* place->streams, drains or dead */
	struct ut_list polled_node; /* place->polled */
	struct ut_list todo_node;   /* place->todo: something to do that no descriptor reports; over */
	struct ut_list idle_node;   /* place->unclaimed: bytes wait for a user */
	struct ut_list flight_node; /* place->in_flight */
	uint64_t look_at, sent_at;  /* in that list: when it is looked at, and since when it has been in it (silence.h) */
	int fd;
	int error;         /* to be told by closed() */
	uint32_t mask;     /* epoll events asked for; 0 = not in the set */
	uint16_t polled;   /* empty reads until it leaves the poll set */
	uint8_t reads;     /* that found something, until it is muted */
	_Atomic bool muted; /* out of the set although `mask` is not 0; written under tcp_place.muting */
	struct ut_list muted_node; /* place->muted */
	bool paused;
	bool blocked;      /* a send was refused or cut: writable() is due */
	bool news;         /* connected() or closed() with `error` is due */
	bool rx_over;      /* no more reads */
	bool told;         /* closed() was called */
	bool asks;         /* the peer's kernel is asked whether it lives */
	/* Bytes that the user left, when they are neither consumed nor in the stage. */
	uint8_t *carry;
	size_t carry_len;
	size_t credit;     /* room() without asking the kernel */
	uint32_t mss;
	uint64_t mss_at;   /* when room was asked for */
	uint64_t drain_until;
	size_t drain_left;
};

struct tcp_listener {
	enum tcp_kind kind;
	bool listening, watched, reuse, dead;
	struct link_listener base;
	struct ut_list node; /* place->listeners or dead_listeners */
	int fd;
};

struct tcp_place {
	struct link_streams base;
	struct ut_stage stage;
	int epfd;
	uint32_t ifindex;
	struct ut_list streams, drains, dead;
	struct ut_list listeners, dead_listeners;
	struct ut_list polled, todo, unclaimed;
	struct ut_list in_flight; /* streams that have sent, by look_at */
	struct ut_list over; /* ended: closed() is due when the others have been looked at */
	unsigned n_polled, calls, look_only;
	uint64_t now;       /* of the last poll() */
	uint64_t accept_at; /* listeners wait for descriptors until then; 0 = they do not */
	/* The stream whose rest still lies in the stage. */
	struct tcp_stream *owner;
	size_t rest_off, rest_len;
	/* The bytes shown of [peek_at, peek_end) are still in the socket, see bytes.c. */
	size_t peek_at, peek_end;
	_Atomic bool sleeping; /* a thread sleeps on the descriptor */
	struct ut_mutex muting; /* a leaf */
	struct ut_list muted UT_GUARDED_BY(muting);
	bool app_polls UT_GUARDED_BY(muting); /* a thread calls poll(), and none sleeps on the descriptor */
	int again_fd UT_GUARDED_BY(muting); /* the timer that tries again, once a stream was muted; else -1 */
	enum tcp_kind again; /* its events point at this */
};

static inline struct tcp_place *tcp_of(struct link_streams *p)
{
	return ut_container(p, struct tcp_place, base);
}

static inline struct tcp_stream *tcp_stream_of(struct link_stream *s)
{
	return ut_container(s, struct tcp_stream, base);
}

static inline struct tcp_place *tcp_place_of(const struct tcp_stream *s)
{
	return tcp_of(s->base.place);
}

#endif

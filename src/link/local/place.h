/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The structures of link/local: a place over a lower one, its streams, and what they agree on. */
#ifndef LINK_LOCAL_PLACE_H
#define LINK_LOCAL_PLACE_H

#include "host/shm/pipe.h"
#include "link/local/streams.h"
#include "util/list.h"

#include <stdatomic.h>

/* The way of a stream's bytes, see agree.c. */
enum local_way {
	LOCAL_W_WIRE,
	LOCAL_W_OFFERED,  /* passive: the peer process may still ask */
	LOCAL_W_ASKED,    /* active: awaits the answer */
	LOCAL_W_ANSWERED, /* passive: the peer process has our segment and decides */
	LOCAL_W_SHM
};

/* A socket that peer processes connect to: its name is that of a local address and port. */
struct local_rdv_listener {
	struct link_watch watch;
	struct ut_list node; /* place->rdv_listeners or dead_rdv_listeners */
	struct local_place *place;
	struct link_end local;
	unsigned offers; /* streams that need it */
};

/* A unix connection, on which two ends agree. */
struct local_rendezvous {
	struct link_watch watch;
	struct ut_list node; /* place->timed, the oldest first; untimed or dead_rendezvous */
	struct local_place *place;
	struct local_stream *s; /* NULL: the peer process has not named it yet */
	uint64_t until;
};

/* The part of a stream that exists from the moment it may leave the wire. */
struct local_shm {
	struct shm_pipe pipe;
	struct local_stream *s; /* the stream that this is a part of */
	struct local_rendezvous *rendezvous;
	struct local_wakefd *wake_fd;    /* the peer's, or NULL */
	struct ut_list wake_fd_node; /* place->on_wake_fd: it sleeps by our wake fd */
	struct ut_list polled_node; /* place->polled */
	uint64_t seen;        /* the end of the bytes that its user was shown */
	uint32_t polled;      /* empty looks left until it leaves the poll set */
	uint32_t polled_from; /* the value that `polled` begins with; larger for a stream that often
                               * had bytes */
	bool wake_due;        /* the lower stream had no room for a wake-up */
	bool fin;             /* the lower stream has ended, with `error` of the stream */
	bool reading;         /* wake-ups are being read out of turn */
};

struct local_stream {
	struct link_stream base;
	struct link_stream *lower; /* NULL: closed by its user */
	enum local_way way;
	struct ut_list node;      /* place->streams or dead */
	struct ut_list todo_node; /* place->todo: something to do that no descriptor reports; over */
	struct ut_list idle_node; /* place->userless */
	struct ut_list offer_node; /* place->offers */
	const struct link_stream_user *offered_by; /* OFFERED: bytes of this user do not decide */
	struct local_shm *shm;    /* ASKED, ANSWERED, SHM */
	int error;                /* of the end */
	bool open;                /* connected */
	bool handed_over;         /* by adopt() */
	bool paused;
	bool blocked;             /* not by the lower stream: writable() is due when the way is
                                   * decided, or in SHM */
	bool over;                /* no more bytes come; unless `told`, closed() is due */
	bool told;
};

struct local_listener {
	struct link_listener base;
	struct link_listener *lower;
	struct ut_list node; /* place->listeners or dead_listeners */
	bool listening;
};

struct local_place {
	struct link_streams base;
	struct link_streams *lower;
	const struct link_streams_ops *ops; /* of lower */
	unsigned how;                       /* enum local_how */
	uint32_t uid;                       /* of this process, as peer processes see them */
	int pid;
	uint64_t now;                       /* of the last poll() */
	struct ut_list streams, dead, listeners, dead_listeners;
	struct ut_list todo, userless;
	struct ut_list over; /* ended: closed() is due when all other streams have been looked at */
	struct ut_list rdv_listeners, dead_rdv_listeners, offers;
	struct ut_list timed, untimed, dead_rendezvous;
	unsigned n_strangers; /* rendezvous connections that have named no stream yet */
	struct ut_list polled;
	unsigned n_polled;
	_Atomic unsigned n_shm; /* streams that have a segment */
	_Atomic bool sleeping;  /* a thread sleeps on the descriptor */
	struct link_watch wake;       /* an eventfd of this process alone */
	struct link_watch wake_fd;    /* one that peer processes have (link/local/wakefd.h) */
	uint64_t wake_fd_id;          /* 0: there is none */
	struct ut_list on_wake_fd;    /* streams that sleep by it */
	unsigned n_on_wake_fd;
	struct ut_list peer_wake_fds; /* of peer processes */
};

static inline struct local_place *local_of(struct link_streams *p)
{
	return ut_container(p, struct local_place, base);
}

static inline struct local_stream *local_stream_of(struct link_stream *s)
{
	return ut_container(s, struct local_stream, base);
}

static inline struct local_place *local_place_of(const struct local_stream *s)
{
	return local_of(s->base.place);
}

/* Returns true if its user may be shown bytes. */
static inline bool local_may_read(const struct local_stream *s)
{
	return s->lower && s->base.user_ops && !s->paused && !s->over;
}

#endif

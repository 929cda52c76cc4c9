/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Byte streams between places of one test: no time, no loss, but any cut, little room, lateness,
 * damage, and an end wherever the test wants one. A place without a manager is a raw peer: its
 * streams have no user, and the test reads and writes them itself.
 */
#ifndef TESTS_SUPPORT_PIPES_H
#define TESTS_SUPPORT_PIPES_H

#include "link/stream.h"
#include "util/list.h"
#include "util/rng.h"

#define PIPES_PLACES 4
#define PIPES_STAGE (512u << 10)
#define PIPES_SILENT 250 /* last byte of an address that never answers */

struct pipes;

struct pipe_place {
	struct link_streams s;
	struct pipes *net;
	uint8_t addr[16];
	struct ut_list streams, listeners;
	uint16_t next_port;
	struct ut_stage stage; /* see pipes_stages() */
};

struct pipe_stream {
	struct link_stream s;
	struct ut_list node;
	struct pipe_stream *mate;
	uint8_t *in;          /* inside buf */
	size_t in_len, offered; /* bytes that wait; of them those that have arrived */
	uint8_t *buf;
	size_t buf_len;
	size_t room;          /* bytes that send() takes until the test gives more */
	size_t sent;          /* bytes taken by send() */
	size_t apart;         /* the last position at which a `whole` send() ended; 0: none */
	unsigned n_apart;     /* how many there were */
	bool wants_room, connecting, fin, dead, told, fresh, shut;
	int error;
	struct link_listener *from; /* fresh: to be told of it */
};

struct pipes {
	struct pipe_place place[PIPES_PLACES];
	int n;
	size_t cut;           /* bytes that arrive at a time; 0 = all */
	bool ragged;          /* 1..cut of them, as the seed says */
	unsigned lazy;        /* per mille of the times when a stream's news wait for the next poll */
	struct ut_rng rng;
	size_t room;          /* of new streams; 0 = without end */
	size_t window;        /* most bytes under way to a place; 0 = without end */
	uint32_t mss;
	/* The n-th byte (counted from 1) that goes from place `from` is changed by this mask. */
	size_t harmed;
	uint8_t harm;
	/* The n-th byte (counted from 1) that goes from place `from` is the last: then FIN or RST. */
	int from;
	size_t last, passed;
	bool reset;
	unsigned live;        /* streams that were not closed */
	unsigned failing;     /* the n-th connect, bind or send from now fails with `failure` */
	int failure;
};

void pipes_open(struct pipes *net, int places);
/* The bytes of a receive lie in receive stages, for users that place from there. */
void pipes_stages(struct pipes *net);
void pipes_close(struct pipes *net);
static inline struct pipe_stream *pipe_of(struct link_stream *s)
{
	return ut_container(s, struct pipe_stream, s);
}
/* Raw peers. */
struct pipe_stream *pipe_connect(struct pipe_place *from, const struct link_end *to);
/* A stream that came to a raw listener and that the test has not taken yet, or NULL. */
struct pipe_stream *pipe_accept(struct pipe_place *at);
void pipe_put(struct pipe_stream *s, const void *data, size_t len);
void pipe_end(struct pipe_stream *s, bool reset);
/* An established pair without users. */
void pipe_pair(struct pipe_place *a, struct pipe_place *b, struct link_stream **ra,
	       struct link_stream **rb);

#endif

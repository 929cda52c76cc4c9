/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rings of the processes that are captured: sessions (observe/session.h) that come and go, and their records in the
 * order of time. A packet that both of its ends have recorded comes once, as the sender's record, with the time at which
 * the receiver had it; a record waits SOURCES_HOLD_NS for that, since the rings are read one after the other and a
 * receiver may be late. A receiver whose record comes later still, but within SOURCES_LATE_NS, does not give the packet a
 * second time: its time is then not told.
 */
#ifndef CAPTURE_SOURCES_H
#define CAPTURE_SOURCES_H

#include "observe/session.h"

#include <stdbool.h>
#include <stdint.h>

#define SOURCES_HOLD_NS (20 * 1000000ull)
#define SOURCES_LATE_NS (10 * 1000000000ull)
#define SOURCES_MAX 256

/* One adapter of one process. */
struct source {
	struct obs_reader reader;
	int session;       /* -1: the process has left */
	bool open;         /* the ring is mapped: records may follow */
	bool broken;       /* the ring's contents were impossible */
	uint32_t pid;
	char program[OBS_NAME], adapter[OBS_NAME]; /* without control characters */
	int64_t offset;    /* from CLOCK_MONOTONIC to CLOCK_REALTIME */
	uint64_t received; /* records */
	uint64_t lost;
	void *user;        /* the owner's; interface of the file and one more */

	/* Records read and not yet given: entries from head to tail of buf. */
	uint8_t *buf;
	size_t size, head, tail;
	uint64_t base; /* position of buf[0] */
};

/* In front of a record's bytes in source.buf. */
struct source_entry {
	struct obs_record h;
	uint64_t key;
	const struct source *peer; /* the receiver that has recorded the packet, too, */
	uint64_t peer_time;        /* and when */
	bool merged;               /* the other end's entry is given, or was */
	uint8_t bytes[];
};

struct sources;

struct sources *sources_new(const struct obs_config *cfg);
void sources_free(struct sources *s);
/* A process has connected: gets its settings. Returns 0 or -errno. */
int sources_add(struct sources *s, int session);
/* Descriptors of sessions, for poll(): fills v, returns their number. */
struct pollfd;
int sources_poll(struct sources *s, struct pollfd *v, int max);
/* Takes rings that were passed, and notices processes that have left. began(): a new source has its ring. */
void sources_serve(struct sources *s, void (*began)(struct source *src, void *arg), void *arg);
/* Reads what the rings have, at most so many records of each. Returns the number of records. */
unsigned sources_read(struct sources *s, unsigned most);
/* Gives records up to SOURCES_HOLD_NS ago (all: every one) in the order of time. */
void sources_give(struct sources *s, bool all, void (*give)(struct source *src, const struct source_entry *e, void *arg),
		  void *arg);
/* Returns true if a process is there that may write records. */
bool sources_live(const struct sources *s);
/* Returns true if a process is there, or records are left. */
bool sources_any(const struct sources *s);
/* Ends the sessions: the processes take their observers away. */
void sources_end(struct sources *s);
void sources_each(struct sources *s, void (*each)(struct source *src, void *arg), void *arg);

#endif

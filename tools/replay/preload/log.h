/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The events, one after another. The same code writes and reads: rp_event_begin(), rp_bytes() for each piece of memory
 * that the call has filled, rp_event_end(). Called by the thread whose turn it is.
 */
#ifndef REPLAY_LOG_H
#define REPLAY_LOG_H

#include "../format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Maps the file, whose events begin there. Returns 0 or -errno. */
int rp_log_open(int fd, uint64_t events_at, uint64_t limit);
/* The number under which the file is kept open, or -1. */
int rp_log_fd(void);
const struct rp_file *rp_log_head(void);
/* Bytes of events, up to the one that is being written. */
uint64_t rp_log_used(void);
/* Recording: the process ends by exit_group(), and this is its status. */
void rp_log_close(int status);
/* Recording, in a child: goes on in another file, which has the same events. Returns 0, or -errno: nothing is recorded. */
int rp_log_move(int fd);

/* Replay: the thread of the next event, or -1 at the end. */
int rp_log_thread(void);
/* Replay: the kind of the next event, or -1 at the end. */
int rp_log_kind(void);
/* Replay: what the next event is about, or -1 at the end. */
int64_t rp_log_about(void);

/* Recording: begins an event with that result. Replay: takes the next event, which is of this thread, checks its kind and
 * descriptor, and returns the recorded result. */
int64_t rp_event_begin(unsigned kind, unsigned thread, int64_t about, int64_t result);
/* Memory that came from outside: is kept, or is filled. */
void rp_bytes(void *p, size_t n);
/* Memory that goes outside, the first n bytes of it: is kept by a checksum and its first octets, or is compared. */
void rp_compare(const struct iovec *iov, int n_iov, size_t n, bool is_message);
void rp_event_end(void);

/* An event of a result alone. */
int64_t rp_event(unsigned kind, unsigned thread, int64_t about, int64_t result);

#endif

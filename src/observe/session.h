/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a process gives the ring of an adapter to a reader: it connects to the reader's socket, gets the settings, and
 * passes the ring. The connection is the session: when the reader closes it, the process ends its observer; when the
 * process closes it or dies, the reader takes the rest of the ring.
 */
#ifndef OBSERVE_SESSION_H
#define OBSERVE_SESSION_H

#include "observe/tap.h"

#define OBS_SESSION_MAGIC 0x64706c636170ull

/* Connects to the reader, and waits a second at most for its settings. Returns the connection or -errno. */
int obs_session_join(const char *path, struct obs_config *ret);
/* Passes the ring. Returns 0 or -errno. */
int obs_session_pass(int session, int ring);

/* The reader's side of both. give(): returns 0 or -errno. take(): returns the ring's descriptor, -EAGAIN, or -errno:
 * the process has left. */
int obs_session_give(int session, const struct obs_config *cfg);
int obs_session_take(int session);

#endif

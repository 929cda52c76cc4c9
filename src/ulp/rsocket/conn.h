/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The states of a stream up to CONNECTED, and the events of its identifier afterwards. */
#ifndef ULP_RSOCKET_CONN_H
#define ULP_RSOCKET_CONN_H

#include "ulp/rsocket/sock.h"

/* Takes waiting events. Returns -EINPROGRESS while the stream is opening, else 0. Keeps errno. */
int rs_conn_step(struct rs_sock *s);
/* Starts to connect to s->peer. Returns -EINPROGRESS, or the error. Called with m held. */
int rs_conn_start(struct rs_sock *s);
/* Fills in the connection data of this end, from the endpoint's buffers. */
void rs_conn_data(struct rs_sock *s, struct rs_conn *ret);
/* Checks and takes over the peer's connection data. Returns 0, or the error of rs_conn_get(). */
int rs_conn_take(struct rs_sock *s, const void *data, size_t len);
/* Takes waiting events of a stream; unless `now`, at most once a millisecond. Keeps errno. */
void rs_conn_look(struct rs_sock *s, bool now);
/* Disconnects the identifier, if it is connected. Called with m held. */
void rs_conn_down(struct rs_sock *s);
/* Records why a flushed stream ended; err 0 is an end in order. Called with c held. */
void rs_conn_explained(struct rs_sock *s, int err);
/*
 * Waits until the stream has opened. Returns 0 if it is connected or has ended in order, -EAGAIN if
 * `flags` or the socket forbid to wait, else the error that ended it.
 */
int rs_conn_wait(struct rs_sock *s, int flags);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The end of a stream for its queue pair. */
#ifndef PROTO_IWARP_END_H
#define PROTO_IWARP_END_H

#include "proto/iwarp/port.h"

/*
 * An error: the peer violated the protocol, or a request here failed. rx: the segment at fault or
 * NULL; rd: its Read Request (28 octets) or NULL. Sends the Terminate, completes and flushes
 * requests, raises the event, closes the stream.
 */
void iwp_fail(struct iwp_qp *q, enum eng_verdict v, const struct iwp_rx *rx, const uint8_t *rd);
/* A Terminate of the peer has come. */
void iwp_terminated(struct iwp_qp *q, const struct iwp_rx *rx);
/* The stream has ended: the queue pair goes to ERR, requests are flushed, the connection manager is
 * told. */
void iwp_over(struct iwp_qp *q, enum eng_verdict v, int error);
/* Closes the stream once the octets that the socket has not taken are sent. */
void iwp_release(struct iwp_qp *q);
/* Closes the stream at once, with octets unsent; abort: by RST. */
void iwp_let_go(struct iwp_qp *q, bool abort);
/* The same, and the connection manager is not told. */
void iwp_forget(struct iwp_qp *q);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How a stream ends for its queue pair. */
#ifndef PROTO_IWARP_END_H
#define PROTO_IWARP_END_H

#include "proto/iwarp/port.h"

/*
 * The peer or we did wrong. rx: the segment at fault or NULL; rd: its Read Request (28
 * octets) or NULL. Sends the Terminate, completes, flushes, raises, says goodbye.
 */
void iwp_fail(struct iwp_qp *q, enum eng_verdict v, const struct iwp_rx *rx, const uint8_t *rd);
/* A Terminate has come. */
void iwp_terminated(struct iwp_qp *q, const struct iwp_rx *rx);
/* The stream has ended for the QP: state ERR, flush, the owner hears of it. */
void iwp_over(struct iwp_qp *q, enum eng_verdict v, int error);
/* Lets the stream go, after the rest when there is one. */
void iwp_release(struct iwp_qp *q);
/* Closes the stream, whatever is left of it; abort: by RST. */
void iwp_let_go(struct iwp_qp *q, bool abort);
/* The same, and its owner hears nothing more. */
void iwp_forget(struct iwp_qp *q);

#endif

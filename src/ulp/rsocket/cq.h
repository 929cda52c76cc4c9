/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions of an rsocket and the end of a stream. All functions are called with c held. */
#ifndef ULP_RSOCKET_CQ_H
#define ULP_RSOCKET_CQ_H

#include "ulp/rsocket/sock.h"

/* Processes all completions, posts the receives again, grants credits, sends a due keepalive. */
void rs_cq_drive(struct rs_sock *s);
/* Grants the peer what was read and can be filled again. */
void rs_cq_grant(struct rs_sock *s);
/* Requests an event for the next completion, unless one is requested already. */
void rs_cq_arm(struct rs_sock *s);
/* Takes the completion event off the descriptor, if there is one, and wakes all sleepers. */
void rs_cq_event(struct rs_sock *s);
/* Ends the stream in `state` with `err`; a second call changes neither. Wakes all sleepers. */
void rs_end(struct rs_sock *s, enum rs_state state, int err);
/* Returns the pending error as a positive errno, or 0, and clears it. */
int rs_take_err(struct rs_sock *s);

#endif

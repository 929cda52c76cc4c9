/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The responder. */
#ifndef CM_MPA_PASSIVE_H
#define CM_MPA_PASSIVE_H

#include "cm/mpa/ep.h"

/* cm_ops. */
int mpa_listen(struct cm_ep *ep, int backlog);
int mpa_accept(struct cm_ep *ep, const struct cm_param *param);
int mpa_reject(struct cm_ep *ep, enum cm_reject reason, const void *data, uint16_t len);

/* What the stream of a responder tells; received() returns the bytes consumed. Any of them may free e. */
size_t mpa_passive_received(struct mpa_ep *e, const uint8_t *data, size_t len, uint64_t now);
void mpa_passive_closed(struct mpa_ep *e, int error);
/* A Reply that had to wait for room is out (error 0), or can never be. */
void mpa_passive_sent(struct mpa_ep *e, int error);
/* The timer has fired. */
void mpa_passive_expired(struct mpa_ep *e);
/* WAIT_TURN: its listener may have room now. */
void mpa_passive_turn(struct mpa_ep *e);
/* Sends the accepting Reply in e->out; the stream is e->qpn's behind it. 0 or -errno: nothing is left
 * of the stream. */
int mpa_passive_reply(struct mpa_ep *e);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The initiator. */
#ifndef CM_MPA_ACTIVE_H
#define CM_MPA_ACTIVE_H

#include "cm/mpa/ep.h"

/* cm_ops.connect. */
int mpa_connect(struct cm_ep *ep, const struct link_end *remote, const struct cm_param *param);

/* What the stream of an initiator tells; received() returns the bytes consumed. Any of them may free e. */
void mpa_active_connected(struct mpa_ep *e, uint64_t now);
size_t mpa_active_received(struct mpa_ep *e, const uint8_t *data, size_t len, uint64_t now);
void mpa_active_closed(struct mpa_ep *e, int error);
/* The Request is out (error 0), or can never be; in that case closed() says why. */
void mpa_active_sent(struct mpa_ep *e, int error);
/* WAIT_WAY: it is known whether the stream leaves the wire. */
void mpa_active_decided(struct mpa_ep *e);
/* The timer has fired. */
void mpa_active_expired(struct mpa_ep *e);

#endif

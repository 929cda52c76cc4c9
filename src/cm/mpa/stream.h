/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An endpoint as the user of its stream, and the way of the stream to its queue pair. */
#ifndef CM_MPA_STREAM_H
#define CM_MPA_STREAM_H

#include "cm/mpa/ep.h"

/* The endpoint becomes the user of s. */
void mpa_stream_take(struct mpa_ep *e, struct link_stream *s);
/* Sends what is left of e->out. 0 (see e->whole) or negative errno: the stream is lost. */
int mpa_stream_send(struct mpa_ep *e);
/* Copies the private data of e->out. 0 or -ENOMEM. */
int mpa_stream_keep(struct mpa_ep *e, const void *data, uint16_t len);
/* The terms are agreed: behind the Reply the stream may leave the wire. Returns true if that is asked
 * for; writable() follows when it is decided. */
bool mpa_stream_local(struct mpa_ep *e, bool active);
/* The queue pair of this number, if it can get a stream. 0 or -EINVAL. */
int mpa_qp_usable(struct eng_dev *dev, uint32_t qpn, struct eng_qp **ret);
/* The queue pair gets the stream. 0, or as proto_stream_ops.attach(): the stream stays here. */
int mpa_attach(struct mpa_ep *e, struct eng_qp *qp);
/* The protocol calls the endpoint no more. */
void mpa_detach(struct mpa_ep *e);

#endif

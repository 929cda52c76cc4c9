/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The second way in: an established socket of the application becomes the stream of a queue pair. */
#ifndef CM_MPA_ADOPT_H
#define CM_MPA_ADOPT_H

#include "cm/mpa/mpa.h"

struct mpa_ep;

enum mpa_adopt_role { MPA_ADOPT_INITIATOR, MPA_ADOPT_RESPONDER, MPA_ADOPT_NEGOTIATED };

/*
 * s becomes the stream of qp: at once with NEGOTIATED (params say what was agreed),
 * else after Request and Reply, whose wishes are in params (ird, ord, crc, markers)
 * and param (private data). done(arg, error, peer's private data) is called once,
 * inside for NEGOTIATED. The stream is consumed in any case. 0 or -EINVAL, -EISCONN, -ENOMEM.
 */
int mpa_adopt(struct cm_port *p, struct eng_qp *qp, struct link_stream *s,
	      enum mpa_adopt_role role, const struct proto_stream_params *params,
	      const struct cm_param *param,
	      void (*done)(void *arg, int error, const struct cm_param *peer), void *arg);

/* The Request of a stream that is adopted as responder has come; the answer is known beforehand. */
void mpa_adopt_request(struct mpa_ep *e);

#endif

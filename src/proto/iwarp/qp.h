/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs of the iWARP machine, and their timers. */
#ifndef PROTO_IWARP_QP_H
#define PROTO_IWARP_QP_H

#include "proto/iwarp/port.h"
#include "engine/dev.h"
#include "proto/stream.h"

extern const struct eng_proto_ops iwp_proto_ops;
extern const struct proto_stream_ops iwp_stream_ops;

/* --- timers --- */

/* Sets the timer to `delay` ns. Callers outside of iwp_transmit() know the time of the last event
 * only: the delay counts from the next round. */
void iwp_arm(struct iwp_qp *q, uint64_t delay);
/* To be called when the timer has fired. */
void iwp_timer(struct iwp_qp *q);
/* Three events: the stream begins; this end has sent something; the stream is to end after what is
 * queued. */
void iwp_timer_opened(struct iwp_qp *q);
void iwp_timer_sent(struct iwp_qp *q);
void iwp_timer_leaving(struct iwp_qp *q);

#endif

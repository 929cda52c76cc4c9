/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a stream does by the clock. */
#ifndef PROTO_IWARP_TIMER_H
#define PROTO_IWARP_TIMER_H

#include "proto/iwarp/port.h"

/* The timer fires after `delay`, in ns. Callers outside of iwp_transmit() know the time of the last event
 * only: the delay counts from the next round. */
void iwp_arm(struct iwp_qp *q, uint64_t delay);
/* The timer has fired. */
void iwp_timer(struct iwp_qp *q);
/* The stream begins; something was sent; it is to end after what is queued. */
void iwp_timer_opened(struct iwp_qp *q);
void iwp_timer_sent(struct iwp_qp *q);
void iwp_timer_leaving(struct iwp_qp *q);

#endif

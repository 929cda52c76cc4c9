/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The iWARP transport (RDMAP over DDP over MPA full operation) as a pure
 * machine: bytes of streams and the time go in, bytes, completions and the
 * next deadline come out. No socket, clock, thread or lock inside; the caller
 * holds the adapter's progress lock around every call. Negotiation (MPA
 * Request/Reply) is the connection manager's, see proto/stream.h.
 *
 * Rules: RFC 5040 (RDMAP), 5041 (DDP), 5044 (MPA), 6581, 7306.
 */
#ifndef PROTO_IWARP_IWP_H
#define PROTO_IWARP_IWP_H

#include "engine/dev.h"
#include "link/rules.h"
#include "link/stream.h"
#include "link/tap.h"

struct iwp_config {
	struct link_streams *streams;
	uint64_t seed;
	uint32_t mulpdu_max; /* cap on the ULPDU, 0 = 64768 */
};

/* Attaches a port to dev->proto_port; queue pairs can be made afterwards. Returns 0 or -ENOMEM. */
int iwp_port_init(struct eng_dev *dev, const struct iwp_config *cfg);
void iwp_port_fini(struct eng_dev *dev);

/* Sends what was just posted; batch: by TCP a round is to send it, since it may coalesce. Returns true if it is under way or leaves when the stream has room;
 * false: a round is due. */
bool iwp_fast_post(struct eng_qp *qp, bool batch);
/* Takes posted work, fires timers, sends what may be sent; bounded work per call.
 * Returns the FPDUs sent. */
int iwp_transmit(struct eng_dev *dev, uint64_t now);
/* Returns true if all that waits to be sent may coalesce: requests without an answer that are short, or fill no segment. batch:
 * the program posts many requests before it polls, and the next poll sends them. */
bool iwp_may_coalesce(struct eng_dev *dev, bool batch);
/* The same for requests posted to one queue pair, the first of it, too, since iwp_may_coalesce() returned true. */
bool iwp_coalesce_more(struct eng_qp *qp);
/* Returns true if work is left that needs no event from outside. */
bool iwp_busy(struct eng_dev *dev);
uint64_t iwp_deadline(struct eng_dev *dev);
/* FPDUs that arrive, and sends, have these faults from here on; NULL: none. The rules stay the caller's. */
void iwp_faults(struct eng_dev *dev, struct link_rules *rules);
/* Shows FPDUs to this observer from here on; NULL: to none. */
void iwp_observe(struct eng_dev *dev, struct link_tap *tap);

#endif

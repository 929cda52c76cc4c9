/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Modes and SinkAvail, without memory or verbs (IBTA volume 1, annex A4). The annex is not public; these rules are what the
 * complete implementation in OpenIB's generation 2 (2005, the kernel module ib_sdp) does.
 *
 * Each direction of a connection has a source, a sink and a mode, in which it begins Combined:
 *
 *   Buffered    Data alone
 *   Combined    Data, and one SrcAvail that has its first octets with it, but not all
 *   Pipelined   Data, SrcAvail without octets, SinkAvail; as many as the peer's MaxAdverts, both kinds and directions together
 *
 *   source: Combined -> Buffered | Pipelined, Pipelined -> Combined        sink: Buffered -> Combined
 *
 * The sink asks for Pipelined mode by REQ_PIPE in any header; the source changes when it likes.
 *
 * A SinkAvail ends in one of four ways: RdmaWrCompl, with the octets that were written, no matter how few; SinkCancelAck; a
 * message with octets, which discards the oldest one; or DisConn. It may cross with such a message. Both ends therefore count
 * messages with octets that discard nothing, the SinkAvail carries the sink's count, and the source drops one whose count is
 * not its own: the sink drops it when the message comes. A SinkAvail that crosses with SrcAvails wins: the sink drops them,
 * and the source takes them as not sent. SinkAvailCancel takes back all; it has an answer only if one was left.
 *
 * SrcAvails end in their order, each by RdmaRdCompl of all its octets; SendSm ends all of them: what the sink has not read goes by
 * Data.
 */
#ifndef ULP_SDP_ADVERT_H
#define ULP_SDP_ADVERT_H

#include "ulp/sdp/msg.h"

#define SDP_MAX_ADVERTS 8       /* ours in Hello and HelloAck */

enum sdp_mode { SDP_BUFFERED, SDP_COMBINED, SDP_PIPELINED };

/* Memory of the peer. */
struct sdp_target {
	uint64_t vaddr;
	uint32_t rkey, len;
};

/* The direction whose source is this end. */
struct sdp_out {
	enum sdp_mode mode;
	uint32_t kept;          /* messages with octets that discarded no SinkAvail */
	uint32_t nr;            /* the peer's SinkAvails that have not ended */
	struct sdp_target targets[SDP_MAX_ADVERTS];
	bool pipe_wanted;       /* the peer asks for Pipelined mode */
};

/* The direction whose sink is this end. At most one SinkAvail is outstanding. */
struct sdp_in {
	enum sdp_mode mode;
	uint32_t kept;
	uint32_t len;           /* of our SinkAvail; 0: none */
	bool cancelled;         /* SinkAvailCancel has been sent */
};

/* Both begin in Combined mode. */
void sdp_out_begin(struct sdp_out *o);
void sdp_in_begin(struct sdp_in *i);

/* --- modes --- */

/* ModeChange that this end sends as a source; the change must be permitted. Returns the four bits of the message. */
uint32_t sdp_out_change(struct sdp_out *o, enum sdp_mode to);
/* ModeChange has come, for either direction; src_avails are the peer's that have not ended. */
enum sdp_verdict sdp_mode_arrived(struct sdp_out *o, struct sdp_in *i, uint32_t bits, unsigned src_avails);

/* --- this end is the source --- */

/*
 * SinkAvail has come. others: the peer's SrcAvails that have not ended; least: octets of the longest Data that this end sends,
 * all of which a SinkAvail has to take. *ret_stale: a message with octets that is under way discards it.
 */
enum sdp_verdict sdp_out_sink_avail(struct sdp_out *o, const struct sdp_msg *m, unsigned others, uint32_t least, bool *ret_stale);
/* A message with octets leaves. */
void sdp_out_data(struct sdp_out *o);
/* Ends the oldest SinkAvail, which must be there: RdmaWrCompl leaves. */
void sdp_out_written(struct sdp_out *o);
/* SinkAvailCancel has come. Returns true if it is to be answered by SinkCancelAck. */
bool sdp_out_cancel(struct sdp_out *o);

/* --- this end is the sink --- */

/* True if a SinkAvail of so many octets may leave; others: SrcAvails of this end, max: the peer's MaxAdverts. */
bool sdp_in_may_advertise(const struct sdp_in *i, uint32_t len, uint32_t least, unsigned others, unsigned max);
/* SinkAvail leaves; its count is i->kept. */
void sdp_in_advertise(struct sdp_in *i, uint32_t len);
/* SinkAvailCancel leaves, for a SinkAvail that is outstanding. */
void sdp_in_cancel(struct sdp_in *i);
/* A message with octets has come. Returns true if it discards the SinkAvail. */
bool sdp_in_data(struct sdp_in *i);
/*
 * SrcAvail has come. src_avails, sink_avails: those of the peer that have not ended. *ret_crossed: it is void. The octets with it
 * are for sdp_in_data().
 */
enum sdp_verdict sdp_in_src_avail(const struct sdp_in *i, const struct sdp_msg *m, unsigned src_avails, unsigned sink_avails,
				  bool *ret_crossed);
/* RdmaWrCompl, or SinkCancelAck, has come. */
enum sdp_verdict sdp_in_written(struct sdp_in *i, uint32_t len);
enum sdp_verdict sdp_in_cancel_acked(struct sdp_in *i);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/advert.h"

#include <string.h>

#define BY_SINK 8u              /* of the four bits of ModeChange: the half of its receiver that sends */

void sdp_out_begin(struct sdp_out *o)
{
	*o = (struct sdp_out){ .mode = SDP_COMBINED };
}

void sdp_in_begin(struct sdp_in *i)
{
	*i = (struct sdp_in){ .mode = SDP_COMBINED };
}

/* --- modes --- */

uint32_t sdp_out_change(struct sdp_out *o, enum sdp_mode to)
{
	o->mode = to;
	return (uint32_t)to;
}

static bool source_may_change(enum sdp_mode from, uint32_t to)
{
	return from == SDP_COMBINED ? to == SDP_BUFFERED || to == SDP_PIPELINED : from == SDP_PIPELINED && to == SDP_COMBINED;
}

static void end(struct sdp_in *i)
{
	i->len = 0;
	i->cancelled = false;
}

enum sdp_verdict sdp_mode_arrived(struct sdp_out *o, struct sdp_in *i, uint32_t bits, unsigned src_avails)
{
	if (bits & BY_SINK) {
		if (o->mode != SDP_BUFFERED || bits != (BY_SINK | SDP_COMBINED))
			return SDP_BAD_MODE;
		o->mode = SDP_COMBINED;
		return SDP_GOOD;
	}
	/* The new mode has to permit the SrcAvails that are outstanding. */
	if (!source_may_change(i->mode, bits) || src_avails > (bits == SDP_BUFFERED ? 0 : bits == SDP_COMBINED ? 1 : SDP_MAX_ADVERTS))
		return SDP_BAD_MODE;
	i->mode = (enum sdp_mode)bits;
	/* A source that leaves Pipelined mode holds no SinkAvail; one that is under way is lost. */
	if (i->mode == SDP_COMBINED)
		end(i);
	return SDP_GOOD;
}

/* --- this end is the source --- */

static void drop_oldest(struct sdp_out *o)
{
	o->nr--;
	memmove(o->targets, o->targets + 1, o->nr * sizeof(o->targets[0]));
}

enum sdp_verdict sdp_out_sink_avail(struct sdp_out *o, const struct sdp_msg *m, unsigned others, uint32_t least, bool *ret_stale)
{
	*ret_stale = false;
	if (o->mode != SDP_PIPELINED)
		return SDP_ADVERT_MODE;
	if (m->length < least)
		return SDP_SHORT_SINK;
	if (o->nr + others >= SDP_MAX_ADVERTS)
		return SDP_MANY_ADVERTS;
	if (m->kept != o->kept) {
		*ret_stale = true;
		o->kept--;
		return SDP_GOOD;
	}
	o->targets[o->nr++] = (struct sdp_target){ .vaddr = m->vaddr, .rkey = m->rkey, .len = m->length };
	return SDP_GOOD;
}

void sdp_out_data(struct sdp_out *o)
{
	if (o->nr)
		drop_oldest(o);
	else
		o->kept++;
}

void sdp_out_written(struct sdp_out *o)
{
	drop_oldest(o);
}

bool sdp_out_cancel(struct sdp_out *o)
{
	bool any = o->nr != 0;

	o->nr = 0;
	return any;
}

/* --- this end is the sink --- */

bool sdp_in_may_advertise(const struct sdp_in *i, uint32_t len, uint32_t least, unsigned others, unsigned max)
{
	return i->mode == SDP_PIPELINED && !i->len && !i->cancelled && len >= least && len && others < max;
}

void sdp_in_advertise(struct sdp_in *i, uint32_t len)
{
	i->len = len;
}

void sdp_in_cancel(struct sdp_in *i)
{
	i->cancelled = true;
}

bool sdp_in_data(struct sdp_in *i)
{
	if (!i->len) {
		i->kept++;
		return false;
	}
	end(i);
	return true;
}

enum sdp_verdict sdp_in_src_avail(const struct sdp_in *i, const struct sdp_msg *m, unsigned src_avails, unsigned sink_avails,
				  bool *ret_crossed)
{
	*ret_crossed = false;
	switch (i->mode) {
	case SDP_COMBINED:
		return src_avails ? SDP_TWO_ADVERTS : SDP_GOOD;
	case SDP_PIPELINED:
		if (m->payload_len)
			return SDP_ADVERT_MODE;
		*ret_crossed = i->len != 0;
		return !*ret_crossed && src_avails + sink_avails >= SDP_MAX_ADVERTS ? SDP_MANY_ADVERTS : SDP_GOOD;
	default:
		return SDP_ADVERT_MODE;
	}
}

enum sdp_verdict sdp_in_written(struct sdp_in *i, uint32_t len)
{
	if (!i->len)
		return SDP_NO_ADVERT;
	if (len > i->len)
		return SDP_LONG_COMPL;
	end(i);
	return SDP_GOOD;
}

enum sdp_verdict sdp_in_cancel_acked(struct sdp_in *i)
{
	if (!i->len || !i->cancelled)
		return SDP_NO_ADVERT;
	end(i);
	return SDP_GOOD;
}

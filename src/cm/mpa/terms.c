/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/mpa/terms.h"

#include <errno.h>
#include <string.h>

#define ANY WIRE_MPA_DEPTH_ANY
#define RTR(kind) (1u << PROTO_RTR_##kind)
/* A Send as RTR uses up a receive of the other end, and nobody says whether it shows: never offered. */
#define RTR_OFFERED (RTR(WRITE) | RTR(READ))

static uint16_t least(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
}

static uint16_t most(uint16_t a, uint16_t b)
{
	return a > b ? a : b;
}

void mpa_terms_request(const struct mpa_wish *w, struct mpa_frame *req)
{
	*req = (struct mpa_frame){ .kind = MPA_REQUEST, .rev = w->rev, .markers = w->markers,
				   .crc = w->crc, .enhanced = w->rev >= 2 };
	if (!req->enhanced)
		return;
	req->rtr = w->rtr & RTR_OFFERED;
	req->peer_to_peer = req->rtr != 0;
	req->ird = w->ird;
	/* The Read that says "ready" needs a place too. */
	req->ord = req->rtr & RTR(READ) ? most(w->ord, 1) : w->ord;
}

/* One of what the peer can send; it must get an answer even when it offers nothing we take. */
static enum proto_rtr pick(uint8_t offered)
{
	if (offered & RTR(WRITE) || !(offered & RTR(READ)))
		return PROTO_RTR_WRITE;
	return PROTO_RTR_READ;
}

static void answer_depth(const struct mpa_wish *w, const struct mpa_frame *req,
			 struct mpa_frame *rep, struct proto_stream_params *ret)
{
	if (req->ird == ANY)
		rep->ord = ANY;
	else
		rep->ord = ret->ord = least(w->ord, req->ird);
	/* "at least the Initiator's ORD" as far as there are places, whatever was asked for. */
	if (req->ord != ANY)
		ret->ird = least(most(w->ird, req->ord), w->rd_max);
	if (ret->rtr == PROTO_RTR_READ)
		ret->ird = most(ret->ird, 1);
	rep->ird = req->ord == ANY ? ANY : ret->ird;
}

void mpa_terms_accept(const struct mpa_wish *w, const struct mpa_frame *req, struct mpa_frame *rep,
		      struct proto_stream_params *ret)
{
	*rep = (struct mpa_frame){ .kind = MPA_REPLY, .rev = req->rev, .markers = w->markers,
				   .crc = w->crc || req->crc, .enhanced = req->enhanced };
	*ret = (struct proto_stream_params){ .crc = rep->crc, .markers_tx = req->markers,
					     .markers_rx = w->markers, .ird = w->ird,
					     .ord = w->ord, .hold_first = true };
	if (!req->enhanced)
		return;
	if (req->peer_to_peer) {
		ret->rtr = pick(req->rtr);
		ret->hold_first = false;
		rep->peer_to_peer = true;
		rep->rtr = (uint8_t)(1u << ret->rtr);
	}
	answer_depth(w, req, rep, ret);
}

void mpa_terms_reject(const struct mpa_wish *w, const struct mpa_frame *req, struct mpa_frame *rep)
{
	struct proto_stream_params unused;

	mpa_terms_accept(w, req, rep, &unused);
	rep->reject = true;
}

static int agree_depth(const struct mpa_wish *w, const struct mpa_frame *rep,
		       struct proto_stream_params *ret)
{
	/* Serving more than was said is allowed to us, issuing more than the peer serves is not. */
	if (rep->ord != ANY) {
		if (rep->ord > w->rd_max)
			return MPA_CODE_IRD;
		ret->ird = most(w->ird, rep->ord);
	}
	if (rep->ird != ANY)
		ret->ord = least(w->ord, rep->ird);
	if (ret->rtr != PROTO_RTR_READ)
		return 0;
	if (rep->ird == 0)
		return MPA_CODE_IRD;
	ret->ord = most(ret->ord, 1);
	return 0;
}

static int agree_rtr(const struct mpa_wish *w, const struct mpa_frame *rep,
		     struct proto_stream_params *ret)
{
	unsigned common = w->rtr & RTR_OFFERED & rep->rtr;

	/* A responder that does not take part waits for nothing either. */
	if (!(w->rtr & RTR_OFFERED) || !rep->peer_to_peer)
		return 0;
	if (!common)
		return MPA_CODE_RTR;
	ret->rtr = common & RTR(WRITE) ? PROTO_RTR_WRITE : PROTO_RTR_READ;
	return 0;
}

int mpa_terms_agree(const struct mpa_wish *w, const struct mpa_frame *rep,
		    struct proto_stream_params *ret)
{
	int r;

	*ret = (struct proto_stream_params){ .initiator = true, .crc = w->crc || rep->crc,
					     .markers_tx = rep->markers, .markers_rx = w->markers,
					     .ird = w->ird, .ord = w->ord };
	if (rep->rev != w->rev || rep->enhanced != (w->rev >= 2))
		return -EPROTO;
	if (!rep->enhanced)
		return 0;
	r = agree_rtr(w, rep, ret);
	return r ? r : agree_depth(w, rep, ret);
}

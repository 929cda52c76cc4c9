/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/mpa/frame.h"

#include <errno.h>
#include <string.h>

#define RTR(kind) (1u << PROTO_RTR_##kind)
/* A Send as RTR uses up a receive of the other end, and no rule says whether it shows: never offered. */
#define RTR_OFFERED (RTR(WRITE) | RTR(READ))
#define ANY WIRE_MPA_DEPTH_ANY

static const uint8_t *key_of(enum mpa_kind kind)
{
	return kind == MPA_REQUEST ? wire_mpa_request_key : wire_mpa_reply_key;
}

static void parse_enhanced(const uint8_t *e, struct mpa_frame *f)
{
	f->peer_to_peer = wire_get_MPAEnhanced_peer_to_peer(e);
	if (f->peer_to_peer) /* without it the kinds mean nothing (RFC 6581 9.2) */
		f->rtr = (uint8_t)((wire_get_MPAEnhanced_rtr_send(e) ? RTR(SEND) : 0) |
				   (wire_get_MPAEnhanced_rtr_write(e) ? RTR(WRITE) : 0) |
				   (wire_get_MPAEnhanced_rtr_read(e) ? RTR(READ) : 0));
	f->ird = (uint16_t)wire_get_MPAEnhanced_ird(e);
	f->ord = (uint16_t)wire_get_MPAEnhanced_ord(e);
}

/* Splits the PD_Length bytes behind the fixed part. */
static int parse_private(const uint8_t *pd, unsigned length, struct mpa_frame *f)
{
	f->data = pd;
	f->len = (uint16_t)length;
	if (!f->enhanced)
		return 0;
	if (length < WIRE_MPAEnhanced_LEN)
		return f->kind == MPA_REPLY && f->reject ? 0 : -EPROTO;
	parse_enhanced(pd, f);
	f->data += WIRE_MPAEnhanced_LEN;
	f->len -= WIRE_MPAEnhanced_LEN;
	return 0;
}

int mpa_frame_parse(enum mpa_kind kind, const uint8_t *data, size_t len, struct mpa_frame *ret)
{
	struct mpa_frame f = { .kind = kind };
	size_t of_key = len < WIRE_MPA_KEY_LEN ? len : WIRE_MPA_KEY_LEN;
	unsigned length;

	if (memcmp(data, key_of(kind), of_key))
		return -EPROTO;
	if (len < WIRE_MPA_LEN)
		return 0;
	length = (unsigned)wire_get_MPA_pd_length(data);
	f.rev = (uint8_t)wire_get_MPA_rev(data);
	/* Revision 0 is the RDMA Consortium's, with other DDP and RDMAP versions behind it. */
	if (length > WIRE_MPA_PD_MAX || f.rev < 1 || f.rev > 2)
		return -EPROTO;
	f.markers = wire_get_MPA_markers(data);
	f.crc = wire_get_MPA_crc(data);
	f.reject = kind == MPA_REPLY && wire_get_MPA_reject(data);
	f.enhanced = f.rev >= 2 && wire_get_MPA_enhanced(data);
	if (len - WIRE_MPA_LEN < length)
		return f.enhanced && length < WIRE_MPAEnhanced_LEN && !f.reject ? -EPROTO : 0;
	if (parse_private(data + WIRE_MPA_LEN, length, &f) < 0)
		return -EPROTO;
	*ret = f;
	return (int)(WIRE_MPA_LEN + length);
}

static void build_enhanced(const struct mpa_frame *f, uint8_t *e)
{
	memset(e, 0, WIRE_MPAEnhanced_LEN);
	wire_set_MPAEnhanced_peer_to_peer(e, f->peer_to_peer);
	wire_set_MPAEnhanced_rtr_send(e, !!(f->rtr & RTR(SEND)));
	wire_set_MPAEnhanced_rtr_write(e, !!(f->rtr & RTR(WRITE)));
	wire_set_MPAEnhanced_rtr_read(e, !!(f->rtr & RTR(READ)));
	wire_set_MPAEnhanced_ird(e, f->ird);
	wire_set_MPAEnhanced_ord(e, f->ord);
}

size_t mpa_frame_build(const struct mpa_frame *f, uint8_t out[WIRE_MPA_FRAME_MAX])
{
	size_t head = f->enhanced ? WIRE_MPAEnhanced_LEN : 0;

	memset(out, 0, WIRE_MPA_LEN);
	wire_set_MPA_key(out, key_of(f->kind));
	wire_set_MPA_markers(out, f->markers);
	wire_set_MPA_crc(out, f->crc);
	wire_set_MPA_reject(out, f->reject);
	wire_set_MPA_enhanced(out, f->enhanced);
	wire_set_MPA_rev(out, f->rev);
	wire_set_MPA_pd_length(out, head + f->len);
	if (f->enhanced)
		build_enhanced(f, out + WIRE_MPA_LEN);
	if (f->len)
		memcpy(out + WIRE_MPA_LEN + head, f->data, f->len);
	return WIRE_MPA_LEN + head + f->len;
}

/* --- terms --- */

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
					     .ord = w->ord, .await_first = true };
	if (!req->enhanced)
		return;
	if (req->peer_to_peer) {
		ret->rtr = pick(req->rtr);
		ret->await_first = false;
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

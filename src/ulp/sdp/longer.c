/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/longer.h"

#include "ulp/sdp/state.h"

#define FILLED 32               /* messages in a row before a source asks */

static uint8_t *place(const struct sdp_stage *s, uint32_t i, uint32_t size)
{
	return s->at + i * ((size_t)size + SDP_APART);
}

static bool is_long(const struct sdp_longer *l, uint32_t i)
{
	return l->is_long[i / 8] >> i % 8 & 1;
}

uint8_t *sdp_receive_at(const struct sdp_conn *c, uint32_t i, uint32_t *ret_len, uint32_t *ret_lkey)
{
	const struct sdp_longer *l = &c->longer;

	*ret_len = is_long(l, i) ? l->size : c->conf.receive_size;
	*ret_lkey = is_long(l, i) ? l->receives.mr->lkey : c->rdma.mr->lkey;
	return is_long(l, i) ? place(&l->receives, i, l->size) : sdp_message(c, i);
}

uint8_t *sdp_send_at(const struct sdp_conn *c, uint32_t i, uint32_t *ret_lkey)
{
	const struct sdp_longer *l = &c->longer;

	*ret_lkey = l->send_size ? l->sends.mr->lkey : c->rdma.mr->lkey;
	return l->send_size ? place(&l->sends, i, l->send_size) : sdp_message(c, c->conf.depth + i);
}

uint32_t sdp_receive_size(const struct sdp_conn *c)
{
	return c->longer.size && !c->longer.left ? c->longer.size : c->conf.receive_size;
}

uint32_t sdp_send_size(const struct sdp_conn *c)
{
	return c->longer.send_size ? c->longer.send_size : c->conf.receive_size;
}

void sdp_longer_begin(struct sdp_longer *l)
{
	l->owes = l->answered = false;
	l->asked = l->filled = 0;
}

static bool open_memory(struct sdp_conn *c, struct sdp_stage *s, uint32_t size, int access)
{
	return !sdp_stage_open(s, c->rdma.pd, c->conf.depth * ((size_t)size + SDP_APART), access, false);
}

/* --- sink --- */

int sdp_longer_asked(struct sdp_conn *c, uint32_t size)
{
	struct sdp_longer *l = &c->longer;

	if (l->owes)
		return sdp_fail_rule(c, SDP_TWO_RESIZES);
	l->owes = l->left != 0;
	if (l->owes)
		return 0;
	if (size > c->conf.receive_max)
		size = c->conf.receive_max;
	if (l->size || size <= c->conf.receive_size || !open_memory(c, &l->receives, size, IBV_ACCESS_LOCAL_WRITE))
		return sdp_owe(c, WIRE_SDP_CH_RCV_BUF_ACK, sdp_receive_size(c));
	l->size = size;
	l->left = c->conf.depth;
	l->owes = true;
	return 0;
}

int sdp_longer_post(struct sdp_conn *c, uint32_t i)
{
	struct sdp_longer *l = &c->longer;

	if (!l->size || is_long(l, i))
		return 0;
	l->is_long[i / 8] |= (uint8_t)(1u << i % 8);
	if (--l->left || !l->owes)
		return 0;
	l->owes = false;
	return sdp_owe(c, WIRE_SDP_CH_RCV_BUF_ACK, l->size);
}

/* --- source --- */

void sdp_longer_sent(struct sdp_conn *c, uint32_t payload)
{
	c->longer.filled = payload + WIRE_SDP_BSDH_LEN == c->send_max ? c->longer.filled + 1 : 0;
}

/* As many octets as a filled message has would be advertised. */
static bool are_advertised(const struct sdp_conn *c)
{
	return c->conf.advertise && c->conf.advertise <= c->send_max && c->out.mode != SDP_BUFFERED;
}

int sdp_longer_progress(struct sdp_conn *c)
{
	struct sdp_longer *l = &c->longer;
	struct sdp_msg m = { .mid = WIRE_SDP_CH_RCV_BUF, .number = c->conf.receive_max };

	if (l->asked || l->filled < FILLED || c->conf.receive_max <= c->send_max || are_advertised(c) || c->out_end == SDP_OUT_END_SENT ||
	    !sdp_may_post(c, SDP_FOR_CONTROL))
		return 0;
	l->asked = m.number;
	return sdp_post(c, &m);
}

/* Without memory for longer messages those of the size before are sent on. */
int sdp_longer_answered(struct sdp_conn *c, uint32_t size)
{
	struct sdp_longer *l = &c->longer;

	if (!l->asked || l->answered)
		return sdp_fail_rule(c, SDP_NO_RESIZE);
	l->answered = true;
	if (size > l->asked)
		size = l->asked;
	/* Behind a move there are long ones already. */
	if (size <= c->send_max || (!l->send_size && !open_memory(c, &l->sends, size, 0)))
		return 0;
	l->send_size = l->send_size ? l->send_size : size;
	c->send_max = c->counts.longer = size < l->send_size ? size : l->send_size;
	return 0;
}

void sdp_longer_close(struct sdp_longer *l)
{
	sdp_stage_close(&l->receives);
	sdp_stage_close(&l->sends);
}

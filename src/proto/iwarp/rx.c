/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Incoming FPDUs. The CRC is checked before any field but the length is used, in the strict order of RFC 5044
 * section 6: all octets of the FPDU have been read into the receive stage by then. */
#include "proto/iwarp/rx.h"

#include "proto/iwarp/end.h"
#include "proto/iwarp/faults.h"
#include "proto/iwarp/place.h"
#include "proto/iwarp/read.h"
#include "proto/iwarp/send.h"
#include "util/probe.h"

#include <string.h>

static enum eng_verdict check_header(struct iwp_rx *rx, uint32_t ulpdu)
{
	bool tagged = wire_get_DDPTagged_tagged(rx->h);
	uint32_t head = tagged ? WIRE_DDPTagged_LEN : WIRE_DDPUntagged_LEN;

	if (ulpdu + 2 < head)
		return ENG_V_RX_FPDU;
	rx->data = rx->h + head;
	rx->off += head;
	rx->shared = rx->shared ? rx->shared + head : NULL;
	rx->len = ulpdu + 2 - head;
	rx->last = wire_get_DDPTagged_last(rx->h);
	rx->opcode = (uint8_t)wire_get_DDPTagged_opcode(rx->h);
	rx->shape = wire_iwarp_shape(rx->opcode);
	if (wire_get_DDPTagged_dv(rx->h) != 1)
		return tagged ? ENG_V_RX_TAGGED_DV : ENG_V_RX_UNTAGGED_DV;
	if (!tagged && wire_get_DDPUntagged_qn(rx->h) > 3)
		return ENG_V_RX_QN;
	if (wire_get_DDPTagged_rv(rx->h) != 1)
		return ENG_V_RX_RDMAP_VERSION;
	if (!rx->shape->name || tagged != !!(rx->shape->flags & WIRE_IWF_TAGGED))
		return ENG_V_RX_OPCODE;
	if (!tagged && wire_get_DDPUntagged_qn(rx->h) != rx->shape->qn)
		return ENG_V_RX_QN;
	if (rx->shape->len != WIRE_IW_VARIES && rx->len != rx->shape->len)
		return rx->len > rx->shape->len ? ENG_V_RX_MSG_LONG : ENG_V_RX_MSG_SHORT;
	if (rx->shape->len != WIRE_IW_VARIES && !rx->last)
		return ENG_V_RX_MSG_LONG;
	return ENG_OK;
}

static enum eng_verdict execute(struct iwp_qp *q, const struct iwp_rx *rx)
{
	switch (rx->opcode) {
	case WIRE_IW_RDMA_WRITE:
		return iwp_take_write(q, rx);
	case WIRE_IW_READ_REQUEST:
		return iwp_take_request(q, rx);
	case WIRE_IW_READ_RESPONSE:
		return iwp_take_response(q, rx);
	case WIRE_IW_ATOMIC_REQUEST:
		return iwp_take_atomic(q, rx);
	case WIRE_IW_ATOMIC_RESPONSE:
		return iwp_take_atomic_response(q, rx);
	case WIRE_IW_TERMINATE:
		iwp_terminated(q, rx);
		return ENG_OK;
	default:
		return iwp_take_send(q, rx);
	}
}

/* The first FPDU of the peer: messages that waited for it may leave. */
static void first_fpdu(struct iwp_qp *q)
{
	q->heard = true;
	q->awaits_first = false;
	iwp_activate(q);
	if (!q->par.initiator && q->owner)
		q->owner->ready(q->owner_arg, q->port->now);
}

/* To an observer. Of long FPDUs in shared memory the peer's bytes are shown, not a copy. */
static __attribute__((noinline)) void show(struct iwp_qp *q, const struct iwp_rx *rx)
{
	uint32_t n = 2 + (uint32_t)wire_get_DDPTagged_ulpdu_len(rx->h);

	q->port->tap->fpdu(q->port->tap, q->s, false, q->qp->qpn, rx->shared ? rx->shared : rx->h, n, n);
}

static enum eng_verdict take(struct iwp_qp *q, struct iwp_rx *rx, uint32_t total)
{
	uint8_t *p = (uint8_t *)(uintptr_t)rx->h;
	uint32_t crc;
	enum eng_verdict v;

	eng_dev_held(q->port->dev);
	q->port->dev->counters[ENG_C_rx_pkts]++;
	q->port->dev->counters[ENG_C_rx_bytes] += total;
	if (iwp_sums(q)) {
		crc = wire_get_icrc(p + total - WIRE_MPA_CRC_LEN);
		if (wire_mpa_crc(p, total - WIRE_MPA_CRC_LEN) != crc)
			return ENG_V_RX_CRC;
	}
	if (q->par.markers_rx && !wire_fpdu_strip(q->rx_pos, &p, total))
		return ENG_V_RX_MARKER;
	rx->off += (size_t)(p - rx->h);
	rx->h = p;
	if (q->port->tap)
		show(q, rx);
	v = check_header(rx, (uint32_t)wire_get_DDPTagged_ulpdu_len(p));
	if (v)
		return v;
	UT_PROBE3(receive, q->qp->qpn, rx->opcode, rx->len);
	rx->first = !q->heard;
	if (rx->first)
		first_fpdu(q);
	if (q->port->rules && (v = iwp_fault_request(q, rx)))
		return v;
	return iwp_alive(q) ? execute(q, rx) : ENG_OK;
}

/* Returns the octets of the FPDU that begins here, 0 if its length has not arrived yet, or
 * -verdict. */
static int fpdu_size(const struct iwp_qp *q, const uint8_t *p, size_t len)
{
	uint32_t lead = q->par.markers_rx && q->rx_pos % WIRE_MARKER_INTERVAL == 0
				? WIRE_Marker_LEN : 0;
	uint32_t ulpdu;

	if (len < lead + 4)
		return 0;
	ulpdu = (uint32_t)wire_get_DDPTagged_ulpdu_len(p + lead);
	if (ulpdu < WIRE_DDPTagged_LEN - 2 || ulpdu > WIRE_MULPDU_MAX)
		return -ENG_V_RX_FPDU;
	return (int)wire_fpdu_len(q->rx_pos, ulpdu, q->par.markers_rx);
}

#define SHORT_ONES 8 /* so many short FPDUs, and no long ones are expected any more */

/* Long FPDUs come in a row, all as long as the first but for the last of each message: the link
 * hands over one at a time and places its payload. A wrong guess costs one copy. */
static void expect(struct iwp_qp *q, uint32_t n)
{
	if (n > IWP_TAKE && !q->par.markers_rx) {
		q->s->want = n;
		q->short_ones = 0;
	} else if (q->s->want && ++q->short_ones == SHORT_ONES) {
		q->s->want = 0;
	}
}

static void complain(struct iwp_qp *q, enum eng_verdict v, const struct iwp_rx *rx)
{
	bool headers = rx->shape != NULL;

	iwp_fail(q, v, headers ? rx : NULL,
		 headers && rx->opcode == WIRE_IW_READ_REQUEST &&
		 rx->len == WIRE_ReadRequest_LEN ? rx->data : NULL);
}

/* Executes one whole FPDU. */
static void take_one(struct iwp_qp *q, struct iwp_rx *rx, uint32_t n)
{
	enum eng_verdict v = take(q, rx, n);

	q->rx_pos += n;
	/* Its completion may have overrun the queue. */
	if (!v && iwp_alive(q) && eng_qp_state(q->qp) == IBV_QPS_ERR)
		v = ENG_V_RX_CQ_FULL;
	if (v)
		complain(q, v, rx);
}

/* Completes the Reads that were answered. Returns the octets consumed: all if the stream has ended meanwhile. */
static size_t end_of_call(struct iwp_qp *q, size_t done, size_t len)
{
	if (!iwp_alive(q))
		return len;
	iwp_sq_complete(q); /* Reads that were answered */
	return iwp_alive(q) ? done : len;
}

size_t iwp_received(struct link_stream *s, const uint8_t *data, size_t off, size_t len,
		    uint64_t now)
{
	struct iwp_qp *q = s->user;
	size_t done = 0;

	q->port->now = now;
	while (iwp_alive(q) && done < len) {
		struct iwp_rx rx = { .h = data + done, .stage = s->place->rx_stage,
				     .off = off + done };
		int n = fpdu_size(q, data + done, len - done);

		if (n < 0) {
			iwp_fail(q, (enum eng_verdict)-n, NULL, NULL);
			break;
		}
		if (n)
			expect(q, (uint32_t)n);
		if (n == 0 || (size_t)n > len - done)
			return done;
		take_one(q, &rx, (uint32_t)n);
		done += (size_t)n;
	}
	return end_of_call(q, done, len);
}

/* --- from memory that the peer process may still write --- */

/* The payload is placed without being looked at. */
static bool is_payload(const uint8_t *h)
{
	return wire_iwarp_shape(wire_get_DDPTagged_opcode(h))->flags & WIRE_IWF_PAYLOAD;
}

/* Returns the size of the FPDU at `data`, after copying every field that decides anything; else as
 * fpdu_size(). */
static int copy_in(struct iwp_qp *q, const uint8_t *data, size_t len, struct iwp_rx *rx)
{
	struct ut_stage *st = &q->port->stage;
	uint8_t *own = st->base + IWP_COPY;
	size_t head = len < IWP_HEAD ? len : IWP_HEAD;
	int n;

	memcpy(own, data, head);
	n = fpdu_size(q, own, len);
	if (n <= 0 || (size_t)n > len)
		return n;
	*rx = (struct iwp_rx){ .h = own, .stage = st, .off = IWP_COPY };
	if ((uint32_t)n > IWP_SMALL && is_payload(own))
		rx->shared = data;
	else if ((size_t)n > head)
		memcpy(own + head, data + head, (size_t)n - head);
	return n;
}

size_t iwp_received_shm(struct link_stream *s, const uint8_t *data, size_t len, uint64_t now)
{
	struct iwp_qp *q = s->user;
	size_t done = 0;

	q->port->now = now;
	q->port->stage.pages_checked_at = s->place->rx_stage->pages_checked_at;
	while (iwp_alive(q) && done < len) {
		struct iwp_rx rx = { 0 };
		int n = copy_in(q, data + done, len - done, &rx);

		if (n < 0) {
			iwp_fail(q, (enum eng_verdict)-n, NULL, NULL);
			break;
		}
		if (n == 0 || (size_t)n > len - done)
			break;
		take_one(q, &rx, (uint32_t)n);
		done += (size_t)n;
	}
	return end_of_call(q, done, len);
}

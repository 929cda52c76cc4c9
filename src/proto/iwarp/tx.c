/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Outgoing FPDUs (RFC 5044 section 4). Without markers an FPDU is built in the chunk that is sent;
 * with them it is built beside and copied piece by piece, since a marker may fall on any multiple
 * of four octets, even between pad and CRC.
 */
#include "proto/iwarp/tx.h"

#include "proto/iwarp/end.h"
#include "util/alloc.h"
#include "util/crc.h"
#include "util/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MSS_LOOK 64    /* chunks between two looks at the segment size */
#define LOCAL_CHUNK (126u << 10)
#define ALIGN_LEAST (16u << 10)
#define CUT_LEAST 1024 /* octets of payload: less is not worth an FPDU that fills a chunk */
#define SUM_LEAST 4096 /* octets of payload from which on copy and CRC are one pass */

static void look_at_mss(struct iwp_qp *q)
{
	uint32_t most = q->port->cfg.mulpdu_max;

	q->mulpdu = wire_mulpdu(q->port->ops->mss(q->s), q->par.markers_tx);
	if (q->mulpdu > most)
		q->mulpdu = most;
}

/*
 * Where a segment carries much (loopback: half of the peer's first window at the start, 64 KiB later), a chunk is some FPDUs of
 * the greatest length, so that it is full segments but for the last. In shared memory it is one and what follows: the peer
 * takes them while the next are made.
 */
static size_t chunk_of(const struct iwp_qp *q)
{
	size_t fpdu = wire_fpdu_len(0, q->mulpdu, false);

	if (q->mulpdu < IWP_LONG_ULPDU)
		return IWP_CHUNK;
	return q->s->shm ? LOCAL_CHUNK : IWP_CHUNK / fpdu * fpdu;
}

/*
 * An FPDU of the greatest length fills a segment (RFC 5044 5.1: each segment SHOULD begin with an FPDU). The last
 * one of a message is shorter, and would shift all that follow; so where a message is long, the chunk ends with it,
 * and the segment, too. Many short messages in one segment are left as they are: a send each would cost more.
 */
static void align(struct iwp_qp *q, size_t fpdu)
{
	struct iwp_port *p = q->port;

	if (fpdu == q->mulpdu + 2 + WIRE_MPA_CRC_LEN) {
		q->full += (uint32_t)fpdu;
		return;
	}
	if (q->full >= ALIGN_LEAST && q->mulpdu < IWP_LONG_ULPDU && !q->par.markers_tx)
		p->limit = p->fill;
	q->full = 0;
}

bool iwp_tx_open(struct iwp_qp *q)
{
	struct iwp_port *p = q->port;
	size_t room;

	if (!q->s || q->blocked || q->rest_len)
		return false;
	room = p->ops->room(q->s);
	if (!room) {
		q->blocked = true;
		return false;
	}
	if (q->chunks++ % MSS_LOOK == 0)
		look_at_mss(q);
	p->tx = q;
	p->fill = 0;
	p->limit = chunk_of(q);
	if (p->limit > room)
		p->limit = room;
	p->out = p->ops->reserve(q->s, p->limit > IWP_FPDU_ROOM ? p->limit : IWP_FPDU_ROOM);
	if (!p->out)
		p->out = p->stage.base;
	return true;
}

bool iwp_tx_fits(const struct iwp_qp *q, uint32_t ulpdu)
{
	const struct iwp_port *p = q->port;
	uint32_t n = wire_fpdu_len(q->tx_pos, ulpdu, q->par.markers_tx);

	/* The rest of a segment that is too short for an FPDU is left empty, so that no FPDU is
	 * cut. */
	return p->fill == 0 || p->fill + n <= p->limit;
}

/* A segment costs the kernel as much as a copy of 32 KiB, so where more of a message waits, the last FPDU of a chunk takes all
 * the room that is left. */
bool iwp_tx_share(const struct iwp_qp *q, uint32_t head, uint32_t max, uint64_t left, uint32_t *ret_n)
{
	const struct iwp_port *p = q->port;
	size_t room, least = head + WIRE_MPA_CRC_LEN + CUT_LEAST;

	*ret_n = left < max ? (uint32_t)left : max;
	if (iwp_tx_fits(q, head - 2 + *ret_n))
		return true;
	room = (p->limit - p->fill) & ~(size_t)3;
	if (q->mulpdu < IWP_LONG_ULPDU || q->par.markers_tx || q->s->shm || p->fill + least > p->limit)
		return false;
	*ret_n = (uint32_t)room - head - WIRE_MPA_CRC_LEN;
	return true;
}

static size_t place_of_fpdu(const struct iwp_qp *q)
{
	return q->par.markers_tx ? IWP_CHUNK + IWP_FPDU_ROOM : q->port->fill;
}

uint8_t *iwp_tx_begin(struct iwp_qp *q, size_t *stage_off)
{
	q->port->summed = q->port->sum = 0;
	*stage_off = place_of_fpdu(q);
	return q->port->out + *stage_off;
}

/* Into shared memory, which the kernel does not write for the sender. */
static bool gather_local(struct iwp_port *p, uint8_t *to, const struct iovec *iov, int n, uint32_t len,
			bool posted)
{
	if (posted)
		return ut_stage_load_user(&p->stage, to, iov, n) == (ssize_t)len;
	if (ut_stage_gather(&p->stage, 0, iov, n) != (ssize_t)len)
		return false;
	memcpy(to, p->stage.base, len);
	return true;
}

/* Small pieces of a posted buffer are copied by the application's own thread, long ones with their
 * CRC in the same pass: a CRC over the copy is right whatever happens to the buffer meanwhile. */
bool iwp_tx_gather(struct iwp_qp *q, size_t stage_off, uint32_t head, const struct iovec *iov,
		   int n, uint32_t len, bool posted)
{
	struct iwp_port *p = q->port;
	uint8_t *h = p->out + stage_off;
	size_t at = stage_off + head;

	p->stage.pages_checked_at = p->streams->rx_stage->pages_checked_at;
	if (p->out != p->stage.base)
		return gather_local(p, h + head, iov, n, len, posted);
	if (!posted)
		return ut_stage_gather(&p->stage, at, iov, n) == (ssize_t)len;
	if (len < SUM_LEAST || !iwp_sums(q) || q->par.markers_tx)
		return ut_stage_gather_user(&p->stage, at, iov, n) == (ssize_t)len;
	wire_set_DDPTagged_ulpdu_len(h, head - 2 + len);
	p->sum = ut_crc32c(0, h, head);
	p->summed = head + len;
	return ut_stage_gather_crc(&p->stage, at, iov, n, &p->sum) == (ssize_t)len;
}

static void put_marker(uint8_t *at, uint32_t back)
{
	memset(at, 0, WIRE_Marker_LEN);
	wire_set_Marker_fpduptr(at, back);
}

/* Copies n octets to the chunk and sets markers where they fall. *start: octets since the first one
 * of ULPDU_Length, or ~0 before it. Returns how many octets were written. */
static size_t copy_marked(struct iwp_qp *q, uint8_t *to, uint64_t pos, uint64_t fpdu,
			  const uint8_t *from, size_t n)
{
	uint8_t *begin = to;

	while (n) {
		size_t gap = WIRE_MARKER_INTERVAL - pos % WIRE_MARKER_INTERVAL, k;

		if (gap == WIRE_MARKER_INTERVAL) {
			put_marker(to, pos < fpdu ? 0 : (uint32_t)(pos - fpdu));
			to += WIRE_Marker_LEN;
			pos += WIRE_Marker_LEN;
			gap = WIRE_MARKER_INTERVAL - WIRE_Marker_LEN;
		}
		k = n < gap ? n : gap;
		memcpy(to, from, k);
		to += k;
		pos += k;
		from += k;
		n -= k;
	}
	return (size_t)(to - begin);
}

static size_t end_marked(struct iwp_qp *q, const uint8_t *h, uint32_t body)
{
	uint8_t *to = q->port->stage.base + q->port->fill, crc[WIRE_MPA_CRC_LEN] = { 0 };
	uint64_t pos = q->tx_pos, fpdu = pos % WIRE_MARKER_INTERVAL ? pos : pos + WIRE_Marker_LEN;
	size_t n = copy_marked(q, to, pos, fpdu, h, body);

	/* The CRC covers a marker between pad and CRC. */
	if ((pos + n) % WIRE_MARKER_INTERVAL == 0) {
		put_marker(to + n, (uint32_t)(pos + n - fpdu));
		n += WIRE_Marker_LEN;
	}
	if (iwp_sums(q))
		wire_put_icrc(crc, wire_mpa_crc(to, n));
	memcpy(to + n, crc, sizeof(crc));
	return n + sizeof(crc);
}

void iwp_tx_end(struct iwp_qp *q, uint32_t ulpdu)
{
	struct iwp_port *p = q->port;
	uint32_t body = wire_fpdu_body(ulpdu);
	uint8_t *h = p->out + place_of_fpdu(q);
	size_t n;

	wire_set_DDPTagged_ulpdu_len(h, ulpdu);
	memset(h + 2 + ulpdu, 0, body - 2 - ulpdu);
	if (p->tap)
		p->tap->fpdu(p->tap, q->s, true, q->qp->qpn, h, 2 + ulpdu, 2 + ulpdu);
	if (q->par.markers_tx) {
		n = end_marked(q, h, body);
	} else {
		if (iwp_sums(q))
			wire_put_icrc(h + body, ut_crc32c(p->sum, h + p->summed, body - p->summed));
		else
			memset(h + body, 0, WIRE_MPA_CRC_LEN);
		n = body + WIRE_MPA_CRC_LEN;
	}
	p->fill += n;
	q->tx_pos += n;
	p->sent++;
	align(q, n);
	UT_PROBE4(transmit, q->qp->qpn, 0, ulpdu, (int)(q->s && q->s->shm));
	eng_dev_held(p->dev);
	p->dev->counters[ENG_C_tx_pkts]++;
	p->dev->counters[ENG_C_tx_bytes] += n;
	p->dev->counters[ENG_C_local_tx] += q->s && q->s->shm;
}

/* Octets that the socket did not take are copied, once per full socket buffer. */
static void keep(struct iwp_qp *q, const uint8_t *data, size_t n)
{
	q->rest = ut_malloc(n);
	if (!q->rest) {
		q->rest_len = q->rest_off = 0;
		q->tx_pos -= n; /* octets lost here were not reported as sent */
		iwp_over(q, ENG_V_NO_MEMORY, ENOMEM);
		return;
	}
	memcpy(q->rest, data, n);
	q->rest_len = n;
	q->rest_off = 0;
	q->blocked = true;
}

void iwp_tx_close(struct iwp_qp *q)
{
	struct iwp_port *p = q->port;
	const uint8_t *data = p->out;
	size_t n = p->fill;
	ssize_t r = 0;

	p->tx = NULL;
	p->fill = 0;
	if (n && p->out != p->stage.base) {
		p->ops->commit(q->s, n);
		return;
	}
	q->s->whole = n >= ALIGN_LEAST && q->mulpdu < IWP_LONG_ULPDU;
	while (n && (r = p->ops->send(q->s, data, n)) > 0) {
		data += r;
		n -= (size_t)r;
	}
	/* A broken stream is reported by link_stream_user.closed(). */
	if (n)
		keep(q, data, n);
}

uint64_t iwp_tx_taken(const struct iwp_qp *q)
{
	return q->tx_pos - q->rest_len - (q->port->tx == q ? q->port->fill : 0);
}

static void control(uint8_t *h, unsigned opcode, bool tagged, bool last)
{
	wire_put32(h, 0); /* the whole word, which the next lines read */
	wire_set_DDPTagged_tagged(h, tagged);
	wire_set_DDPTagged_last(h, last);
	wire_set_DDPTagged_dv(h, 1);
	wire_set_DDPTagged_rv(h, 1);
	wire_set_DDPTagged_opcode(h, opcode);
}

void iwp_untagged(uint8_t *h, unsigned opcode, uint32_t inv, uint32_t msn, uint32_t mo, bool last)
{
	control(h, opcode, false, last);
	wire_set_DDPUntagged_inv_stag(h, inv);
	wire_set_DDPUntagged_qn(h, wire_iwarp_shape(opcode)->qn);
	wire_set_DDPUntagged_msn(h, msn);
	wire_set_DDPUntagged_mo(h, mo);
}

void iwp_tagged(uint8_t *h, unsigned opcode, uint32_t stag, uint64_t to, bool last)
{
	control(h, opcode, true, last);
	wire_set_DDPTagged_stag(h, stag);
	wire_set_DDPTagged_to(h, to);
}

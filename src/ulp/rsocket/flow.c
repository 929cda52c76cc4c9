/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sequence numbers are 16 bits and compared by distance. */
#include "ulp/rsocket/flow.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

static uint32_t least(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

void rs_flow_init(struct rs_flow *f, unsigned sq_size, uint16_t rq_size, uint32_t sbuf_size,
		  uint32_t rbuf_size, uint32_t *msgs, bool msg_send)
{
	memset(f, 0, sizeof(*f));
	f->per_msg = msg_send ? 2 : 1;
	f->slots = f->slots_all = sq_size - RS_CTRL_SLOTS;
	f->ctrl = RS_CTRL_SLOTS;
	f->sbuf_size = f->sbuf_free = sbuf_size;
	f->rq_size = rq_size;
	f->r_renew = rq_size / 2;
	f->rbuf_size = rbuf_size;
	f->r_room = f->r_freed = f->r_next = rbuf_size / 2;
	f->msgs = msgs;
}

void rs_flow_connect(struct rs_flow *f, const struct rs_conn *peer)
{
	f->s_limit = f->s_window = peer->credits;
	f->target = peer->data;
	f->target_nr = 0;
	f->peer_sgl = peer->sgl.length;
	f->peer_nr = 1 % peer->sgl.length;
}

/* A word that a Write of the peer may be about to change: the thread that places it may be another one of this process, and ThreadSanitizer
 * would take the two for a race. */
static __attribute__((noinline, no_sanitize("thread"))) uint64_t peek(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/*
 * The peer's Write may be in progress during this read. The entry was cleared before the peer was
 * granted it, an aligned 8-byte word never tears, and neither word of a valid entry is 0 (key and
 * length share one): both words set means that both are new.
 */
int rs_flow_target(struct rs_flow *f, struct rs_sge *list)
{
	struct rs_sge *entry;
	uint64_t word[2];

	if (f->target.length)
		return 0;
	entry = &list[(f->target_nr + 1) % RS_SGL_SIZE];
	for (int i = 0; i < 2; i++)
		word[i] = peek((uint64_t *)(void *)entry + i);
	if (!word[0] || !word[1])
		return 0;
	memcpy(&f->target, word, sizeof(f->target));
	if (!f->target.length)
		return 0;
	memset(entry, 0, sizeof(*entry));
	f->target_nr = (f->target_nr + 1) % RS_SGL_SIZE;
	return rs_sge_sane(&f->target) ? 0 : -EPROTO;
}

static bool room(const struct rs_flow *f, unsigned slots)
{
	return f->slots >= slots && f->sbuf_free >= least(RS_SEND_LOW, f->sbuf_size);
}

bool rs_flow_can_send(const struct rs_flow *f)
{
	return room(f, f->per_msg) && f->s_seq != f->s_limit && f->target.length;
}

bool rs_flow_can_write(const struct rs_flow *f)
{
	return room(f, 1);
}

static void take_ring(struct rs_flow *f, uint32_t length, uint32_t inl, struct rs_piece *piece)
{
	*piece = (struct rs_piece){ .length = length };
	if (length <= inl)
		return;
	piece->at[0] = f->sbuf_at;
	piece->part[0] = least(length, f->sbuf_size - f->sbuf_at);
	piece->part[1] = length - piece->part[0];
	f->sbuf_at = (f->sbuf_at + length) % f->sbuf_size;
	f->sbuf_free -= length;
}

void rs_flow_take(struct rs_flow *f, size_t want, uint32_t inl, struct rs_piece *ret)
{
	take_ring(f, least(least(want, f->sbuf_free), f->target.length), inl, ret);
	ret->remote = f->target.addr;
	ret->key = f->target.key;
	f->target.addr += ret->length;
	f->target.length -= ret->length;
	f->slots -= f->per_msg;
	f->s_seq++;
}

void rs_flow_take_write(struct rs_flow *f, size_t want, uint32_t inl, struct rs_piece *ret)
{
	take_ring(f, least(want, f->sbuf_free), inl, ret);
	f->slots--;
}

void rs_flow_take_iomap(struct rs_flow *f, uint32_t length, uint32_t inl, struct rs_piece *ret)
{
	take_ring(f, length, inl, ret);
	f->slots -= f->per_msg;
	f->s_seq++;
}

void rs_flow_sent(struct rs_flow *f, uint32_t ring_bytes)
{
	f->slots++;
	f->sbuf_free += ring_bytes;
}

void rs_flow_ctrl_sent(struct rs_flow *f)
{
	f->ctrl++;
}

bool rs_flow_ctrl_take(struct rs_flow *f, unsigned slots)
{
	if (f->ctrl < slots)
		return false;
	f->ctrl -= slots;
	return true;
}

bool rs_flow_idle(const struct rs_flow *f)
{
	return f->slots == f->slots_all && f->ctrl == RS_CTRL_SLOTS;
}

static int data(struct rs_flow *f, uint32_t bytes)
{
	unsigned next = f->tail == f->rq_size ? 0 : f->tail + 1;

	if (!bytes || bytes > f->r_room || next == f->head)
		return -EPROTO;
	f->r_room -= bytes;
	f->readable += bytes;
	f->msgs[f->tail] = bytes;
	f->tail = next;
	return 0;
}

/* The limit only moves forward, and is at most the peer's queue size ahead of s_seq. */
static int credits(struct rs_flow *f, uint16_t limit)
{
	if ((uint16_t)(limit - f->s_seq) > f->s_window ||
	    (uint16_t)(limit - f->s_limit) > f->s_window)
		return -EPROTO;
	f->s_limit = limit;
	return 0;
}

int rs_flow_message(struct rs_flow *f, uint32_t msg, uint16_t iomap_size)
{
	uint32_t value = rs_msg_value(msg);

	switch (rs_msg_op(msg)) {
	case RS_OP_DATA:
		return data(f, value);
	case RS_OP_SGL:
		return credits(f, (uint16_t)value);
	case RS_OP_IOMAP:
		if (value >= iomap_size)
			return -EPROTO;
		/* The message used a sequence number of the peer, as data does: grant it again. */
		f->r_seq++;
		return 0;
	case RS_OP_CTRL:
		return value <= RS_CTRL_SHUTDOWN ? (int)value + 1 : -EPROTO;
	default:
		return -EPROTO;
	}
}

uint32_t rs_flow_chunk(const struct rs_flow *f, uint32_t skip, size_t want, uint32_t *ret_at)
{
	if (skip >= f->readable)
		return 0;
	*ret_at = (f->rbuf_at + skip) % f->rbuf_size;
	return least(least(want, f->readable - skip), f->rbuf_size - *ret_at);
}

void rs_flow_read(struct rs_flow *f, uint32_t bytes)
{
	f->readable -= bytes;
	f->r_freed += bytes;
	f->rbuf_at = (f->rbuf_at + bytes) % f->rbuf_size;
	while (bytes) {
		uint32_t part = least(bytes, f->msgs[f->head]);

		bytes -= part;
		f->msgs[f->head] -= part;
		if (f->msgs[f->head])
			break;
		f->head = f->head == f->rq_size ? 0 : f->head + 1;
		f->r_seq++;
	}
}

bool rs_flow_grant(struct rs_flow *f, struct rs_grant *ret)
{
	uint32_t half = f->rbuf_size / 2;

	ret->half = f->r_freed >= half;
	if (!ret->half && (int16_t)(f->r_seq - f->r_renew) < 0)
		return false;
	if (!rs_flow_ctrl_take(f, ret->half ? f->per_msg : 1))
		return false;
	f->r_renew = (uint16_t)(f->r_seq + f->rq_size / 2);
	ret->msg = rs_msg(RS_OP_SGL, (uint16_t)(f->r_seq + f->rq_size));
	if (!ret->half)
		return true;
	ret->at = f->r_next;
	ret->length = half;
	ret->nr = f->peer_nr;
	f->r_next = f->r_next ? 0 : half;
	f->r_freed -= half;
	f->r_room += half;
	f->peer_nr = (f->peer_nr + 1) % f->peer_sgl;
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A map for the peer takes an entry of the peer's table, which this end writes before its next data,
 * with a message that counts like data. The peer then writes the memory without notice to the
 * program. Unmapping ends the registration; the peer is not informed.
 */
#include "ulp/rsocket/iomap.h"
#include "ulp/rsocket/conn.h"
#include "ulp/rsocket/cq.h"
#include "ulp/rsocket/stream.h"
#include "ulp/rsocket/wait.h"

#include <byteswap.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct rs_map {
	struct rs_map *next;
	struct ibv_mr *mr;
	uint64_t offset;
	int index;                      /* entry of the peer's table, or -1: local only */
	bool announced;
};

static bool index_taken(const struct rs_sock *s, int index)
{
	for (const struct rs_map *m = s->maps; m; m = m->next)
		if (m->index == index)
			return true;
	return false;
}

static int free_index(const struct rs_sock *s)
{
	for (int i = 0; i < s->peer_iomap_size; i++)
		if (!index_taken(s, i))
			return i;
	return -ENOMEM;
}

static int add_map(struct rs_sock *s, void *buf, size_t len, bool remote, uint64_t offset)
{
	int index = remote ? free_index(s) : -1;
	struct rs_map *m, **end = &s->maps;

	if (remote && index < 0)
		return index;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->index = index;
	m->offset = offset;
	m->announced = !remote;
	m->mr = ibv_reg_mr(s->id->pd, buf, len,
			   IBV_ACCESS_LOCAL_WRITE | (remote ? IBV_ACCESS_REMOTE_WRITE : 0));
	if (!m->mr) {
		int err = errno;

		free(m);
		return -err;
	}
	/* At the end: the peer's table is written in the order of the calls. */
	while (*end)
		end = &(*end)->next;
	*end = m;
	if (remote)
		atomic_store(&s->maps_pending, true);
	return 0;
}

/* The size of the peer's table is in its connection data. */
static int known_peer(struct rs_sock *s)
{
	int r;

	if (s->state == RS_ACCEPTING)
		return 0;
	r = rs_conn_wait(s, 0);
	return r ? r : s->state == RS_CONNECTED ? 0 : -ENOTCONN;
}

int rs_map_add(struct rs_sock *s, void *buf, size_t len, int prot, uint64_t offset)
{
	int r;

	if (prot & ~PROT_WRITE || !len || len > UINT32_MAX || s->type != SOCK_STREAM)
		return -EINVAL;
	r = known_peer(s);
	if (r)
		return r;
	pthread_mutex_lock(&s->maps_lock);
	r = add_map(s, buf, len, prot & PROT_WRITE, offset);
	pthread_mutex_unlock(&s->maps_lock);
	return r;
}

static int remove_map(struct rs_sock *s, void *buf, size_t len)
{
	for (struct rs_map **at = &s->maps, *m; (m = *at); at = &m->next) {
		if (m->mr->addr != buf || m->mr->length != len)
			continue;
		*at = m->next;
		ibv_dereg_mr(m->mr);
		free(m);
		return 0;
	}
	return -EINVAL;
}

int rs_map_remove(struct rs_sock *s, void *buf, size_t len)
{
	int r;

	pthread_mutex_lock(&s->maps_lock);
	r = remove_map(s, buf, len);
	pthread_mutex_unlock(&s->maps_lock);
	return r;
}

void rs_maps_free(struct rs_sock *s)
{
	while (s->maps) {
		struct rs_map *m = s->maps;

		s->maps = m->next;
		ibv_dereg_mr(m->mr);
		free(m);
	}
}

static void to_ring(struct rs_sock *s, const struct rs_piece *piece, const void *data)
{
	for (int i = 0; i < 2; i++)
		memcpy(s->sbuf + piece->at[i], (const uint8_t *)data + (i ? piece->part[0] : 0),
		       piece->part[i]);
}

static int announce(struct rs_sock *s, const struct rs_map *m)
{
	struct rs_iomap entry = { m->offset, { (uintptr_t)m->mr->addr, m->mr->rkey,
					       (uint32_t)m->mr->length } };
	uint32_t nr = (uint32_t)m->index;
	struct rs_piece piece;
	int r;

	if (s->swap)
		entry = (struct rs_iomap){ bswap_64(entry.offset), rs_sge_swap(entry.sge) };
	pthread_mutex_lock(&s->c);
	if (!rs_flow_can_send(&s->flow))
		rs_cq_drive(s);
	r = rs_send_ready(s);
	if (!r && !rs_flow_can_send(&s->flow))
		r = -EAGAIN;
	if (!r)
		rs_flow_take_iomap(&s->flow, sizeof(entry), s->inl, &piece);
	pthread_mutex_unlock(&s->c);
	if (r)
		return r;
	to_ring(s, &piece, &entry);
	return rs_send_piece(s, &piece, &entry, rs_msg(RS_OP_IOMAP, nr), true,
			     s->peer_iomap + nr * sizeof(entry), s->peer_list_key);
}

/* Returns 1 when all maps have been announced. */
static int announce_next(struct rs_sock *s)
{
	struct rs_map *m;
	int r = 1;

	pthread_mutex_lock(&s->maps_lock);
	for (m = s->maps; m && m->announced; m = m->next)
		;
	if (m) {
		r = announce(s, m);
		m->announced = !r;
	} else {
		atomic_store(&s->maps_pending, false);
	}
	pthread_mutex_unlock(&s->maps_lock);
	return r;
}

int rs_maps_send(struct rs_sock *s, bool nowait)
{
	int r;

	do {
		r = announce_next(s);
		if (r == -EAGAIN) {
			pthread_mutex_unlock(&s->s);
			r = rs_wait(s, rs_test_write, nowait, -1);
			pthread_mutex_lock(&s->s);
		}
	} while (!r);
	return r < 0 ? r : 0;
}

/* Finds the peer's map that contains the offset. Called with c held. */
static const struct rs_iomap *find(struct rs_sock *s, uint64_t offset)
{
	for (int i = 0; i < s->o.iomap_size; i++) {
		const struct rs_iomap *m = &s->iomap[i];

		if (m->sge.length && offset >= m->offset && offset - m->offset < m->sge.length)
			return m;
	}
	return NULL;
}

static const struct rs_iomap *find_driving(struct rs_sock *s, uint64_t offset)
{
	const struct rs_iomap *m = find(s, offset);

	if (!m) {
		rs_cq_drive(s);
		m = find(s, offset);
	}
	return m;
}

static int write_some(struct rs_sock *s, const uint8_t *buf, size_t want, uint64_t offset,
		      uint32_t *ret_sent)
{
	const struct rs_iomap *m;
	struct rs_piece piece;
	uint64_t remote = 0;
	uint32_t key = 0;
	int r;

	pthread_mutex_lock(&s->c);
	if (!rs_flow_can_write(&s->flow))
		rs_cq_drive(s);
	m = find_driving(s, offset);
	r = rs_send_ready(s);
	if (!r && !m)
		r = -EINVAL;
	if (!r && !rs_flow_can_write(&s->flow))
		r = -EAGAIN;
	if (!r) {
		uint64_t left = m->offset + m->sge.length - offset;

		remote = m->sge.addr + (offset - m->offset);
		key = m->sge.key;
		rs_flow_take_write(&s->flow, want < left ? want : (size_t)left, s->inl, &piece);
	}
	pthread_mutex_unlock(&s->c);
	if (r)
		return r;
	to_ring(s, &piece, buf);
	*ret_sent = piece.length;
	return rs_send_piece(s, &piece, buf, 0, false, remote, key);
}

static bool test_room(struct rs_sock *s)
{
	return rs_flow_can_write(&s->flow) || !s->wr_open;
}

static ssize_t write_all(struct rs_sock *s, const uint8_t *buf, size_t len, uint64_t offset,
			 int flags)
{
	bool nowait = rs_nowait(s, flags);
	size_t done = 0, step = RS_SEND_FIRST;
	uint32_t sent;
	int r = 0;

	pthread_mutex_lock(&s->s);
	if (atomic_load(&s->maps_pending))
		r = rs_maps_send(s, nowait);
	while (!r && done < len) {
		r = write_some(s, buf + done, len - done < step ? len - done : step, offset + done,
			       &sent);
		if (!r) {
			done += sent;
			step = step < RS_SEND_MAX ? step * 2 : step;
		} else if (r == -EAGAIN && !(nowait && done)) {
			pthread_mutex_unlock(&s->s);
			r = rs_wait(s, test_room, nowait, -1);
			pthread_mutex_lock(&s->s);
		}
	}
	pthread_mutex_unlock(&s->s);
	return done ? (ssize_t)done : r;
}

ssize_t rs_map_write(struct rs_sock *s, const void *buf, size_t len, uint64_t offset, int flags)
{
	int r = s->type == SOCK_STREAM ? rs_conn_wait(s, flags) : -EINVAL;

	return r ? r : write_all(s, buf, len, offset, flags);
}

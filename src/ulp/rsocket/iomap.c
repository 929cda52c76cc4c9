/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of one end that the other writes to by offset. Who maps tells the peer by writing an
 * entry into the peer's table, in the stream's order and before the next bytes; who writes
 * looks the offset up in its own table, which is a peer's writing and believed only as far as it
 * is about that peer's memory.
 */
#include "ulp/rsocket/rs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rs_iomr {
	struct rs_iomr *next;
	uint64_t offset;
	struct ibv_mr *mr;
	int64_t index; /* in the peer's table; -1: for our own use */
	bool pending;  /* the peer was not told yet */
};

bool rs_iomap_pending(const struct rs_sock *rs)
{
	const struct rs_iomr *m;

	for (m = rs->iomaps; m; m = m->next)
		if (m->pending)
			return true;
	return false;
}

static int tell(struct rs_sock *rs, struct rs_iomr *m)
{
	const struct rsp_iomap entry = {
		m->offset, { (uintptr_t)m->mr->addr, m->mr->rkey, (uint32_t)m->mr->length }
	};
	uint64_t at = rs->peer_iomap.addr + (uint64_t)m->index * RSP_IOMAP_LEN;
	uint8_t raw[RSP_IOMAP_LEN];
	struct ibv_sge sge[2];
	int n = rs_ring_take(rs, RSP_IOMAP_LEN, sge);

	rsp_iomap_put(&entry, rs->swap, raw);
	memcpy((void *)(uintptr_t)sge[0].addr, raw, sge[0].length);
	memcpy((void *)(uintptr_t)sge[1].addr, raw + sge[0].length, sge[1].length);
	m->pending = false;
	return rs_post_write(rs, sge, n, at, rs->peer_iomap.key,
			     rsp_msg(RSP_IOMAP, (uint32_t)m->index), false, RSP_IOMAP_LEN);
}

int rs_iomap_flush(struct rs_sock *rs)
{
	struct rs_iomr *m;

	for (m = rs->iomaps; m; m = m->next) {
		if (!m->pending)
			continue;
		if (!rs_can_send(rs))
			return 0; /* the caller waits and comes again */
		if (tell(rs, m)) {
			rs_over(rs, ECONNRESET);
			return rs_fail(ECONNRESET);
		}
	}
	return 0;
}

void rs_iomap_free(struct rs_sock *rs)
{
	struct rs_iomr *m;

	while ((m = rs->iomaps)) {
		rs->iomaps = m->next;
		ibv_dereg_mr(m->mr);
		free(m);
	}
}

/* The lowest index not in use, or -1: the peer's table is full. */
static int64_t free_index(const struct rs_sock *rs)
{
	const struct rs_iomr *m;
	int64_t i;

	for (i = 0; i < rs->peer_iomap.len; i++) {
		for (m = rs->iomaps; m && m->index != i; m = m->next)
			;
		if (!m)
			return i;
	}
	return -1;
}

static off_t map(struct rs_sock *rs, void *buf, size_t len, int prot, off_t offset)
{
	int access = IBV_ACCESS_LOCAL_WRITE | (prot & PROT_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0);
	int64_t index = -1;
	struct rs_iomr *m;

	if (rs->type != SOCK_STREAM || !rs->qp || prot & ~PROT_WRITE || !len || len > UINT32_MAX)
		return rs_fail(EINVAL);
	if (prot & PROT_WRITE) {
		index = free_index(rs);
		if (index < 0)
			return rs_fail(ENOMEM);
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return rs_fail(ENOMEM);
	m->mr = ibv_reg_mr(rs->id->pd, buf, len, access);
	if (!m->mr) {
		free(m);
		return -1;
	}
	m->offset = offset == -1 ? (uintptr_t)buf : (uint64_t)offset;
	m->index = index;
	m->pending = index >= 0;
	m->next = rs->iomaps;
	rs->iomaps = m;
	return (off_t)m->offset;
}

RS_EXPORT off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
	struct rs_sock *rs = rs_get(socket);
	off_t rc;

	(void)flags;
	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	rc = map(rs, buf, len, prot, offset);
	pthread_mutex_unlock(&rs->lock);
	rs_put(rs);
	return rc;
}

RS_EXPORT int riounmap(int socket, void *buf, size_t len)
{
	struct rs_sock *rs = rs_get(socket);
	struct rs_iomr **at, *m = NULL;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	for (at = &rs->iomaps; *at; at = &(*at)->next) {
		if ((*at)->mr->addr != buf || (*at)->mr->length != len)
			continue;
		m = *at;
		*at = m->next;
		break;
	}
	pthread_mutex_unlock(&rs->lock);
	if (m) {
		ibv_dereg_mr(m->mr);
		free(m);
	}
	rs_put(rs);
	return m ? 0 : rs_fail(EINVAL);
}

/* The peer's memory at this offset. False: nothing is mapped there. */
static bool find(const struct rs_sock *rs, uint64_t offset, struct rsp_iomap *ret)
{
	const uint8_t *p = rs->target + RSP_SGL_ENTRIES * RSP_SGE_LEN;
	uint32_t i;

	for (i = 0; i < rs->size.iomap; i++, p += RSP_IOMAP_LEN) {
		rsp_iomap_load(p, ret);
		if (offset >= ret->offset && offset - ret->offset < ret->sge.len)
			return true;
	}
	return false;
}

static bool may_write(struct rs_sock *rs)
{
	bool told = !rs_iomap_pending(rs);

	if (rs->closing || !rs->writable || rs->state <= RS_LISTENING)
		return true;
	if (rs->state != RS_OPEN)
		return false;
	return told ? rs->sq_free && rs->s_free >= RS_LOW : rs_can_send(rs);
}

/* 1: bytes went, 0: again, -1. lock and s_lock held. */
static ssize_t write_some(struct rs_sock *rs, const uint8_t *buf, size_t left, uint64_t offset)
{
	uint32_t len = left < RS_LOW * 8 ? (uint32_t)left : RS_LOW * 8;
	struct rsp_iomap m;
	struct ibv_sge sge[2];
	int n;

	if (!find(rs, offset, &m))
		return rs_fail(EFAULT);
	if (len > rs->s_free)
		len = rs->s_free;
	if (len > m.sge.len - (offset - m.offset))
		len = (uint32_t)(m.sge.len - (offset - m.offset));
	n = rs_ring_take(rs, len, sge);
	memcpy((void *)(uintptr_t)sge[0].addr, buf, sge[0].length);
	memcpy((void *)(uintptr_t)sge[1].addr, buf + sge[0].length, sge[1].length);
	if (rs_post_plain(rs, sge, n, m.sge.addr + (offset - m.offset), m.sge.key,
			  len <= rs->size.inline_len, len)) {
		rs_over(rs, ECONNRESET);
		return rs_fail(ECONNRESET);
	}
	return len;
}

static ssize_t write_map(struct rs_sock *rs, const uint8_t *buf, size_t count, uint64_t offset,
			 int flags)
{
	uint64_t until = rs->nonblock || flags & MSG_DONTWAIT ? 0 : RS_FOREVER;
	size_t done = 0;
	ssize_t n = 0;

	while (done < count) {
		pthread_mutex_lock(&rs->lock);
		n = rs_wait(rs, may_write, until);
		pthread_mutex_unlock(&rs->lock);
		if (n)
			break;
		pthread_mutex_lock(&rs->s_lock);
		pthread_mutex_lock(&rs->lock);
		if (rs->state != RS_OPEN || !rs->writable)
			n = rs_fail(rs->state <= RS_LISTENING ? ENOTCONN : ECONNRESET);
		else if (rs_iomap_pending(rs))
			n = rs_iomap_flush(rs);
		else if (may_write(rs))
			n = write_some(rs, buf + done, count - done, offset + done);
		pthread_mutex_unlock(&rs->lock);
		pthread_mutex_unlock(&rs->s_lock);
		if (n < 0)
			break;
		done += (size_t)n;
	}
	/* Nothing mapped there is a short count and no error. */
	return done || (n < 0 && errno == EFAULT) ? (ssize_t)done : n;
}

RS_EXPORT size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
	struct rs_sock *rs = rs_get(socket);
	ssize_t rc;

	if (!rs)
		return (size_t)-1;
	rc = rs->type == SOCK_STREAM ? write_map(rs, buf, count, (uint64_t)offset, flags) :
				       rs_fail(EOPNOTSUPP);
	rs_put(rs);
	return (size_t)rc;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Encoders and decoders. Connection data and headers are in network order; descriptors in a peer's
 * memory are in the order of that peer's host. */
#include "ulp/rsocket/proto.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/* More entries than any peer has, and still few. */
#define SGL_ENTRIES_MAX 64

static void put16(uint8_t *p, uint16_t v)
{
	v = htobe16(v);
	memcpy(p, &v, sizeof(v));
}

static void put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static void put_sge(uint8_t *p, const struct rsp_sge *s)
{
	put32(p, (uint32_t)(s->addr >> 32));
	put32(p + 4, (uint32_t)s->addr);
	put32(p + 8, s->key);
	put32(p + 12, s->len);
}

static struct rsp_sge get_sge(const uint8_t *p)
{
	return (struct rsp_sge){
		.addr = (uint64_t)get32(p) << 32 | get32(p + 4),
		.key = get32(p + 8),
		.len = get32(p + 12),
	};
}

bool rsp_host_big(void)
{
	return __BYTE_ORDER == __BIG_ENDIAN;
}

uint8_t rsp_scale(uint32_t value)
{
	return (uint8_t)(value <= 128 ? value : 128 | value >> 8);
}

uint32_t rsp_unscale(uint8_t scaled)
{
	return scaled <= 128 ? scaled : (uint32_t)(scaled & 127) << 8;
}

size_t rsp_conn_put(const struct rsp_conn *c, uint8_t out[RSP_CONN_LEN])
{
	memset(out, 0, RSP_CONN_LEN);
	out[0] = RSP_VERSION;
	out[1] = (uint8_t)((c->big_endian ? RSP_FLAG_BIG : 0) | (c->has_iomap ? RSP_FLAG_IOMAP : 0));
	put16(out + 2, c->credits);
	out[7] = rsp_scale(c->iomap_entries);
	put_sge(out + 8, &c->sgl);
	put_sge(out + 24, &c->data);
	return RSP_CONN_LEN;
}

/* No memory of the peer may wrap around the end of its address space. */
static bool sane(uint64_t addr, uint64_t len)
{
	return len <= UINT64_MAX - addr;
}

int rsp_conn_get(const uint8_t *p, size_t len, struct rsp_conn *ret)
{
	struct rsp_conn c;

	if (!p || len < RSP_CONN_LEN || p[0] != RSP_VERSION)
		return -EPROTO;
	c = (struct rsp_conn){
		.big_endian = p[1] & RSP_FLAG_BIG,
		.has_iomap = p[1] & RSP_FLAG_IOMAP,
		.credits = get16(p + 2),
		.sgl = get_sge(p + 8),
		.data = get_sge(p + 24),
	};
	c.iomap_entries = c.has_iomap ? rsp_unscale(p[7]) : 0;
	if (!c.credits || c.sgl.len < RSP_SGL_ENTRIES || c.sgl.len > SGL_ENTRIES_MAX)
		return -EPROTO;
	if (!c.data.len || c.data.len > RSP_VALUE_MASK || !sane(c.data.addr, c.data.len))
		return -EPROTO;
	if (!sane(c.sgl.addr, (uint64_t)c.sgl.len * RSP_SGE_LEN +
				      (uint64_t)c.iomap_entries * RSP_IOMAP_LEN))
		return -EPROTO;
	*ret = c;
	return 0;
}

static uint64_t order64(uint64_t v, bool swap)
{
	return swap ? __builtin_bswap64(v) : v;
}

static uint32_t order32(uint32_t v, bool swap)
{
	return swap ? __builtin_bswap32(v) : v;
}

void rsp_sge_put(const struct rsp_sge *s, bool swap, uint8_t out[RSP_SGE_LEN])
{
	struct rsp_sge n = { order64(s->addr, swap), order32(s->key, swap), order32(s->len, swap) };

	_Static_assert(sizeof(n) == RSP_SGE_LEN, "no holes");
	memcpy(out, &n, sizeof(n));
}

void rsp_iomap_put(const struct rsp_iomap *m, bool swap, uint8_t out[RSP_IOMAP_LEN])
{
	uint64_t offset = order64(m->offset, swap);

	memcpy(out, &offset, sizeof(offset));
	rsp_sge_put(&m->sge, swap, out + sizeof(offset));
}

/* A peer may write while we read: each word is read once, and the caller takes what it got. */
void rsp_sge_load(const volatile uint8_t *p, struct rsp_sge *ret)
{
	ret->addr = *(const volatile uint64_t *)(const volatile void *)p;
	ret->key = *(const volatile uint32_t *)(const volatile void *)(p + 8);
	ret->len = *(const volatile uint32_t *)(const volatile void *)(p + 12);
}

void rsp_iomap_load(const volatile uint8_t *p, struct rsp_iomap *ret)
{
	ret->offset = *(const volatile uint64_t *)(const volatile void *)p;
	rsp_sge_load(p + 8, &ret->sge);
}

size_t rsp_dg_put(const union rsp_addr *from, uint8_t out[RSP_DG_MAX_LEN])
{
	if (from->sa.sa_family == AF_INET) {
		out[0] = 4;
		out[1] = RSP_DG_V4_LEN;
		memcpy(out + 2, &from->in.sin_port, 2);
		memcpy(out + 4, &from->in.sin_addr, 4);
		return RSP_DG_V4_LEN;
	}
	out[0] = 6;
	out[1] = RSP_DG_V6_LEN;
	memcpy(out + 2, &from->in6.sin6_port, 2);
	memcpy(out + 4, &from->in6.sin6_flowinfo, 4);
	memcpy(out + 8, &from->in6.sin6_addr, 16);
	return RSP_DG_V6_LEN;
}

int rsp_dg_get(const uint8_t *p, size_t len, union rsp_addr *ret)
{
	union rsp_addr a = { .in6 = { 0 } };

	if (len >= RSP_DG_V4_LEN && p[0] == 4 && p[1] == RSP_DG_V4_LEN) {
		a.in.sin_family = AF_INET;
		memcpy(&a.in.sin_port, p + 2, 2);
		memcpy(&a.in.sin_addr, p + 4, 4);
	} else if (len >= RSP_DG_V6_LEN && p[0] == 6 && p[1] == RSP_DG_V6_LEN) {
		a.in6.sin6_family = AF_INET6;
		memcpy(&a.in6.sin6_port, p + 2, 2);
		memcpy(&a.in6.sin6_flowinfo, p + 4, 4);
		memcpy(&a.in6.sin6_addr, p + 8, 16);
	} else {
		return -EPROTO;
	}
	*ret = a;
	return p[1];
}

size_t rsp_svc_put(const struct rsp_svc *s, uint8_t out[RSP_SVC_MAX_LEN])
{
	bool v4 = s->from.sa.sa_family == AF_INET;

	memset(out, 0, RSP_SVC_MAX_LEN);
	put32(out, RSP_SVC_TAG);
	out[4] = v4 ? 4 : 6;
	out[5] = s->op;
	out[6] = v4 ? RSP_SVC_V4_LEN : RSP_SVC_V6_LEN;
	put32(out + 8, s->qpn & 0xffffff);
	if (v4)
		memcpy(out + 12, &s->from.in.sin_addr, 4);
	else
		memcpy(out + 12, &s->from.in6.sin6_addr, 16);
	return out[6];
}

int rsp_svc_get(const uint8_t *p, size_t len, struct rsp_svc *ret)
{
	struct rsp_svc s = { .from.in6 = { 0 } };

	if (len < RSP_SVC_V4_LEN || get32(p) != RSP_SVC_TAG)
		return -EPROTO;
	if (p[4] == 4 && p[6] == RSP_SVC_V4_LEN) {
		s.from.in.sin_family = AF_INET;
		memcpy(&s.from.in.sin_addr, p + 12, 4);
	} else if (p[4] == 6 && p[6] == RSP_SVC_V6_LEN && len >= RSP_SVC_V6_LEN) {
		s.from.in6.sin6_family = AF_INET6;
		memcpy(&s.from.in6.sin6_addr, p + 12, 16);
	} else {
		return -EPROTO;
	}
	if (p[5] != RSP_SVC_DATA && p[5] != RSP_SVC_ANSWER)
		return -EPROTO;
	s.op = p[5];
	s.qpn = get32(p + 8) & 0xffffff;
	*ret = s;
	return p[6];
}

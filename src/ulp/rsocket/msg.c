/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fields are written and read at fixed offsets, so that neither padding nor the host's byte order
 * matters.
 */
#include "ulp/rsocket/msg.h"

#include <arpa/inet.h>
#include <byteswap.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

enum { CONN_FLAG_BIG_ENDIAN = 1, CONN_FLAG_IOMAP = 2 };

/* Offsets in the connection data; bytes 4 to 6 are reserved. */
enum {
	CONN_AT_VERSION = 0, CONN_AT_FLAGS = 1, CONN_AT_CREDITS = 2, CONN_AT_IOMAP = 7,
	CONN_AT_SGL = 8, CONN_AT_DATA = 24,
};

#define UDP_TAG 0x55555555u

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

static void put64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
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

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static void put_sge(uint8_t *p, const struct rs_sge *sge)
{
	put64(p, sge->addr);
	put32(p + 8, sge->key);
	put32(p + 12, sge->length);
}

static struct rs_sge get_sge(const uint8_t *p)
{
	return (struct rs_sge){ .addr = get64(p), .key = get32(p + 8), .length = get32(p + 12) };
}

bool rs_sge_sane(const struct rs_sge *sge)
{
	return sge->length <= RS_BUF_MAX && sge->addr + sge->length >= sge->addr;
}

struct rs_sge rs_sge_swap(struct rs_sge sge)
{
	return (struct rs_sge){ .addr = bswap_64(sge.addr), .key = bswap_32(sge.key),
				.length = bswap_32(sge.length) };
}

uint8_t rs_scale(uint16_t value)
{
	if (value <= 128)
		return (uint8_t)value;
	return value >> 8 > 127 ? 255 : (uint8_t)(128 | value >> 8);
}

uint16_t rs_unscale(uint8_t value)
{
	return value <= 128 ? value : (uint16_t)((value & 127) << 8);
}

void rs_conn_put(uint8_t out[RS_CONN_LEN], const struct rs_conn *conn)
{
	memset(out, 0, RS_CONN_LEN);
	out[CONN_AT_VERSION] = RS_CONN_VERSION;
	out[CONN_AT_FLAGS] = (uint8_t)((conn->big_endian ? CONN_FLAG_BIG_ENDIAN : 0) |
				       (conn->iomap ? CONN_FLAG_IOMAP : 0));
	put16(out + CONN_AT_CREDITS, conn->credits);
	out[CONN_AT_IOMAP] = rs_scale(conn->iomap_size);
	put_sge(out + CONN_AT_SGL, &conn->sgl);
	put_sge(out + CONN_AT_DATA, &conn->data);
}

/* The list and the I/O map behind it must not wrap around the address space. */
static bool conn_sane(const struct rs_conn *conn)
{
	uint64_t room = (uint64_t)conn->sgl.length * sizeof(struct rs_sge) +
			(uint64_t)conn->iomap_size * sizeof(struct rs_iomap);

	return conn->credits && conn->sgl.length && conn->sgl.length <= RS_SGL_MAX &&
	       conn->sgl.addr + room >= conn->sgl.addr && conn->data.length &&
	       rs_sge_sane(&conn->data);
}

int rs_conn_get(struct rs_conn *ret_conn, const void *data, size_t len)
{
	const uint8_t *p = data;
	struct rs_conn conn;

	if (!p || len < RS_CONN_LEN)
		return -EPROTO;
	if (p[CONN_AT_VERSION] != RS_CONN_VERSION)
		return -EPROTONOSUPPORT;
	conn.big_endian = p[CONN_AT_FLAGS] & CONN_FLAG_BIG_ENDIAN;
	conn.iomap = p[CONN_AT_FLAGS] & CONN_FLAG_IOMAP;
	conn.credits = get16(p + CONN_AT_CREDITS);
	conn.iomap_size = conn.iomap ? rs_unscale(p[CONN_AT_IOMAP]) : 0;
	conn.sgl = get_sge(p + CONN_AT_SGL);
	conn.data = get_sge(p + CONN_AT_DATA);
	if (!conn_sane(&conn))
		return -EPROTO;
	*ret_conn = conn;
	return 0;
}

/* Header: version, length, port; then 4 bytes of address, or flow label and 16. */
enum { DGRAM_V4_LEN = 8, DGRAM_V6_LEN = 24 };

size_t rs_dgram_put(uint8_t out[RS_DGRAM_HDR_MAX], const struct sockaddr *from)
{
	const struct sockaddr_in *v4 = (const void *)from;
	const struct sockaddr_in6 *v6 = (const void *)from;

	if (from->sa_family == AF_INET) {
		out[0] = 4;
		out[1] = DGRAM_V4_LEN;
		memcpy(out + 2, &v4->sin_port, 2);
		memcpy(out + 4, &v4->sin_addr, 4);
		return DGRAM_V4_LEN;
	}
	out[0] = 6;
	out[1] = DGRAM_V6_LEN;
	memcpy(out + 2, &v6->sin6_port, 2);
	memcpy(out + 4, &v6->sin6_flowinfo, 4);
	memcpy(out + 8, &v6->sin6_addr, 16);
	return DGRAM_V6_LEN;
}

int rs_dgram_get(struct sockaddr_storage *ret_from, const void *data, size_t len)
{
	struct sockaddr_in *v4 = (void *)ret_from;
	struct sockaddr_in6 *v6 = (void *)ret_from;
	const uint8_t *p = data;

	if (len >= DGRAM_V4_LEN && p[0] == 4 && p[1] == DGRAM_V4_LEN) {
		memset(v4, 0, sizeof(*v4));
		v4->sin_family = AF_INET;
		memcpy(&v4->sin_port, p + 2, 2);
		memcpy(&v4->sin_addr, p + 4, 4);
		return DGRAM_V4_LEN;
	}
	if (len >= DGRAM_V6_LEN && p[0] == 6 && p[1] == DGRAM_V6_LEN) {
		memset(v6, 0, sizeof(*v6));
		v6->sin6_family = AF_INET6;
		memcpy(&v6->sin6_port, p + 2, 2);
		memcpy(&v6->sin6_flowinfo, p + 4, 4);
		memcpy(&v6->sin6_addr, p + 8, 16);
		return DGRAM_V6_LEN;
	}
	return -EPROTO;
}

/* Tag, version, operation, length, reserved, queue pair number, address. */
enum { UDP_V4_LEN = 16, UDP_V6_LEN = 28 };

size_t rs_udp_put(uint8_t out[RS_UDP_HDR_MAX], const struct rs_udp *udp, const struct sockaddr *from)
{
	bool v4 = from->sa_family == AF_INET;

	put32(out, UDP_TAG);
	out[4] = v4 ? 4 : 6;
	out[5] = (uint8_t)udp->op;
	out[6] = v4 ? UDP_V4_LEN : UDP_V6_LEN;
	out[7] = 0;
	put32(out + 8, udp->qpn & 0xffffff);
	if (v4)
		memcpy(out + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
	else
		memcpy(out + 12, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
	return out[6];
}

int rs_udp_get(struct rs_udp *ret_udp, int family, const void *data, size_t len)
{
	const uint8_t *p = data;
	unsigned want = family == AF_INET ? UDP_V4_LEN : UDP_V6_LEN;

	if (len < want || get32(p) != UDP_TAG || p[4] != (family == AF_INET ? 4 : 6) || p[6] != want)
		return -EPROTO;
	if (p[5] != RS_OP_DATA && p[5] != RS_OP_CTRL)
		return -EPROTO;
	ret_udp->op = p[5];
	ret_udp->qpn = get32(p + 8) & 0xffffff;
	return (int)want;
}

socklen_t rs_addr_len(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6);
}

bool rs_addr_equal(const struct sockaddr *a, const struct sockaddr *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a6->sin6_port == b6->sin6_port &&
	       !memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr));
}

bool rs_addr_any(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)addr)->sin_addr.s_addr == INADDR_ANY;
	return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr);
}

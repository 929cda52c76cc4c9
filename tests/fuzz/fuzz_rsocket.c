/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The bytes of a hostile peer of a socket over RDMA: connection data, messages, the descriptors that
 * it writes into the socket's memory, headers of datagrams. The counters of the stream must stay
 * consistent, and no access may leave its rings.
 *
 * The first 40 bytes are connection data (corrected if bit 0 of byte 40 is set); from byte 41 on there
 * are records of 5 bytes: an action and its 32-bit argument.
 */
#include "support/check.h"
#include "ulp/rsocket/flow.h"

#include <netinet/in.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RQ     16
#define RING   8192
#define RECORD 5

static struct rs_flow f;
static uint32_t msgs[RQ + 1];
static struct rs_sge list[RS_SGL_SIZE];
static unsigned ctrl_out;
static uint32_t out[64];
static unsigned out_n;

static void balanced(void)
{
	CHECK(f.r_room + f.readable + f.r_freed == RING);
	CHECK((uint16_t)(f.s_limit - f.s_seq) <= f.s_window);
	CHECK(f.sbuf_free <= f.sbuf_size && f.sbuf_at < f.sbuf_size);
	CHECK(f.slots <= f.slots_all && f.ctrl <= RS_CTRL_SLOTS);
	CHECK(f.head <= RQ && f.tail <= RQ && f.rbuf_at < RING);
}

static void read_some(uint32_t want)
{
	uint32_t at = 0, n = rs_flow_chunk(&f, 0, want, &at);

	CHECK(n <= RING && at <= RING - n);
	rs_flow_read(&f, n);
}

static void send_some(uint32_t want)
{
	struct rs_piece p;
	int rc = rs_flow_target(&f, list);

	CHECK(rc == 0 || rc == -EPROTO);
	if (rc || !want || !rs_flow_can_send(&f) || out_n + f.per_msg > 64)
		return;
	rs_flow_take(&f, want, 64, &p);
	CHECK(p.length && p.length <= want && p.remote + p.length >= p.remote);
	CHECK(p.at[0] + p.part[0] <= f.sbuf_size && p.part[1] <= f.sbuf_size);
	for (unsigned i = 0; i < f.per_msg; i++)
		out[out_n++] = i || p.length <= 64 ? 0 : p.length;
}

static void grant(void)
{
	struct rs_grant g;

	while (rs_flow_grant(&f, &g)) {
		ctrl_out += g.half ? f.per_msg : 1;
		if (g.half)
			CHECK(g.at + g.length <= RING && g.nr < f.peer_sgl);
	}
}

static void complete(void)
{
	if (ctrl_out) {
		ctrl_out--;
		rs_flow_ctrl_sent(&f);
	} else if (out_n) {
		rs_flow_sent(&f, out[0]);
		memmove(out, out + 1, --out_n * sizeof(out[0]));
	}
}

/* True while the connection lives. */
static bool act(const uint8_t *r)
{
	uint32_t arg;
	int rc;

	memcpy(&arg, r + 1, sizeof(arg));
	switch (r[0] % 6) {
	case 0:
		rc = rs_flow_message(&f, arg, 4);
		CHECK(rc == -EPROTO || (rc >= 0 && rc <= 1 + RS_CTRL_SHUTDOWN));
		return rc >= 0;
	case 1:
		read_some(arg % (2 * RING));
		break;
	case 2:
		send_some(arg % 100000);
		break;
	case 3:
		grant();
		break;
	case 4:
		complete();
		break;
	default: /* the peer writes any value into the list */
		memcpy((uint8_t *)list + r[0] / 6 % (sizeof(list) - 3), &arg, sizeof(arg));
	}
	return true;
}

/* What was read is written as it was, and equal to itself. */
static void again(const struct sockaddr_storage *from, const uint8_t *data, size_t n)
{
	uint8_t dgram[RS_DGRAM_HDR_MAX];
	const struct sockaddr *sa = (const struct sockaddr *)from;

	CHECK(rs_addr_len(sa) && rs_addr_equal(sa, sa));
	CHECK(rs_dgram_put(dgram, sa) == n && dgram[0] == data[0]);
	rs_addr_any(sa);
}

static void again_udp(const struct rs_udp *udp, sa_family_t family)
{
	struct sockaddr_storage from = { .ss_family = family };
	uint8_t header[RS_UDP_HDR_MAX];
	struct rs_udp back;
	size_t n = rs_udp_put(header, udp, (const struct sockaddr *)&from);

	CHECK(rs_udp_get(&back, family, header, n) == (int)n && back.qpn == udp->qpn && back.op == udp->op);
}

static void again_conn(const struct rs_conn *conn)
{
	uint8_t bytes[RS_CONN_LEN];
	struct rs_conn back;

	rs_conn_put(bytes, conn);
	CHECK(rs_conn_get(&back, bytes, sizeof(bytes)) == 0 && back.credits == conn->credits);
	CHECK(back.data.length == conn->data.length && back.sgl.addr == conn->sgl.addr);
	back.sgl = rs_sge_swap(rs_sge_swap(back.sgl));
	CHECK(back.sgl.addr == conn->sgl.addr && back.iomap_size == conn->iomap_size);
}

static void headers(const uint8_t *data, size_t size)
{
	struct sockaddr_storage from;
	struct rs_udp udp;
	int rc = rs_dgram_get(&from, data, size);

	CHECK(rc == -EPROTO || (size_t)rc <= size);
	if (rc > 0)
		again(&from, data, (size_t)rc);
	rc = rs_udp_get(&udp, AF_INET, data, size);
	CHECK(rc == -EPROTO || ((size_t)rc <= size && udp.qpn <= 0xffffff));
	if (rc > 0)
		again_udp(&udp, AF_INET);
	rc = rs_udp_get(&udp, AF_INET6, data, size);
	CHECK(rc == -EPROTO || ((size_t)rc <= size && udp.qpn <= 0xffffff));
	if (rc > 0)
		again_udp(&udp, AF_INET6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct rs_conn good = { .credits = 8, .iomap = true, .iomap_size = 2,
					     .sgl = { 4096, 1, 2 }, .data = { 65536, 2, 5000 } };
	struct rs_conn conn;

	headers(data, size);
	if (size <= RS_CONN_LEN || rs_conn_get(&conn, data, RS_CONN_LEN)) {
		if (size <= RS_CONN_LEN || !(data[RS_CONN_LEN] & 1))
			return 0;
		conn = good;
	}
	CHECK(conn.credits && conn.sgl.length && conn.data.length);
	again_conn(&conn);
	memset(list, 0, sizeof(list));
	ctrl_out = out_n = 0;
	rs_flow_init(&f, 24, RQ, 4096, RING, msgs, data[RS_CONN_LEN] & 2);
	rs_flow_connect(&f, &conn);
	for (size_t at = RS_CONN_LEN + 1; at + RECORD <= size && act(data + at); at += RECORD)
		balanced();
	return 0;
}

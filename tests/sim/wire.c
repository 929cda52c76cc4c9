/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Correct traffic on the wire: opcodes, PSNs, pads, bits, ports. */
#include "support/cases.h"
#include "support/check.h"
#include "support/engine.h"
#include "support/tape.h"

#include "proto/ib/path.h"
#include "util/clock.h"

#define MTU 1024u

static const uint32_t sizes[] = { 0, 1, 3, MTU - 1, MTU, MTU + 1, 2 * MTU, (1u << 20) + 1 };

static uint32_t packets_of(uint32_t len)
{
	return len ? (len + MTU - 1) / MTU : 1;
}

/* Requests of a SEND or WRITE from tape entry `from` on. */
static void check_requests(struct rig *r, int from, uint32_t psn, uint32_t len, uint8_t first)
{
	uint32_t n = packets_of(len), k = 0;

	for (int i = from; i < r->tape.n; i++) {
		const struct tape_packet *x = &r->tape.v[i];
		/* Rows of four: first, middle, last, (last with immediate,) only. */
		uint8_t want = n == 1 ? first + 4 : k == 0 ? first : k == n - 1 ? first + 2 : first + 1;
		uint32_t part = k == n - 1 ? len - k * MTU : MTU;

		if (x->from != r->a.h->link)
			continue;
		CHECK_MSG(x->p.opcode == want, "opcode %02x, not %02x", x->p.opcode, want);
		CHECK(x->p.psn == ((psn + k) & 0xffffff) && x->p.payload_len == part);
		CHECK(x->p.pad == (-part & 3) && x->p.pkey == 0xffff && x->p.tver == 0);
		CHECK(k < n - 1 || x->p.ack_req);
		if (k == 0 && first == WIRE_RC_RDMA_WRITE_FIRST)
			CHECK(x->p.dma_len == len && x->p.va == (uintptr_t)r->b.mem);
		k++;
	}
	CHECK_MSG(k == n, "%u packets, not %u", k, n);
}

static void sends_and_writes(void)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ .psn_a = 0xfffffa, .timeout = 14 }, 2 << 20);
	uint32_t psn = 0xfffffa;

	for (int write = 0; write < 2; write++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			uint32_t len = sizes[i];

			r->tape.n = 0;
			memset(r->b.mem, 0, len + 8);
			pattern_fill(r->a.mem, len, (unsigned)i);
			if (!write)
				rig_recv(r, i, 0, len);
			rig_op(r, write ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, i, 0, 0, len, 0);
			CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS).wr_id == i);
			if (!write)
				CHECK(sim_wc_is(&r->w, r->b.rcq, IBV_WC_SUCCESS).byte_len == len);
			pattern_check(r->b.mem, len, (unsigned)i);
			bytes_are(r->b.mem + len, 8, 0);
			check_requests(r, 0, psn, len,
				       write ? WIRE_RC_RDMA_WRITE_FIRST : WIRE_RC_SEND_FIRST);
			psn += packets_of(len);
		}
	rig_close(r);
}

/* Requests for adjoining pieces; answers are one row of PSNs, the next request follows them. */
static void reads(void)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ .psn_a = 77, .timeout = 14 }, 2 << 20);
	uint32_t psn = 77;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint32_t len = sizes[i], k = 0, asked = 0;

		r->tape.n = 0;
		pattern_fill(r->b.mem, len, (unsigned)i);
		rig_op(r, IBV_WR_RDMA_READ, i, 0, 0, len, 0);
		CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS).byte_len == len);
		pattern_check(r->a.mem, len, (unsigned)i);
		for (int t = 0; t < r->tape.n; t++) {
			const struct wire_ib_packet *p = &r->tape.v[t].p;

			if (p->opcode == WIRE_RC_RDMA_READ_REQUEST) {
				CHECK(p->psn == psn + asked / MTU);
				CHECK(p->va == (uintptr_t)r->b.mem + asked);
				asked += p->dma_len;
				continue;
			}
			CHECK(p->psn == psn + k && (p->payload_len == MTU || p->psn == psn + len / MTU));
			CHECK(p->pad == (-p->payload_len & 3));
			k++;
		}
		CHECK(asked == len && k == packets_of(len));
		psn += k;
		r->tape.n = 0;
		rig_op(r, IBV_WR_RDMA_WRITE, 50, 0, 0, 4, 0);
		CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS).wr_id == 50);
		CHECK(r->tape.v[0].p.psn == psn++);
	}
	rig_close(r);
}

static void solicited_bit(void)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ 0 }, 1 << 16);
	static const struct {
		enum ibv_wr_opcode code;
		bool carries;
	} rows[] = { { IBV_WR_SEND, true }, { IBV_WR_RDMA_WRITE_WITH_IMM, true },
		     { IBV_WR_RDMA_WRITE, false }, { IBV_WR_RDMA_READ, false } };

	for (size_t i = 0; i < 4; i++) {
		r->tape.n = 0;
		rig_recv(r, i, 0, 8192);
		rig_op(r, rows[i].code, i, 0, 16384, 3 * MTU, IBV_SEND_SOLICITED);
		sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS);
		for (int t = 0; t < r->tape.n; t++) {
			const struct tape_packet *x = &r->tape.v[t];
			bool last = x->p.opcode == WIRE_RC_SEND_LAST ||
				    x->p.opcode == WIRE_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE;

			CHECK(x->p.se == (rows[i].carries && last));
		}
	}
	rig_close(r);
}

static void source_ports(void)
{
	static const struct {
		uint32_t label, a, b;
		uint16_t port;
	} rows[] = {
		{ 0, 0x11, 0x11, 49441 }, { 0, 0x12, 0x12, 49476 }, { 0x62d2b, 1, 2, 60723 },
		{ 0x8ba59, 3, 4, 64123 }, { 0x3f18e, 0, 0, 61825 },
	};
	struct rig *r = rig_open(&(struct sim_qp_options){ 0 }, 4096);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CHECK(ibp_flow_sport(rows[i].label, rows[i].a, rows[i].b) == rows[i].port);
		CHECK(ibp_flow_sport(rows[i].label, rows[i].b, rows[i].a) == rows[i].port);
	}
	rig_recv(r, 0, 0, 64);
	rig_op(r, IBV_WR_SEND, 0, 0, 0, 64, 0);
	sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS);
	CHECK(r->tape.n == 2 && r->tape.v[0].from != r->tape.v[1].from);
	CHECK(r->tape.v[0].sport == ibp_flow_sport(0, r->a.qp->qpn, r->b.qp->qpn));
	CHECK(r->tape.v[1].sport == r->tape.v[0].sport);
	rig_close(r);
}

/* Many QPs and one with a long message: no other QP waits for its end. */
static void fairness(void)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ .timeout = 16 }, 2 << 20);
	struct sim_end a[6], b[6];
	struct ibv_wc wc;

	for (int i = 0; i < 6; i++) {
		sim_pair(&a[i], r->a.h, &b[i], r->b.h, &(struct sim_qp_options){ .timeout = 16 });
		sim_end_memory(&a[i], 8192);
		sim_end_memory(&b[i], 8192);
	}
	rig_op(r, IBV_WR_RDMA_WRITE, 0, 0, 0, 2 << 20, 0);
	for (int i = 0; i < 6; i++) {
		struct sim_op o = { .code = IBV_WR_RDMA_WRITE, .at = a[i].mem, .len = 8192,
				    .remote = b[i].mem, .rkey = b[i].mr->key };

		CHECK(sim_post(&a[i], &o) == 0);
	}
	for (int i = 0; i < 6; i++) {
		sim_wc_is(&r->w, a[i].scq, IBV_WC_SUCCESS);
		CHECK(eng_cq_held(r->a.scq) == 0);
	}
	wc = sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS);
	CHECK(wc.wr_id == 0);
	for (int i = 0; i < 6; i++) {
		sim_end_close(&a[i]);
		sim_end_close(&b[i]);
	}
	rig_close(r);
}

/* 96: packets with the congestion mark. */
static int mark(struct tape *t, const struct tape_packet *x, struct sim_packet *raw)
{
	raw->flow.tos |= x->p.opcode == WIRE_CNP_NOTIFICATION ? 0 : 3;
	return 1;
}

static void congestion(void)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ .timeout = 14, .traffic_class = 0x22 },
				 1 << 20);
	const struct tape_packet *x;
	uint64_t last = 0;
	int n;

	r->tape.judge = mark;
	rig_op(r, IBV_WR_RDMA_WRITE, 0, 0, 0, 1 << 20, 0);
	sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS);
	CHECK(tape_find(&r->tape, WIRE_RC_ACKNOWLEDGE, 0)->tos == 0x22);
	n = tape_count(&r->tape, WIRE_CNP_NOTIFICATION);
	CHECK(n > 2);
	for (int i = 0, side = 0; i < n; i++) {
		x = tape_find(&r->tape, WIRE_CNP_NOTIFICATION, i);
		side = x->from == r->a.h->link;
		CHECK(x->p.dest_qpn == (side ? r->b.qp->qpn : r->a.qp->qpn));
		CHECK(x->p.becn && !x->p.fecn && !x->p.se && !x->p.migreq && !x->p.ack_req);
		CHECK(x->p.psn == 0 && x->p.pkey == 0xffff && x->p.pad == 0);
		CHECK(x->p.shape->hdr_len == 28);
		CHECK(x->tos == 0x20);
		if (side)
			continue;
		CHECK_MSG(!last || x->at - last >= 50000, "%llu ns after the last",
			  (unsigned long long)(x->at - last));
		last = x->at;
	}
	eng_dev_held(&r->a.h->dev); /* one thread */
	CHECK(sim_counter(r->a.h, ENG_C_rp_cnp_handled) > 0);
	rig_close(r);
}

static const struct test_case cases[] = {
	{ "20", "sends and writes of all sizes", sends_and_writes },
	{ "20 22", "reads of all sizes; the next PSN", reads },
	{ "61", "solicited bit on the last packet only", solicited_bit },
	{ "95", "source ports, equal in both directions", source_ports },
	{ "-", "a long message does not hold up other QPs", fairness },
	{ "96", "congestion notifications: bytes and rate", congestion },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* QP1: the bytes of MADs on the wire, which ones are taken, and how many wait. */
#include "proto/ib/gsi.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/crafted.h"
#include "wire/cm_fields.h"

#include <errno.h>
#include <stdlib.h>

#define QUEUE 256u

static struct {
	int n;
	struct gsi_rx rx;
	uint8_t mad[WIRE_MAD_BYTES];
} got;

static void received(struct eng_dev *dev, const struct gsi_rx *rx, uint64_t now)
{
	CHECK(now > 0 && rx->raw && rx->raw->len == 280);
	got.n++;
	got.rx = *rx;
	memcpy(got.mad, rx->mad, sizeof(got.mad));
	(void)dev;
}

static const struct gsi_user user = { .mgmt_class = WIRE_MAD_CLASS_CM, .received = received };

static struct crafted *begin(void)
{
	memset(&got, 0, sizeof(got));
	return crafted_open_gsi(&user);
}

static struct eng_av to(const uint8_t addr[16])
{
	struct eng_av av = { .is_global = 1, .port_num = 1, .traffic_class = 0x28,
			     .hop_limit = 64 };

	memcpy(av.dgid, addr, 16);
	return av;
}

static void pattern(uint8_t mad[WIRE_MAD_BYTES], unsigned salt)
{
	for (unsigned i = 0; i < WIRE_MAD_BYTES; i++)
		mad[i] = (uint8_t)(i * 7 + salt * 13);
	mad[1] = WIRE_MAD_CLASS_CM;
}

static int send_mad(struct crafted *c, const uint8_t addr[16], unsigned salt)
{
	struct eng_av av = to(addr);
	uint8_t mad[WIRE_MAD_BYTES];

	pattern(mad, salt);
	return ibp_gsi_send(&c->e.h->dev, &av, mad);
}

/* As rdma_rxe sends it. */
static void on_the_wire(void)
{
	struct crafted *c = begin();
	uint8_t mad[WIRE_MAD_BYTES];

	CHECK(!ibp_busy(&c->e.h->dev));
	for (unsigned i = 0; i < 3; i++)
		CHECK(send_mad(c, c->addr, i) == 0);
	CHECK(ibp_busy(&c->e.h->dev));
	crafted_run(c, 2 * SIM_DELAY);
	CHECK(!ibp_busy(&c->e.h->dev));
	for (unsigned i = 0; i < 3; i++) {
		const struct crafted_rx *x = crafted_next(c);

		CHECK(x && x->p.opcode == WIRE_UD_SEND_ONLY && x->p.psn == i && x->p.dest_qpn == 1);
		CHECK(x->p.src_qpn == 1 && x->p.qkey == 0x80010000u && x->p.pkey == 0xffff);
		CHECK(x->p.ack_req && !x->p.se && !x->p.migreq && x->p.pad == 0 && !x->p.tver);
		CHECK(x->sport == 55410 && x->ttl == 64 && x->tos == 0x28 && x->len == 280);
		pattern(mad, i);
		CHECK(x->p.payload_len == 256 && !memcmp(x->p.payload, mad, 256));
	}
	crafted_want_nothing(c);
	CHECK(crafted_counter(c, ENG_C_tx_pkts) == 3 && crafted_counter(c, ENG_C_tx_bytes) == 840);
	crafted_close(c);
}

#define MAD(...)                                                                        \
	CRAFT(c, mad, 256, .opcode = WIRE_UD_SEND_ONLY, .dest_qpn = 1, .src_qpn = 1,    \
	      .qkey = WIRE_QKEY_GSI, __VA_ARGS__)

static void taken(void)
{
	struct crafted *c = begin();
	uint8_t mad[WIRE_MAD_BYTES];

	pattern(mad, 9);
	c->tos = 0x40;
	MAD(.psn = 77);
	CHECK(got.n == 1 && !memcmp(got.mad, mad, sizeof(mad)));
	CHECK(!memcmp(got.rx.src, c->addr, 16) && !memcmp(got.rx.dst, c->e.h->addr, 16));
	CHECK(got.rx.pkey == 0xffff && got.rx.traffic_class == 0x40);
	/* Any PSN, a limited member, no A bit needed, any sender QP. */
	MAD(.psn = 5, .pkey = 0x7fff, .ack_req = true);
	CHECK(got.n == 2 && got.rx.pkey == 0x7fff);
	crafted_want_nothing(c);
	crafted_close(c);
}

static void dropped(struct crafted *c, enum eng_counter k, const char *what)
{
	CHECK_MSG(got.n == 0 && crafted_counter(c, k) == 1, "%s: %d taken, %llu counted", what,
		  got.n, (unsigned long long)crafted_counter(c, k));
	crafted_want_nothing(c);
	crafted_close(c);
}

static void refused(void)
{
	static const uint32_t sizes[] = { 0, 4, 252, 255, 257, 260, 512 };
	uint8_t mad[600] = { 1, 7, 2, 3 };
	struct crafted *c;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		c = begin();
		CRAFT(c, mad, sizes[i], .opcode = WIRE_UD_SEND_ONLY, .dest_qpn = 1, .src_qpn = 1,
		      .qkey = WIRE_QKEY_GSI);
		dropped(c, ENG_C_rx_short, "another size");
	}
	c = begin();
	CRAFT(c, mad, 256, .opcode = WIRE_UD_SEND_ONLY, .dest_qpn = 1, .src_qpn = 1,
	      .qkey = WIRE_QKEY_GSI + 1);
	dropped(c, ENG_C_rx_bad_qkey, "Q_Key");
	c = begin();
	MAD(.pkey = 0x8001);
	dropped(c, ENG_C_rx_bad_pkey, "P_Key");
	c = begin();
	c->flip_icrc = 4;
	MAD(.psn = 1);
	dropped(c, ENG_C_rx_icrc_errors, "ICRC");
	c = begin();
	CRAFT(c, mad, 256, .opcode = WIRE_UD_SEND_ONLY_WITH_IMMEDIATE, .dest_qpn = 1,
	      .src_qpn = 1, .qkey = WIRE_QKEY_GSI);
	dropped(c, ENG_C_rx_no_qp, "immediate");
	c = begin();
	CRAFT(c, mad, 256, .opcode = WIRE_RC_SEND_ONLY, .dest_qpn = 1);
	dropped(c, ENG_C_rx_no_qp, "RC");
	c = crafted_open(NULL);
	memset(&got, 0, sizeof(got));
	MAD(.psn = 1);
	dropped(c, ENG_C_rx_no_qp, "nobody listens");
}

/* A full socket keeps MADs in order; a full queue refuses; no MAD is lost. */
static void many(void)
{
	struct crafted *c = begin();
	uint8_t mad[WIRE_MAD_BYTES];

	sim_link_block(c->e.h->link, true);
	for (unsigned i = 0; i < QUEUE; i++)
		CHECK(send_mad(c, c->addr, i) == 0);
	CHECK(send_mad(c, c->addr, 0) == -EAGAIN);
	ibp_transmit(&c->e.h->dev, c->w.now, ENG_ACKS_NOW);
	CHECK(ibp_busy(&c->e.h->dev) && send_mad(c, c->addr, 0) == -EAGAIN);
	sim_link_block(c->e.h->link, false);
	/* With a socket that takes them a full queue makes room by itself. */
	for (unsigned i = QUEUE; i < QUEUE + 100; i++)
		CHECK(send_mad(c, c->addr, i) == 0);
	crafted_run(c, 4 * SIM_DELAY);
	for (unsigned i = 0; i < QUEUE + 100; i++) {
		const struct crafted_rx *x = crafted_next(c);

		pattern(mad, i);
		CHECK_MSG(x && x->p.psn == i && !memcmp(x->p.payload, mad, 256), "MAD %u", i);
	}
	crafted_want_nothing(c);
	crafted_close(c);
}

static void no_way(void)
{
	struct crafted *c = begin();
	struct eng_av av = to(c->addr);
	uint8_t mad[WIRE_MAD_BYTES] = { 0 }, v6[16] = { 0xfd, [15] = 1 };

	av.sgid_index = 7;
	CHECK(ibp_gsi_send(&c->e.h->dev, &av, mad) == -EINVAL);
	av.sgid_index = 255;
	CHECK(ibp_gsi_send(&c->e.h->dev, &av, mad) == -EINVAL);
	CHECK(send_mad(c, v6, 0) == -EINVAL);
	av = to(c->addr);
	av.is_global = 0;
	CHECK(ibp_gsi_send(&c->e.h->dev, &av, mad) == -EINVAL);
	crafted_run(c, SIM_DELAY);
	crafted_want_nothing(c);
	crafted_close(c);
}

static void to_ourselves(void)
{
	struct crafted *c = begin();
	uint8_t mad[WIRE_MAD_BYTES];

	CHECK(send_mad(c, c->e.h->addr, 3) == 0);
	crafted_run(c, 2 * SIM_DELAY);
	pattern(mad, 3);
	CHECK(got.n == 1 && !memcmp(got.mad, mad, sizeof(mad)));
	CHECK(!memcmp(got.rx.src, c->e.h->addr, 16) && !memcmp(got.rx.dst, c->e.h->addr, 16));
	crafted_close(c);
}

static const struct test_case cases[] = {
	{ "-", "MADs on the wire", on_the_wire },
	{ "-", "MADs that are taken", taken },
	{ "-", "MADs that are refused", refused },
	{ "-", "many MADs and a full socket", many },
	{ "-", "no way to send a MAD", no_way },
	{ "-", "MADs to ourselves", to_ourselves },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

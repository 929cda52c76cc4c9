/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Paths from address vectors, by the rules of either link layer, and the attributes that each of
 * them admits. */
#include "fake.h"

#include "engine/gid.h"
#include "proto/ib/port.h"

#include <errno.h>
#include <stdlib.h>

static const uint8_t HERE4[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
static const uint8_t THERE4[16] = { [10] = 0xff, 0xff, 10, 0, 0, 2 };
static const uint8_t HERE6[16] = { 0xfe, 0x80, [15] = 1 };
static const uint8_t THERE6[16] = { 0xfe, 0x80, [15] = 2 };
static const uint8_t GROUP6[16] = { 0xff, 0x12, [15] = 9 };

static struct fake f;
static struct ibp_port *port;

static struct eng_av to(const uint8_t gid[16], uint8_t sgid)
{
	struct eng_av av = { .sgid_index = sgid, .is_global = 1, .port_num = ENG_PORT_NUM,
			     .traffic_class = 0x28, .flow_label = 0x12345, .hop_limit = 3 };

	memcpy(av.dgid, gid, 16);
	return av;
}

static void from_grh(void)
{
	struct link_rx back = { 0 };
	struct eng_av av = to(THERE4, 0);
	struct ibp_path p = { 0 };

	CHECK(ibp_path_set(port, &p, &av, 50000) == 0 && p.valid);
	CHECK(!memcmp(p.flow.src, HERE4, 16) && !memcmp(p.flow.dst, THERE4, 16));
	CHECK(p.flow.scope == 7 && p.flow.sport == 50000 && p.flow.tos == 0x28 && p.flow.ttl == 64);
	CHECK(!p.flow.lids && !p.flow.dlid && !p.flow.grh && p.icrc.head_len && p.icrc.kind == WIRE_ICRC_V4);
	memcpy(back.src, THERE4, 16);
	memcpy(back.dst, HERE4, 16);
	CHECK(ibp_path_admits(&p, &back) && ibp_path_between(&p, THERE4, HERE4));
	memcpy(back.src, HERE4, 16);
	CHECK(!ibp_path_admits(&p, &back));
	p.valid = false;
	CHECK(!ibp_path_between(&p, THERE4, HERE4));
	av = to(THERE6, 1);
	CHECK(ibp_path_set(port, &p, &av, 0) == 0 && p.icrc.kind == WIRE_ICRC_V6);
	av = to(THERE6, 0); /* families differ */
	CHECK(ibp_path_set(port, &p, &av, 0) == -EINVAL);
	av = to(THERE6, 2); /* empty */
	CHECK(ibp_path_set(port, &p, &av, 0) == -ENODATA);
	av = to(THERE6, ENG_GIDS_MAX);
	CHECK(ibp_path_set(port, &p, &av, 0) == -EINVAL);
	av = to(THERE4, 0);
	av.is_global = 0;
	av.dlid = 5; /* has no meaning here */
	CHECK(ibp_path_set(port, &p, &av, 0) == -EINVAL);
	port->cfg.no_grh_is_self = true;
	CHECK(ibp_path_set(port, &p, &av, 0) == 0 && !memcmp(p.flow.dst, HERE4, 16));
	port->cfg.no_grh_is_self = false;
}

static void from_lid(void)
{
	struct eng_av av = { .dlid = 9, .sl = 3, .src_path_bits = 3, .static_rate = IBV_RATE_5_GBPS };
	struct link_rx back = { .lids = true, .slid = 9, .dlid = 19 };
	struct ibp_path p = { 0 };

	CHECK(ibp_path_set(port, &p, &av, 50000) == 0 && p.valid);
	CHECK(p.flow.lids && !p.flow.grh && p.flow.slid == 19 && p.flow.dlid == 9 && p.flow.sl == 3);
	CHECK(p.flow.rate == IBV_RATE_5_GBPS && !p.flow.sport && p.icrc.kind == WIRE_ICRC_LOCAL);
	CHECK(ibp_path_admits(&p, &back));
	back.dlid = 16; /* another of the port's LIDs */
	CHECK(!ibp_path_admits(&p, &back));
	back.dlid = 19;
	back.slid = 10;
	CHECK(!ibp_path_admits(&p, &back));
	back.slid = 9;
	back.grh = true; /* the connection has none */
	CHECK(!ibp_path_admits(&p, &back));
	av.src_path_bits = 4 | 1; /* LMC is 2 */
	CHECK(ibp_path_set(port, &p, &av, 0) == 0 && p.flow.slid == 17);
	av.src_path_bits = 0;
	av.dlid = 0;
	CHECK(ibp_path_set(port, &p, &av, 0) == -EINVAL);
	av.dlid = 0xffff;
	CHECK(ibp_path_set(port, &p, &av, 0) == -EINVAL);
	av.dlid = 0xc001; /* a group needs a GRH that names it */
	CHECK(ibp_path_set(port, &p, &av, 0) == -EINVAL);
}

static void from_lid_and_grh(void)
{
	struct link_rx back = { .lids = true, .slid = 9, .dlid = 16, .grh = true };
	struct eng_av av = to(THERE6, 1);
	struct ibp_path p = { 0 };

	av.dlid = 9;
	CHECK(ibp_path_set(port, &p, &av, 0) == 0 && p.flow.grh && p.flow.slid == 16);
	CHECK(!memcmp(p.flow.src, HERE6, 16) && !memcmp(p.flow.dst, THERE6, 16));
	CHECK(p.flow.scope == 0x12345 && p.flow.tos == 0x28 && p.flow.ttl == 3);
	CHECK(p.icrc.kind == WIRE_ICRC_GLOBAL);
	memcpy(back.src, THERE6, 16);
	memcpy(back.dst, HERE6, 16);
	CHECK(ibp_path_admits(&p, &back));
	memcpy(back.src, GROUP6, 16);
	CHECK(!ibp_path_admits(&p, &back));
	memcpy(back.src, THERE6, 16);
	back.grh = false;
	CHECK(!ibp_path_admits(&p, &back));
	av = to(GROUP6, 1);
	av.dlid = 0xc001;
	CHECK(ibp_path_set(port, &p, &av, 0) == 0 && p.flow.dlid == 0xc001);
	av = to(THERE6, 2);
	av.dlid = 9;
	CHECK(ibp_path_set(port, &p, &av, 0) == -ENODATA);
	av.sgid_index = ENG_GIDS_MAX;
	CHECK(ibp_path_set(port, &p, &av, 0) == -EINVAL);
}

/* As rdma_rxe computes them. */
static void source_ports(void)
{
	CHECK(ibp_datagram_sport(1) == 55410);
	CHECK(ibp_flow_sport(0, 17, 42) == ibp_flow_sport(0, 42, 17));
	CHECK(ibp_flow_sport(0x4321, 1, 2) == (0xc000 | (0x321 ^ 1)));
}

int main(void) UT_NO_TSA /* the one thread */
{
	struct eng_gid g = { .ifindex = 7 };

	fake_open(&f);
	port = calloc(1, sizeof(*port));
	CHECK(port);
	port->dev = &f.dev;
	memcpy(g.gid.raw, HERE4, 16);
	CHECK(eng_gid_add(&f.dev, &g) == 0);
	memcpy(g.gid.raw, HERE6, 16);
	CHECK(eng_gid_add(&f.dev, &g) == 1);
	from_grh();
	f.dev.port.link_layer = IBV_LINK_LAYER_INFINIBAND;
	f.dev.port.lid = 16;
	f.dev.port.lmc = 2;
	from_lid();
	from_lid_and_grh();
	source_ports();
	free(port);
	while (fake_event(&f) >= 0)
		;
	fake_close(&f);
	return 0;
}

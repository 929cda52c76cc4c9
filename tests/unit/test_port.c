/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The port of an adapter: its tables, the result of a query, and the address vectors that name it. */
#include "fake.h"

#include "engine/gid.h"

#include <errno.h>
#include <string.h>

static void pkeys(struct fake *f) UT_NO_TSA /* the one thread */
{
	static const struct {
		uint16_t a, b;
		bool matches;
	} rows[] = {
		{ 0xffff, 0xffff, true },  { 0xffff, 0x7fff, true },  { 0x7fff, 0xffff, true },
		{ 0x7fff, 0x7fff, false }, { 0x8001, 0x8002, false }, { 0x8001, 0x0001, true },
		{ 0x8000, 0x8000, false }, { 0x0000, 0x0000, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK(eng_pkey_matches(rows[i].a, rows[i].b) == rows[i].matches);
	CHECK(eng_port_pkey(&f->dev, 0) == 0xffff && eng_port_pkey(&f->dev, 1) == 0);
	CHECK(eng_port_pkey_index(&f->dev, 0xffff) == 0);
	CHECK(eng_port_pkey_index(&f->dev, 0x7fff) == -ENOENT);
	CHECK(eng_port_admits_pkey(&f->dev, 0x7fff) && !eng_port_admits_pkey(&f->dev, 0x8001));
	f->dev.port.n_pkeys = 3; /* one in the middle is empty */
	f->dev.port.pkeys[2] = 0x0001;
	CHECK(eng_port_pkey(&f->dev, 1) == 0 && eng_port_pkey_index(&f->dev, 0x0001) == 2);
	CHECK(eng_port_admits_pkey(&f->dev, 0x8001) && !eng_port_admits_pkey(&f->dev, 0x0001));
	CHECK(!eng_port_admits_pkey(&f->dev, 0));
	f->dev.port.n_pkeys = 0; /* as on iWARP */
	CHECK(eng_port_pkey(&f->dev, 0) == 0 && !eng_port_admits_pkey(&f->dev, 0xffff));
	eng_port_init(&f->dev.port);
}

static void query(struct fake *f) UT_NO_TSA
{
	struct ibv_port_attr a;

	CHECK(eng_port_query(&f->dev, &a) == 0);
	CHECK(a.state == IBV_PORT_DOWN && a.link_layer == IBV_LINK_LAYER_ETHERNET && !a.lid);
	CHECK(a.gid_tbl_len == ENG_GIDS_MAX && a.pkey_tbl_len == 1 && a.active_mtu == IBV_MTU_256);
	f->dev.port.link_layer = IBV_LINK_LAYER_INFINIBAND;
	f->dev.port.state = IBV_PORT_ARMED;
	f->dev.port.lid = 17;
	f->dev.port.lmc = 2;
	f->dev.port.sm_lid = 1;
	f->dev.port.sm_sl = 4;
	CHECK(eng_port_query(&f->dev, &a) == 0);
	CHECK(a.state == IBV_PORT_ARMED && a.link_layer == IBV_LINK_LAYER_INFINIBAND);
	CHECK(a.lid == 17 && a.lmc == 2 && a.sm_lid == 1 && a.sm_sl == 4);
	eng_port_init(&f->dev.port);
	CHECK(eng_port_is(ENG_PORT_NUM) && !eng_port_is(0) && !eng_port_is(ENG_PORT_NUM + 1));
}

static void gids(struct fake *f)
{
	struct eng_gid g = { .gid.raw = { 0xfe, 0x80, [15] = 1 }, .ifindex = 3 }, got;

	ut_lock(&f->dev.lock);
	CHECK(eng_gid_find(&f->dev, &g.gid) == -ENOENT && !eng_gid_at(&f->dev, 0));
	CHECK(eng_gid_add(&f->dev, &g) == 0 && eng_gid_add(&f->dev, &g) == 0);
	g.gid.raw[15] = 2;
	CHECK(eng_gid_add(&f->dev, &g) == 1);
	eng_gid_del(&f->dev, 0);
	CHECK(eng_gid_find(&f->dev, &g.gid) == 1 && eng_gid_at(&f->dev, 1)->ifindex == 3);
	ut_unlock(&f->dev.lock);
	CHECK(eng_gid_get(&f->dev, 0, &got) == -ENODATA);
	CHECK(eng_gid_get(&f->dev, ENG_GIDS_MAX, &got) == -EINVAL);
	CHECK(eng_gid_get(&f->dev, 1, &got) == 0 && got.gid.raw[15] == 2);
	CHECK(fake_event(f) == IBV_EVENT_GID_CHANGE);
	while (fake_event(f) >= 0)
		;
}

/* Everything that a program says of a path is kept. */
static void address_vector(void)
{
	const struct ibv_ah_attr a = {
		.grh = { .dgid.raw = { 1, 2, 3 }, .flow_label = 0xfffff, .sgid_index = 4, .hop_limit = 5,
			 .traffic_class = 6 },
		.dlid = 0x1234, .sl = 7, .src_path_bits = 3, .static_rate = IBV_RATE_10_GBPS,
		.is_global = 1, .port_num = ENG_PORT_NUM,
	};
	struct ibv_ah_attr back;
	struct eng_av av;

	eng_av_from_attr(&av, &a);
	CHECK(av.dlid == 0x1234 && av.sl == 7 && av.src_path_bits == 3 && av.static_rate == IBV_RATE_10_GBPS);
	eng_av_to_attr(&av, &back);
	CHECK(!memcmp(&a.grh, &back.grh, sizeof(a.grh)) && back.dlid == a.dlid && back.sl == a.sl &&
	      back.src_path_bits == a.src_path_bits && back.static_rate == a.static_rate &&
	      back.is_global && back.port_num == a.port_num);
}

int main(void)
{
	struct fake f;

	fake_open(&f);
	pkeys(&f);
	query(&f);
	gids(&f);
	fake_close(&f);
	address_vector();
	return 0;
}

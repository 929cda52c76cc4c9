/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The transport between ports of InfiniBand: packets go from LID to LID, with a GRH and without one. Each kind of
 * message arrives over each service, under loss and damage too; a packet of another LID, partition or kind than the
 * connection's does not.
 */
#include "engine/gid.h"
#include "engine/mcast.h"
#include "proto/ib/port.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/engine.h"
#include "support/simhost.h"
#include "util/clock.h"
#include "wire/ib_link.h"
#include "wire/icrc.h"

#include <string.h>

#define BYTES 65536u
#define GRH 40u

static const struct sim_qp_options ways[] = {
	{ .sl = 0 },
	{ .sl = 5, .path_bits = 3 },
	{ .grh = true, .sl = 2, .traffic_class = 0xff },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

struct pair {
	struct sim_world w;
	struct sim_end a, b;
};

static void open_pair(struct pair *p, const struct sim_qp_options *o, unsigned rate)
{
	struct link_fault_rates rates = { .loss = rate, .corrupt = rate, .dup = rate, .reorder = rate };

	sim_world_open(&p->w, &(struct sim_options){ .seed = 11, .lids = true, .net = { .rates = rates } });
	sim_pair(&p->a, &p->w.host[0], &p->b, &p->w.host[1], o);
	sim_end_memory(&p->a, BYTES);
	sim_end_memory(&p->b, BYTES);
	for (uint32_t i = 0; i < BYTES; i++)
		p->a.mem[i] = (uint8_t)(i * 7 + (i >> 8));
}

static void close_pair(struct pair *p)
{
	sim_end_close(&p->a);
	sim_end_close(&p->b);
	sim_world_close(&p->w);
}

static void send_and_receive(struct pair *p, uint32_t len)
{
	struct ibv_wc wc;

	memset(p->b.mem, 0, BYTES);
	CHECK(sim_post_recv(&p->b, 1, p->b.mem, BYTES) == 0);
	CHECK(sim_post(&p->a, &(struct sim_op){ .code = IBV_WR_SEND, .id = 2, .at = p->a.mem, .len = len }) == 0);
	sim_wc_is(&p->w, p->a.scq, IBV_WC_SUCCESS);
	wc = sim_wc_is(&p->w, p->b.rcq, IBV_WC_SUCCESS);
	CHECK(wc.byte_len == len && !memcmp(p->a.mem, p->b.mem, len));
}

static void write_and_read(struct pair *p, uint32_t len)
{
	struct sim_op o = { .code = IBV_WR_RDMA_WRITE, .id = 3, .at = p->a.mem, .len = len, .remote = p->b.mem,
			    .rkey = p->b.mr->key };

	memset(p->b.mem, 0, BYTES);
	CHECK(sim_post(&p->a, &o) == 0);
	sim_wc_is(&p->w, p->a.scq, IBV_WC_SUCCESS);
	if (p->a.qp->type == IBV_QPT_UC) /* it completes when it has left */
		sim_run(&p->w, UT_MS, NULL, NULL);
	CHECK(!memcmp(p->a.mem, p->b.mem, len));
	if (p->a.qp->type != IBV_QPT_RC)
		return;
	memset(p->b.mem, 0xa5, len);
	o.code = IBV_WR_RDMA_READ;
	CHECK(sim_post(&p->a, &o) == 0);
	sim_wc_is(&p->w, p->a.scq, IBV_WC_SUCCESS);
	CHECK(!memcmp(p->a.mem, p->b.mem, len));
	for (uint32_t i = 0; i < BYTES; i++)
		p->a.mem[i] = (uint8_t)(i * 7 + (i >> 8));
}

static void add(struct pair *p)
{
	uint64_t *there = (uint64_t *)p->b.mem, *here = (uint64_t *)p->a.mem;
	struct sim_op o = { .code = IBV_WR_ATOMIC_FETCH_AND_ADD, .id = 4, .at = here, .len = 8, .remote = there,
			    .rkey = p->b.mr->key, .add = 5 };

	*there = 37;
	CHECK(sim_post(&p->a, &o) == 0);
	sim_wc_is(&p->w, p->a.scq, IBV_WC_SUCCESS);
	CHECK(*here == 37 && *there == 42);
}

static void connected(void)
{
	for (size_t i = 0; i < WAYS; i++) {
		for (unsigned rate = 0; rate <= 50; rate += 50) {
			struct sim_qp_options o = ways[i];
			struct pair p;

			o.retry = 7;
			open_pair(&p, &o, rate);
			for (uint32_t len = 0; len <= 50000; len = len * 3 + 1) {
				send_and_receive(&p, len);
				write_and_read(&p, len);
			}
			add(&p);
			CHECK(rate || sim_counter(&p.w.host[1], ENG_C_rx_icrc_errors) == 0);
			CHECK(!rate || sim_counter(&p.w.host[1], ENG_C_rx_icrc_errors) > 0);
			close_pair(&p);
		}
	}
}

static void unreliable_connected(void)
{
	for (size_t i = 0; i < WAYS; i++) {
		struct sim_qp_options o = ways[i];
		struct pair p;

		o.type = IBV_QPT_UC;
		open_pair(&p, &o, 0);
		send_and_receive(&p, 5000);
		write_and_read(&p, 5000);
		close_pair(&p);
	}
}

static void check_way(const struct pair *p, const struct sim_qp_options *o, const struct ibv_wc *wc)
{
	const uint8_t *grh = p->b.mem;
	struct wire_grh g;

	CHECK(wc->slid == p->a.h->lid + o->path_bits && wc->dlid_path_bits == o->path_bits && wc->sl == o->sl);
	CHECK(!!(wc->wc_flags & IBV_WC_GRH) == o->grh);
	if (!o->grh)
		return;
	CHECK(wire_grh_get(grh, GRH, &g) == 0 && g.ipver == 6 && g.nxt_hdr == WIRE_NXT_HDR_IBA);
	CHECK(!memcmp(g.sgid, p->a.h->addr, 16) && !memcmp(g.dgid, p->b.h->addr, 16));
	CHECK(g.tclass == o->traffic_class && g.hop_lmt == 64);
	CHECK(g.pay_len == WIRE_BTH_LEN + WIRE_DETH_LEN + 100 + WIRE_ICRC_LEN);
}

static void datagrams(void)
{
	for (size_t i = 0; i < WAYS; i++) {
		struct sim_qp_options o = ways[i];
		struct ibv_ah_attr attr;
		struct eng_ah *ah;
		struct ibv_wc wc;
		struct pair p;

		o.type = IBV_QPT_UD;
		open_pair(&p, &o, 0);
		attr = sim_way(p.b.h, &o);
		CHECK(eng_ah_create(p.a.h->pd, &attr, &ah) == 0);
		CHECK(sim_post_recv(&p.b, 1, p.b.mem, 2048) == 0);
		CHECK(sim_post(&p.a, &(struct sim_op){ .code = IBV_WR_SEND, .at = p.a.mem, .len = 100, .ah = ah,
						       .qpn = p.b.qp->qpn, .qkey = 0x1234 }) == 0);
		sim_wc_is(&p.w, p.a.scq, IBV_WC_SUCCESS);
		wc = sim_wc_is(&p.w, p.b.rcq, IBV_WC_SUCCESS);
		CHECK(wc.byte_len == 100 + GRH && !memcmp(p.b.mem + GRH, p.a.mem, 100));
		check_way(&p, &o, &wc);
		eng_ah_destroy(ah);
		close_pair(&p);
	}
}

static void group(void)
{
	static const union ibv_gid mgid = { .raw = { 0xff, 0x12, 0x40, 0x1b, [15] = 7 } };
	struct sim_qp_options o = { .type = IBV_QPT_UD };
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .dlid = 0xc003, .grh = { .dgid = mgid } };
	struct eng_ah *ah;
	struct pair p;

	open_pair(&p, &o, 0);
	CHECK(eng_mcast_attach(p.b.qp, &mgid) == 0);
	CHECK(eng_ah_create(p.a.h->pd, &attr, &ah) == 0);
	CHECK(sim_post_recv(&p.b, 1, p.b.mem, 2048) == 0);
	CHECK(sim_post(&p.a, &(struct sim_op){ .code = IBV_WR_SEND, .at = p.a.mem, .len = 64, .ah = ah,
					       .qpn = 0xffffff, .qkey = 0x1234 }) == 0);
	sim_wc_is(&p.w, p.a.scq, IBV_WC_SUCCESS);
	CHECK(sim_wc_is(&p.w, p.b.rcq, IBV_WC_SUCCESS).wc_flags & IBV_WC_GRH);
	CHECK(eng_mcast_detach(p.b.qp, &mgid) == 0);
	attr.is_global = 0; /* a group without its GID */
	eng_ah_destroy(ah);
	CHECK(eng_ah_create(p.a.h->pd, &attr, &ah) == -EINVAL);
	close_pair(&p);
}

/* --- what is not the connection's --- */

enum change { OTHER_SLID, OTHER_DLID, WITH_GRH, OTHER_SL, OTHER_GID };

static enum change change;
static unsigned changed;

static int alter(void *arg, struct sim_packet *p)
{
	struct sim_world *w = arg;

	if (p->to != w->host[1].link)
		return 1;
	changed++;
	switch (change) {
	case OTHER_SLID:
		p->flow.slid ^= 1;
		break;
	case OTHER_DLID:
		p->flow.dlid ^= 1;
		break;
	case WITH_GRH:
		p->flow.grh = 1;
		memcpy(p->flow.dst, w->host[1].addr, 16);
		break;
	case OTHER_SL:
		p->flow.sl ^= 1;
		break;
	case OTHER_GID:
		p->flow.dst[9] ^= 1;
		break;
	}
	return 1;
}

/* A header that changed on the way fails the ICRC, or the check of the connection before it. */
static void refuses(enum change what, bool grh, enum eng_counter counter)
{
	struct sim_qp_options o = { .grh = grh, .retry = 1 };
	struct pair p;

	open_pair(&p, &o, 0);
	change = what;
	changed = 0;
	sim_net_hook(p.w.net, alter, &p.w);
	CHECK(sim_post_recv(&p.b, 1, p.b.mem, 64) == 0);
	CHECK(sim_post(&p.a, &(struct sim_op){ .code = IBV_WR_SEND, .at = p.a.mem, .len = 64 }) == 0);
	sim_wc_is(&p.w, p.a.scq, IBV_WC_RETRY_EXC_ERR);
	CHECK_MSG(changed && sim_counter(&p.w.host[1], counter) == changed, "change %d: %llu of %u", what,
		  (unsigned long long)sim_counter(&p.w.host[1], counter), changed);
	close_pair(&p);
}

static void strangers(void)
{
	refuses(OTHER_SLID, false, ENG_C_rx_bad_source);
	refuses(OTHER_DLID, false, ENG_C_rx_bad_source);
	refuses(WITH_GRH, false, ENG_C_rx_bad_source);
	refuses(OTHER_SL, false, ENG_C_rx_icrc_errors);
	refuses(OTHER_GID, true, ENG_C_rx_bad_source);
	refuses(OTHER_SLID, true, ENG_C_rx_bad_source);
}

/* --- what a subnet manager changes --- */

static void set_pkey(struct sim_host *h, unsigned index, uint16_t pkey)
{
	ut_lock(&h->dev.lock);
	h->dev.port.pkeys[index] = pkey;
	ibp_port_changed(&h->dev);
	ut_unlock(&h->dev.lock);
}

static void partitions(void)
{
	struct sim_qp_options o = { .pkey_index = 2, .retry = 1 };
	struct pair p;

	open_pair(&p, &o, 0);
	set_pkey(p.a.h, 2, 0x8001);
	set_pkey(p.b.h, 2, 0x0001); /* a limited member may talk to a full one */
	send_and_receive(&p, 100);
	set_pkey(p.b.h, 2, 0);
	CHECK(sim_post(&p.a, &(struct sim_op){ .code = IBV_WR_SEND, .at = p.a.mem, .len = 8 }) == 0);
	sim_wc_is(&p.w, p.a.scq, IBV_WC_RETRY_EXC_ERR);
	CHECK(sim_counter(p.b.h, ENG_C_rx_bad_pkey) > 0);
	close_pair(&p);
}

/* The peers are told by other means, as a program that reconnects; here the LID comes back. */
static void new_lid(void)
{
	struct sim_qp_options o = { .retry = 1 };
	struct pair p;
	uint16_t was;

	open_pair(&p, &o, 0);
	was = p.a.h->lid;
	ut_lock(&p.a.h->dev.lock);
	p.a.h->dev.port.lid = 0x40;
	sim_link_lids(p.a.h->link, 0x40, SIM_LMC);
	ibp_port_changed(&p.a.h->dev);
	CHECK(ibp_qp(p.a.qp)->conn.path.flow.slid == 0x40);
	p.a.h->dev.port.lid = was;
	sim_link_lids(p.a.h->link, was, SIM_LMC);
	ibp_port_changed(&p.a.h->dev);
	ut_unlock(&p.a.h->dev.lock);
	send_and_receive(&p, 100);
	close_pair(&p);
}

/* The LIDs of the port itself. */
static void loopback(void)
{
	struct sim_qp_options o = { .sl = 1 };
	struct pair p;

	sim_world_open(&p.w, &(struct sim_options){ .seed = 3, .lids = true, .hosts = 1 });
	sim_pair(&p.a, &p.w.host[0], &p.b, &p.w.host[0], &o);
	sim_end_memory(&p.a, BYTES);
	sim_end_memory(&p.b, BYTES);
	send_and_receive(&p, 9000);
	close_pair(&p);
}

static const struct test_case cases[] = {
	{ "-", "RC: messages, Writes, Reads, atomics; with loss and damage", connected },
	{ "-", "UC: messages and Writes", unreliable_connected },
	{ "-", "UD: the completion tells LIDs, service level and GRH", datagrams },
	{ "-", "multicast by LID and GID", group },
	{ "57", "packets of other LIDs, GIDs, kinds and service levels are dropped", strangers },
	{ "57", "partitions, and a P_Key that is taken away", partitions },
	{ "-", "the port's LID changes", new_lid },
	{ "-", "a port's own LIDs", loopback },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

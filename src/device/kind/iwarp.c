/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * As with RoCE, link, protocol and manager are made when the first QP or connection needs them. No
 * address is claimed: ports are TCP ports, and QPNs do not leave the process, so all 24 bits are free and
 * random.
 *
 *   DAPPLE_LOCAL=...  how processes of this host reach each other (local_env.h)
 *   DAPPLE_MPA=word[,word...]  what this end wants of MPA:
 *	crc, nocrc          CRC32C on every FPDU (default: crc); it stays on if the peer wants it
 *	markers, nomarkers  ask the peer for markers (default: nomarkers); a peer that asks gets them
 *	rev1, rev2          Request frames of RFC 5044, or of RFC 6581 (default: rev2)
 *	nortr               no peer-to-peer set-up is offered
 */
#include "device/kind/iwarp.h"

#include "cm/mpa/mpa.h"
#include "device/kind/handover.h"
#include "device/kind/local_env.h"
#include "device/kind/probe_env.h"
#include "link/local/streams.h"
#include "link/tcp/tcp.h"
#include "observe/tap.h"
#include "proto/iwarp/iwp.h"
#include "proto/iwarp/qp.h"
#include "util/env.h"
#include "util/heap.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/rng.h"

#include <string.h>

#define RTR_DEFAULT (1u << PROTO_RTR_WRITE | 1u << PROTO_RTR_READ)
#define CAP_DEVICE_MGMT 0x80000

/* --- a round --- */

static int receive(struct dev_adapter *a, uint64_t now, bool cheap)
{
	struct link_streams *s = dev_iwarp_streams(a);
	int n;

	s->cheap = cheap;
	s->woken = dev_driver_took_events(&a->driver);
	n = s->ops->poll(s, now);
	s->cheap = s->woken = false;
	return n;
}

/* TCP acknowledges by itself, so no acknowledgement is deferred. */
static int transmit(struct eng_dev *dev, uint64_t now, enum eng_acks acks)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	int done = mpa_run(&a->cm, now);

	return done + iwp_transmit(dev, now);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t deadline(struct eng_dev *dev)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	struct link_streams *s = dev_iwarp_streams(a);
	uint64_t at = least(iwp_deadline(dev), mpa_deadline(&a->cm));

	return least(at, s->ops->deadline(s));
}

/* Takes in what streams in use have; what follows from it may need a round. A poll that need not ask sockets (look_of_poll()) is
 * a round, too. */
static int fast(struct eng_dev *dev, bool *ret_whole)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	struct link_streams *s = dev_iwarp_streams(a);
	int n;

	s->cheap = atomic_load_explicit(&a->driver.woke, memory_order_relaxed);
	s->woken = atomic_load_explicit(&a->driver.took_events, memory_order_relaxed);
	n = s->ops->peek(s);
	s->cheap = s->woken = false;
	a->yielding.asks = s->asked;
	*ret_whole = n > 0 && (iwp_busy(dev) || mpa_deadline(&a->cm) == 0);
	return n;
}

static enum proto_posted post(struct eng_qp *qp, unsigned how, uint64_t now)
{
	return (how & PROTO_POST_SEND) && iwp_fast_post(qp, how & (PROTO_POST_BATCH | PROTO_POST_MANY)) ? PROTO_SENT
												  : PROTO_NEEDS_ROUND;
}

static void sleep_on_link(struct dev_adapter *a, bool on, bool look)
{
	struct link_streams *s = dev_iwarp_streams(a);

	s->ops->sleep(s, on, look);
}

DEV_OVERLAY(static const struct dev_machine machine, DEV_DEFAULT_MACHINE,
	.receive = receive,
	.transmit = transmit,
	.busy = iwp_busy,
	.deadline = deadline,
	.fast = fast,
	.post = post,
	.may_coalesce = iwp_may_coalesce,
	.coalesce_more = iwp_coalesce_more,
	.sleep = sleep_on_link);

/* --- the environment --- */

static bool is(const char *word, size_t len, const char *what)
{
	return strlen(what) == len && memcmp(word, what, len) == 0;
}

static bool apply(struct mpa_config *cfg, const char *w, size_t n)
{
	if (is(w, n, "crc") || is(w, n, "nocrc"))
		cfg->crc = w[0] == 'c';
	else if (is(w, n, "markers") || is(w, n, "nomarkers"))
		cfg->markers = w[0] == 'm';
	else if (is(w, n, "rev1") || is(w, n, "rev2"))
		cfg->revision = w[3] == '1' ? 1 : 2;
	else if (is(w, n, "nortr"))
		cfg->rtr = 0;
	else
		return n == 0;
	return true;
}

static void read_env(struct mpa_config *cfg)
{
	const char *v = ut_env("DAPPLE_MPA");

	while (v && *v) {
		size_t n = strcspn(v, ",");

		if (!apply(cfg, v, n))
			ut_error("DAPPLE_MPA: \"%.*s\" is not one of crc, nocrc, markers, nomarkers, rev1, rev2, "
				 "nortr: it is left out; correct it, or unset DAPPLE_MPA", (int)n, v);
		v += n + (v[n] == ',');
	}
}

/* Lays the local path over TCP. */
static void go_local(struct link_streams **streams)
{
	unsigned allowed = dev_local_env(), how = LOCAL_CONNECTED;
	int r;

	if (!(allowed & DEV_LOCAL_SHM))
		return;
	if (allowed & DEV_LOCAL_HANDED_OVER)
		how |= LOCAL_HANDED_OVER;
	r = local_streams_open(*streams, how, streams);
	if (r < 0)
		ut_warn("cannot make shared memory (%s): processes of this host reach each other by TCP, "
			"which is slower; see dapple doctor, or set DAPPLE_LOCAL=off", strerror(-r));
}

/* --- life --- */

static int wire_manager(struct dev_adapter *a, struct link_streams *streams)
{
	struct mpa_config cfg = {
		.streams = streams,
		.proto = &iwp_stream_ops,
		.seed = ut_rng_seed(),
		.rd_max = (uint16_t)a->dev.attr.orig_attr.max_qp_rd_atom,
		.crc = true,
		.revision = 2,
		.rtr = RTR_DEFAULT,
	};

	read_env(&cfg);
	return mpa_init(&a->cm, &a->dev, &cfg);
}

static int wire(struct dev_adapter *a)
{
	struct iwp_config cfg = { .seed = ut_rng_seed() };
	int r = tcp_open(a->info.ifindex, &cfg.streams);

	if (r < 0)
		return r;
	cfg.streams->keepalive = (unsigned)((dev_probe_ns() + UT_S - 1) / UT_S);
	go_local(&cfg.streams);
	r = iwp_port_init(&a->dev, &cfg);
	if (r < 0)
		goto close_streams;
	r = wire_manager(a, cfg.streams);
	if (r < 0)
		goto fini_port;
	a->parts = cfg.streams;
	a->stage = cfg.streams->rx_stage;
	return 0;

fini_port:
	iwp_port_fini(&a->dev);
close_streams:
	cfg.streams->ops->fini(cfg.streams);
	return r;
}

static int fd(struct dev_adapter *a)
{
	struct link_streams *s = dev_iwarp_streams(a);

	return s->ops->fd(s);
}

static int start(struct dev_adapter *a)
{
	eng_dev_held(&a->dev);
	a->dev.qpn_fixed = 0;
	a->dev.qpn_mask = 0xffffff;
	return 0;
}

static void forget(struct dev_adapter *a)
{
	struct link_streams *s = dev_iwarp_streams(a);

	s->ops->forget(s);
}

/* It is not driven afterwards: the protocol still names streams that are gone. */
static void leave(struct dev_adapter *a)
{
	struct link_streams *s = dev_iwarp_streams(a);

	a->wired = false;
	s->ops->leave(s);
}

static unsigned faults(struct dev_adapter *a, struct link_rules *rules)
{
	iwp_faults(&a->dev, rules);
	return 0;
}

static void observe(struct dev_adapter *a, struct obs_tap *t)
{
	iwp_observe(&a->dev, t ? &t->tap : NULL);
	mpa_observe(&a->cm, t ? &t->tap : NULL);
}

static void unwire(struct dev_adapter *a)
{
	struct link_streams *s = dev_iwarp_streams(a);

	mpa_fini(&a->cm); /* no hand-over is told after this */
	dev_handover_forget(a);
	iwp_port_fini(&a->dev);
	s->ops->fini(s);
}

/* --- the row --- */

/* One: the six bytes of the MAC, then zeros. */
static int gids(const struct dev_info *info, const struct dev_nl_addr *addrs, int n,
		struct dev_nl_addr *ret)
{
	ret[0] = (struct dev_nl_addr){ .ifindex = 0 };
	memcpy(ret[0].addr, info->mac, sizeof(info->mac));
	return 1;
}

/* One GID, no P_Keys, no LIDs, as the kernel's siw shows its port. */
static int query_port(const struct dev_info *info, struct ibv_port_attr *ret)
{
	int r = dev_port_query(info->ifindex, ret);

	if (r < 0)
		return r;
	ret->max_mtu = ret->active_mtu;
	ret->gid_tbl_len = 1;
	ret->pkey_tbl_len = 0;
	ret->port_cap_flags |= CAP_DEVICE_MGMT;
	ret->flags = 0;
	return 0;
}

/* iWARP has no datagrams and their addresses, no groups, P_Keys, XRC, RNR. */
static void limit(struct ibv_device_attr *a)
{
	a->max_mcast_grp = a->max_mcast_qp_attach = a->max_total_mcast_qp_attach = 0;
	a->max_ah = 0;
	a->max_pkeys = 0;
	a->local_ca_ack_delay = 0;
	a->device_cap_flags &= ~(unsigned)(IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_BAD_PKEY_CNTR |
					   IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_XRC);
}

static const struct eng_proto_ops *proto(void)
{
	return &iwp_proto_ops;
}

static const struct eng_dev_ops ops = { DEV_DEFAULT_OPS };

DEV_OVERLAY(const struct dev_kind_row dev_iwarp_row, DEV_DEFAULT_ROW,
	.word = "iwarp",
	.alias = "iw",
	.prefix = "dpl_iw_",
	.kind = DEV_IWARP,
	.node_type = IBV_NODE_RNIC,
	.gid_type = IBV_GID_TYPE_IB,
	.n_gids = 1,
	.ops = &ops,
	.machine = &machine,
	.proto = proto,
	.wire = wire,
	.fd = fd,
	.start = start,
	.forget = forget,
	.leave = leave,
	.observe = observe,
	.faults = faults,
	.fault_acts = (LINK_ACTS_REQUEST & ~(1u << LINK_ACT_SLOW)) | LINK_ACTS_STREAM | LINK_ACTS_CALL |
		      1u << LINK_ACT_REJECT | 1u << LINK_ACT_SILENCE,
	.unwire = unwire,
	.gids = gids,
	.query_port = query_port,
	.limit = limit);

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An iWARP adapter: RDMAP over DDP over MPA on TCP connections of the host's own
 * stack. As with RoCE, link, protocol and manager are made when the first QP or
 * connection needs them. No address is claimed: ports are TCP ports, and QPNs are
 * seen by nobody outside, so all 24 bits are free and random.
 *
 *   DAPPLE_LOCAL=off  TCP also between processes of this host; =streams: shared memory for
 *                     connections, too, that an application hands over
 *   DAPPLE_MPA=...    what is asked of the peer in MPA (iwarp_config.c)
 */
#include "device/iwarp.h"

#include "device/adapter.h"
#include "device/handover.h"
#include "device/limits.h"
#include "device/port.h"
#include "device/progress.h"
#include "device/why.h"
#include "link/local/streams.h"
#include "link/tcp/tcp.h"
#include "proto/iwarp/iwp.h"
#include "proto/iwarp/qp.h"
#include "util/heap.h"
#include "util/log.h"
#include "util/rng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int receive(struct dev_adapter *a, uint64_t now)
{
	return a->streams->ops->poll(a->streams, now);
}

/* TCP tells its errors to the streams. */
static int errors(struct dev_adapter *a, uint64_t now)
{
	(void)a;
	(void)now;
	return 0;
}

/* TCP acknowledges by itself, so nothing can be put off. */
static int transmit(struct eng_dev *dev, uint64_t now, enum eng_acks acks)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	int done = mpa_run(&a->cm, now);

	(void)acks;
	return done + iwp_transmit(dev, now);
}

static bool acks_pending(struct eng_dev *dev)
{
	(void)dev;
	return false;
}

static void acknowledge(struct eng_dev *dev, enum eng_acks how)
{
	(void)dev;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t deadline(struct eng_dev *dev)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	uint64_t at = least(iwp_deadline(dev), mpa_deadline(&a->cm));

	return least(at, a->streams->ops->deadline(a->streams));
}

/* What came from this host; what follows from it may want a round. */
static int fast(struct dev_adapter *a, bool *ret_whole)
{
	int n = a->streams->ops->peek_shm(a->streams);

	*ret_whole = n > 0 && (iwp_busy(&a->dev) || mpa_deadline(&a->cm) == 0);
	return n;
}

static const struct dev_machine iwp_machine = {
	.fast = fast,
	.post_fast = iwp_fast_post,
	.post_direct = dev_post_direct_none,
	.may_post_direct = dev_may_post_direct_none,
	.may_coalesce = iwp_may_coalesce,
	.coalesce_more = iwp_coalesce_more,
	.receive = receive,
	.errors = errors,
	.transmit = transmit,
	.acks_pending = acks_pending,
	.acknowledge = acknowledge,
	.busy = iwp_busy,
	.deadline = deadline,
};

static int wire_manager(struct dev_adapter *a, struct link_streams *streams)
{
	struct mpa_config cfg = {
		.streams = streams,
		.proto = &iwp_stream_ops,
		.seed = ut_rng_seed(),
		.rd_max = (uint16_t)a->dev.attr.orig_attr.max_qp_rd_atom,
	};

	dev_iwarp_config(&cfg);
	return mpa_init(&a->cm, &a->dev, &cfg);
}

/* How processes of this host reach each other: shared memory over TCP, or TCP alone. */
static void go_local(struct link_streams **streams)
{
	const char *v = getenv("DAPPLE_LOCAL");
	unsigned how = LOCAL_CONNECTED;
	int r;

	if (v && !strcmp(v, "off"))
		return;
	if (v && !strcmp(v, "streams"))
		how |= LOCAL_HANDED_OVER;
	r = local_streams_open(*streams, how, streams);
	if (r < 0)
		ut_warn("cannot share memory with other processes of this host (%s): iWARP connections within it take TCP, "
			"which is slower", strerror(-r));
}

static int wire(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	struct iwp_config cfg = { .seed = ut_rng_seed() };
	int r = tcp_open(a->info.ifindex, &cfg.streams);

	if (r < 0)
		return r;
	go_local(&cfg.streams);
	r = iwp_port_init(&a->dev, &cfg);
	if (r < 0)
		goto close_streams;
	r = wire_manager(a, cfg.streams);
	if (r < 0)
		goto fini_port;
	a->streams = cfg.streams;
	a->wired = true;
	return 0;

fini_port:
	iwp_port_fini(&a->dev);
close_streams:
	cfg.streams->ops->fini(cfg.streams);
	return r;
}

static int attach(struct eng_dev *dev)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	int r = 0;

	eng_dev_held(&a->dev);
	eng_dev_held(dev);
	if (dev_is_foreign(dev))
		return -EIO;
	if (dev->qpn_mask)
		return 0;
	if (!a->wired)
		r = wire(a);
	if (r == 0 && atomic_load(&a->driver.link_fd) < 0)
		r = dev_driver_attach(a, a->streams->ops->fd(a->streams));
	if (r < 0)
		return r;
	dev->qpn_fixed = 0;
	dev->qpn_mask = 0xffffff;
	return 0;
}

static int cm_attach(struct dev_adapter *a)
{
	return attach(&a->dev);
}

static int mcast_join(struct eng_dev *dev, const union ibv_gid *mgid)
{
	(void)dev;
	(void)mgid;
	return -EOPNOTSUPP;
}

static void mcast_leave(struct eng_dev *dev, const union ibv_gid *mgid)
{
	(void)dev;
	(void)mgid;
}

static int query_port(struct eng_dev *dev, struct ibv_port_attr *ret)
{
	return dev_port_query_iwarp(dev_adapter_of(dev)->info.ifindex, ret);
}

static int wait_on(struct eng_dev *dev, int fd, int also, uint64_t until)
{
	return dev_is_foreign(dev) ? -EIO : dev_driver_wait(dev_adapter_of(dev), fd, also, until);
}

static int wait_comp(struct eng_dev *dev, struct eng_chan *chan)
{
	return dev_is_foreign(dev) ? -EIO : dev_driver_wait_comp(dev_adapter_of(dev), chan);
}

static void why(struct eng_dev *dev, const char *sentence)
{
	(void)dev;
	dev_why_keep(sentence);
}

static const struct eng_dev_ops iwarp_ops = {
	.progress = dev_progress,
	.post_fast = dev_post_fast,
	.wait = wait_on,
	.wait_comp = wait_comp,
	.polled = dev_polled,
	.attach = attach,
	.mcast_join = mcast_join,
	.mcast_leave = mcast_leave,
	.query_port = query_port,
	.why = why,
};

/* Connections know their addresses; the adapter need not. */
static int add_addr(struct dev_adapter *a, const struct eng_gid *g)
{
	(void)a;
	(void)g;
	return 0;
}

static void del_addr(struct dev_adapter *a, const uint8_t addr[16])
{
	(void)a;
	(void)addr;
}

static void forget(struct dev_adapter *a)
{
	a->streams->ops->forget(a->streams);
}

/* Nobody drives it afterwards: the protocol still names streams that are gone. */
static void leave(struct dev_adapter *a)
{
	a->wired = false;
	a->streams->ops->leave(a->streams);
}

static int iwarp_open(struct dev_adapter *a)
{
	int r = eng_dev_init(&a->dev, a->info.name, &iwarp_ops, &iwp_proto_ops, ut_rng_seed());

	if (r < 0)
		return r;
	a->dev.device = a;
	a->machine = &iwp_machine;
	dev_limits_set(&a->dev, &a->info);
	return 0;
}

static void log_counters(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	for (int i = 0; i < ENG_C_COUNT; i++)
		if (a->dev.counters[i])
			ut_debug("%s: %llu %s", a->info.name,
				 (unsigned long long)a->dev.counters[i],
				 eng_counter_rows[i].text);
}

static void iwarp_close(struct dev_adapter *a)
{
	if (a->wired) {
		ut_lock(&a->dev.lock);
		log_counters(a);
		a->wired = false;
		mpa_fini(&a->cm); /* no hand-over is told after this */
		dev_handover_forget(a);
		iwp_port_fini(&a->dev);
		a->streams->ops->fini(a->streams);
		a->streams = NULL;
		ut_unlock(&a->dev.lock);
	}
	eng_dev_fini(&a->dev);
}

const struct dev_kind_row dev_iwarp_row = {
	.word = "iwarp",
	.alias = "iw",
	.prefix = "dpl_iw_",
	.kind = DEV_IWARP,
	.open = iwarp_open,
	.add_addr = add_addr,
	.del_addr = del_addr,
	.forget = forget,
	.cm_attach = cm_attach,
	.leave = leave,
	.close = iwarp_close,
};

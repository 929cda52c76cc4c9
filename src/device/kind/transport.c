/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Link and protocol port are made when the first object needs them, not when the device is opened:
 * programs that list devices stay cheap, and a program that opens its device and then becomes a daemon
 * has nothing yet that a fork would tear apart.
 *
 *   DAPPLE_CREDITS=on   acknowledgements give end-to-end credits
 */
#include "device/kind/transport.h"

#include "cm/ibcm/ibcm.h"
#include "device/fork.h"
#include "device/kind/records.h"
#include "device/kind/text.h"
#include "device/kind/transport_cm.h"
#include "engine/gid.h"
#include "link/fault.h"
#include "observe/tap.h"
#include "proto/ib/coalesce.h"
#include "proto/ib/direct.h"
#include "proto/ib/fast.h"
#include "proto/ib/post.h"
#include "proto/ib/ibp.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/env.h"
#include "util/heap.h"
#include "util/rng.h"
#include "util/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RX_STREAM 8  /* datagrams after which more are likely; a ping-pong's one is not */
#define RX_BATCHES 8 /* receive calls in one round, behind which one acknowledgement covers their messages */
#define RX_TIME UT_MS
#define ERRORS_MAX 16
#define SELF_TURNS 4 /* a ring is asked for and opened, a message, its acknowledgement */

/* --- a round --- */

static int receive_datagrams(struct dev_adapter *a, uint64_t now)
{
	struct dev_transport *p = dev_transport_of(a);
	int n = p->link->ops->recv(p->link, p->rx, DEV_RX_BATCH);

	if (n > 0) {
		eng_dev_held(&a->dev);
		a->rounds.local = 0;
		ibp_receive(&a->dev, p->rx, n, now);
	}
	return n;
}

static int receive_batches(struct dev_adapter *a, uint64_t now)
{
	struct link *l = dev_transport_of(a)->link;
	bool messages = true;
	int done = 0;

	eng_dev_held(&a->dev);
	a->rounds.local += !l->cheap && a->rounds.local < DEV_ROUNDS_LOCAL;
	for (int batch = 0; batch < RX_BATCHES; batch++) {
		int n = messages ? ibp_poll_messages(&a->dev, now, &messages) : 0;

		l->local_news = n > 0;
		n += receive_datagrams(a, now);
		done += n;
		/* Large messages of this host take their time, and their senders wait for a response. Trains that the thread
		 * places come with the first packets of their messages between them, each by itself. */
		if (n < (l->keep ? 1 : RX_STREAM) || ut_now() - now > RX_TIME)
			break;
	}
	return done;
}

static int receive(struct dev_adapter *a, uint64_t now, bool cheap)
{
	struct link *l = dev_transport_of(a)->link;
	int n;

	l->cheap = cheap;
	n = receive_batches(a, now);
	l->cheap = false;
	return n;
}

static int take_errors(struct dev_adapter *a, uint64_t now)
{
	struct link *l = dev_transport_of(a)->link;
	struct link_err e;
	int n = 0;

	while (n < ERRORS_MAX && l->ops->error(l, &e) > 0) {
		ibp_unreachable(&a->dev, &e, now);
		if (a->cm.ops)
			ibcm_unreachable(&a->cm, e.dst, e.error, now);
		n++;
	}
	return n + dev_transport_cm_disconnect_dead(a, now);
}

static int transmit(struct eng_dev *dev, uint64_t now, enum eng_acks acks)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	int done = a->cm.ops && ibcm_deadline(&a->cm) <= now ? ibcm_run(&a->cm, now) : 0;

	return done + ibp_transmit(dev, now, acks);
}

/* Inside of an adapter as well a message to another queue pair of it needs no program that polls. */
static int deliver(struct dev_adapter *a, uint64_t now)
{
	struct shm_channel *c = dev_transport_of(a)->chan;
	int done = 0;

	for (int i = 0; i < SELF_TURNS && (c->to_self || c->asked_self); i++) {
		bool asked = c->asked_self;

		c->to_self = c->asked_self = false;
		done += receive(a, now, !asked) + transmit(&a->dev, now, ENG_ACKS_NOW);
	}
	return done;
}

static uint64_t deadline(struct eng_dev *dev)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	uint64_t manager = a->cm.ops ? ibcm_deadline(&a->cm) : UT_NEVER;
	uint64_t transport = ibp_deadline(dev);

	return manager < transport ? manager : transport;
}

static void drain(struct dev_adapter *a)
{
	dev_transport_of(a)->link->leaving = true;
	transmit(&a->dev, ut_now(), ENG_ACKS_NOW);
}

static void sleep_on_link(struct dev_adapter *a, bool on, bool look)
{
	struct link *l = dev_transport_of(a)->link;

	l->ops->sleep(l, on, look);
}

static bool attend(struct dev_adapter *a, bool rings, bool sockets)
{
	struct shm_channel *c = dev_transport_of(a)->chan;
	struct link *l = dev_transport_of(a)->link;

	if (!shm_channel_is_none(c))
		shm_channel_sleep(c, !rings, false);
	l->ops->attend(l, sockets);
	return !shm_channel_is_none(c) || l->hidden;
}

static bool hides(struct dev_adapter *a)
{
	struct link *l = dev_transport_of(a)->link;

	return l->hidden && atomic_load_explicit(l->hidden, memory_order_relaxed);
}

DEV_OVERLAY(const struct dev_machine dev_transport_machine, DEV_DEFAULT_MACHINE,
	.receive = receive,
	.transmit = transmit,
	.busy = ibp_busy,
	.deadline = deadline,
	.held_up = ibp_held_up,
	.fast = ibp_fast_poll,
	.finish = ibp_fast_finish,
	.post = ibp_post,
	.post_now = ibp_post_now,
	.deliver = deliver,
	.errors = take_errors,
	.may_coalesce = ibp_may_coalesce,
	.coalesce_more = ibp_coalesce_more,
	.acks_pending = ibp_acks_pending,
	.acknowledge = ibp_acknowledge,
	.drain = drain,
	.sleep = sleep_on_link,
	.attend = attend,
	.hides = hides);

/* --- life --- */

static bool gives_credits(void)
{
	const char *v = ut_env("DAPPLE_CREDITS");

	return v && strcmp(v, "on") == 0;
}

int dev_transport_wire(struct dev_adapter *a, struct link *l, struct shm_channel *chan,
		       const struct dev_transport_ways *ways, const struct ibp_config *kind)
{
	struct dev_transport *p = ut_zalloc(sizeof(*p));
	struct ibp_config cfg = *kind;
	int r;

	eng_dev_held(&a->dev);
	if (!p)
		return -ENOMEM;
	cfg.link = p->link = l;
	cfg.chan = p->chan = chan;
	cfg.seed = ut_rng_seed();
	cfg.credits = gives_credits();
	cfg.gsi = &dev_transport_gsi;
	p->mtu_max = cfg.mtu_max;
	p->ways = ways;
	r = ibp_port_init(&a->dev, &cfg);
	if (r < 0) {
		free(p);
		return r;
	}
	if (chan->export)
		a->dev.revoke = ibp_revoke;
	a->parts = p;
	a->stage = l->rx_stage;
	return 0;
}

int dev_transport_fd(struct dev_adapter *a)
{
	struct link *l = dev_transport_of(a)->link;

	return l->ops->fd(l);
}

/* Processes that get this slot one after another go on counting: engine/qpn.h. Where the kernel shows no boot ID, key and
 * count stay random. */
static void count_from_boot(struct eng_dev *dev)
{
	uint64_t key = 0;
	char id[64];

	eng_dev_held(dev);
	if (!dev_read_text("/proc/sys/kernel/random/boot_id", id, sizeof(id)))
		return;
	for (const char *c = id; *c; c++)
		key = (key ^ (uint8_t)*c) * 0x100000001b3u;
	eng_qpns_begin(&dev->qpns, key, ut_now());
}

/* An adapter that has joined the port of its addresses has a manager, see transport_cm.h. */
int dev_transport_start(struct dev_adapter *a)
{
	struct link *l = dev_transport_of(a)->link;
	int r;

	eng_dev_held(&a->dev);
	a->dev.qpn_fixed = l->qpn_fixed;
	a->dev.qpn_mask = l->qpn_mask;
	count_from_boot(&a->dev);
	r = dev_transport_cm_init(a);
	if (r < 0)
		a->dev.qpn_mask = 0; /* not attached: tried again */
	else
		l->qpn_given = true;
	return r;
}

void dev_transport_forget(struct dev_adapter *a)
{
	struct dev_transport *p = dev_transport_of(a);

	p->chan->ops->forget(p->chan);
	p->link->ops->forked(p->link);
	dev_fork_close(p->link->ops->fd(p->link), p->link->rx_stage);
	if (p->records)
		ut_close(dev_records_fd(p->records));
}

/* A link of faults is laid over the present one when the first rules for packets come, and stays. */
unsigned dev_transport_faults(struct dev_adapter *a, struct link_rules *rules)
{
	static const struct link_fault_rates none = { 0 };
	struct dev_transport *p = dev_transport_of(a);
	unsigned without_packets;
	struct link *l;

	eng_dev_held(&a->dev);
	without_packets = ibp_faults(&a->dev, rules);
	if (rules->acts & LINK_ACTS_PACKET && !p->fault && link_fault_open(p->link, &none, &l) == 0) {
		p->link = p->fault = l;
		ibp_relink(&a->dev, l);
		a->stage = l->rx_stage;
	}
	if (p->fault)
		link_fault_rules(p->fault, rules, a->dev.name);
	return without_packets;
}

void dev_transport_observe(struct dev_adapter *a, struct obs_tap *t)
{
	struct dev_transport *p = dev_transport_of(a);

	eng_dev_held(&a->dev);
	ibp_observe(&a->dev, t ? &t->tap : NULL);
	if (!t)
		return;
	t->port = p->link->port;
	obs_tap_link(t, p->link);
	obs_tap_channel(t, p->chan);
}

/*
 * The kernel would close the sockets as well, but unannounced: for a moment the group of an address then
 * steers to wrong members, and datagrams in this process's queue for others, its own DREQs among
 * them, would be lost.
 */
void dev_transport_leave(struct dev_adapter *a)
{
	struct link *l = dev_transport_of(a)->link;

	eng_dev_held(&a->dev);
	ibp_leave(&a->dev);
	dev_transport_cm_leave(a);
	for (uint32_t i = 0; i < ENG_GIDS_MAX; i++) {
		const struct eng_gid *g = eng_gid_at(&a->dev, i);

		if (g)
			l->ops->del_addr(l, g->gid.raw);
	}
}

void dev_transport_unwire(struct dev_adapter *a)
{
	struct dev_transport *p = dev_transport_of(a);

	eng_dev_held(&a->dev);
	dev_transport_cm_fini(a);
	ibp_port_fini(&a->dev);
	eng_dev_unshare(&a->dev);
	p->link->ops->close(p->link);
	free(p);
}

void dev_transport_violations(struct eng_dev *dev, struct ibv_port_attr *ret) UT_NO_TSA
{
	/* Any thread may ask, one that holds the progress lock too: a torn count does no harm, a
	 * deadlock would. */
	ret->bad_pkey_cntr =
		(uint32_t)__atomic_load_n(&dev->counters[ENG_C_rx_bad_pkey], __ATOMIC_RELAXED);
	ret->qkey_viol_cntr =
		(uint32_t)__atomic_load_n(&dev->counters[ENG_C_rx_bad_qkey], __ATOMIC_RELAXED);
}

/* An address handle may be made before the first QP, and the protocol asks its port about it. */
static int ah_check(struct eng_dev *dev, const struct ibv_ah_attr *attr)
{
	int r;

	eng_dev_held(dev);
	r = dev_is_foreign(dev) ? -EIO : dev_kind_wire(dev_adapter_of(dev));
	return r < 0 ? r : ibp_proto_ops.ah_check(dev, attr);
}

/* Called under dev_process_lock, which guards the copy. */
const struct eng_proto_ops *dev_transport_proto(void)
{
	static struct eng_proto_ops copy;

	if (!copy.name) {
		copy = ibp_proto_ops;
		copy.ah_check = ah_check;
	}
	return &copy;
}

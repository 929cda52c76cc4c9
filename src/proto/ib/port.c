/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A port of the transport machine: the checks of packets before they meet a queue pair (IBTA
 * 9.6.1), and the round in which queue pairs may send. */
#include "proto/ib/port.h"

#include "engine/gid.h"
#include "engine/mcast.h"
#include "host/shm/inlet.h"
#include "proto/ib/coalesce.h"
#include "proto/ib/ecn.h"
#include "proto/ib/fast.h"
#include "proto/ib/post.h"
#include "proto/ib/migrate.h"
#include "proto/ib/probe.h"
#include "proto/ib/requester.h"
#include "proto/ib/responder.h"
#include "proto/ib/responses.h"
#include "proto/ib/retry.h"
#include "proto/ib/route.h"
#include "proto/ib/show.h"
#include "proto/ib/uc.h"
#include "proto/ib/ud.h"
#include "proto/ib/xrc/home.h"
#include "util/alloc.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MULTICAST_QPN 0xffffffu
/* Packets sent per ibp_transmit(), so that receiving gets its turn: some 0.1 ms. */
#define ROUND_PACKETS 256u
#define ROUND_BYTES (256u << 10)
#define TURN_PACKETS 64u   /* per QP and turn */

/* --- checks of packets --- */

static uint8_t wire_type(enum ibv_qp_type t)
{
	switch (t) {
	case IBV_QPT_RC: return WIRE_QPT_RC;
	case IBV_QPT_UC: return WIRE_QPT_UC;
	case IBV_QPT_UD: return WIRE_QPT_UD;
	case IBV_QPT_XRC_SEND: return WIRE_QPT_XRC_INI;
	case IBV_QPT_XRC_RECV: return WIRE_QPT_XRC_TGT;
	default: return 0;
	}
}

static bool state_accepts(const struct eng_qp *qp, bool response)
{
	enum ibv_qp_state st = eng_qp_state(qp);

	if (st == IBV_QPS_RTS || st == IBV_QPS_SQD)
		return true;
	return response ? false : st == IBV_QPS_RTR || st == IBV_QPS_SQE;
}

static void deliver_multicast(struct ibp_port *port, const struct wire_ib_packet *p,
			      const struct link_rx *rx)
{
	struct eng_dev *dev = port->dev;
	union ibv_gid mgid;
	struct eng_mcast *m;

	if (p->shape->cls != WIRE_CLASS_UD || (rx->lids && !rx->grh))
		return;
	memcpy(mgid.raw, rx->dst, 16);
	eng_dev_held(dev);
	m = eng_mcast_find(dev, &mgid);
	if (!m || !ibp_icrc_matches(port, NULL, rx))
		return;
	for (uint32_t i = 0; i < m->n; i++) {
		struct eng_qp *qp = m->qps[i];

		if (!state_accepts(qp, false) || !eng_pkey_matches(ibp_qp(qp)->conn.pkey, p->pkey) ||
		    (qp->block_mcast_loopback && qp->qpn == p->src_qpn &&
		     eng_gid_find(dev, (const union ibv_gid *)rx->src) >= 0))
			continue;
		ibp_ud_receive(ibp_qp(qp), p, rx);
	}
}

static struct ibp_qp *find_qp(struct ibp_port *port, const struct wire_ib_packet *p,
			      const struct link_rx *rx)
{
	struct eng_qp *qp = eng_qp_find(port->dev, p->dest_qpn);
	bool response = p->shape->flags & WIRE_F_RSP;
	bool cnp = p->shape->cls == WIRE_CLASS_CNP;
	struct ibp_qp *q;

	if (!qp || !state_accepts(qp, response) ||
	    (!cnp && !(p->shape->qp_types & wire_type(qp->type)))) {
		ibp_count(port, ENG_C_rx_no_qp);
		return NULL;
	}
	q = ibp_qp(qp);
	if (q->conn.migration)
		ibp_migration_asked(q, p->migreq, rx);
	if (!port->arrived->admits(q, p, rx))
		return NULL;
	if (q->conn.migration)
		ibp_migration_heard(q, p->migreq);
	return q;
}

static void dispatch(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	switch (p->shape->cls) {
	case WIRE_CLASS_CNP:
		ibp_cnp_receive(q);
		return;
	case WIRE_CLASS_UD:
		ibp_ud_receive(q, p, rx);
		return;
	default:
		break;
	}
	if (ibp_ecn_is_marked(rx))
		ibp_ecn_marked(q);
	if (p->shape->flags & WIRE_F_RSP && q->conn.req.framing != q->port->arrived)
		ibp_count(q->port, ENG_C_rx_bad_source);
	else if (p->shape->flags & WIRE_F_RSP)
		ibp_req_receive(q, p, rx);
	else if (p->shape->cls == WIRE_CLASS_UC)
		ibp_uc_receive(q, p, rx);
	else
		ibp_resp_receive(q, p, rx);
}

/* Takes the acknowledgement that came along with a request. Returns false if the queue pair has
 * stopped by it. */
static bool take_ack(struct ibp_qp *q)
{
	const struct ibp_shm *shm = &q->port->shm;

	if (!shm->acks || q->conn.req.framing != &ibp_frame_shm || !state_accepts(q->qp, true))
		return true;
	ibp_req_acked(q, shm->ack_psn, shm->ack_msn);
	return state_accepts(q->qp, false);
}

static void receive_sound(struct ibp_port *port, const struct wire_ib_packet *p,
			  const struct link_rx *rx)
{
	struct ibp_qp *q = find_qp(port, p, rx);

	if (!q)
		return;
	ibp_show_received(q, p->opcode, p->payload_len);
	q->conn.heard = port->now;
	if (take_ack(q))
		dispatch(q, p, rx);
}

/* IBTA 9.6.1.2: the DGID of a packet to a host is one of its port's. */
static bool is_for_port(struct ibp_port *port, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	eng_dev_held(port->dev);
	return !rx->grh || p->dest_qpn == MULTICAST_QPN || eng_gid_find(port->dev, (const union ibv_gid *)rx->dst) >= 0;
}

static void receive_datagram(struct ibp_port *port, const struct link_rx *rx)
{
	struct wire_ib_packet p;

	if (ibp_fast_take_datagram(port, rx))
		return;
	if (wire_ib_parse(rx->data, rx->len, &p) != WIRE_OK)
		ibp_count(port, ENG_C_rx_short);
	else if (!is_for_port(port, &p, rx))
		ibp_count(port, ENG_C_rx_bad_source);
	else if (p.dest_qpn == MULTICAST_QPN)
		deliver_multicast(port, &p, rx);
	else if (p.dest_qpn == WIRE_QPN_GSI)
		ibp_gsi_receive(port, &p, rx);
	else
		receive_sound(port, &p, rx);
}

void ibp_receive_message(struct ibp_port *port, const struct shm_message *m)
{
	struct link_rx rx = ibp_shm_packet(m);
	struct wire_ib_packet p;

	eng_dev_held(port->dev);
	port->arrived = &ibp_frame_shm;
	port->dev->counters[ENG_C_rx_bytes] += m->len;
	if (ibp_shm_parse(port, m, &p, &rx))
		receive_sound(port, &p, &rx);
	else if (!ibp_forward_receive(port, m))
		ibp_count(port, ENG_C_rx_short);
	port->shm.acks = false;
}

static void begin_receive(struct ibp_port *port, const struct ibp_framing *f, uint64_t now)
{
	port->arrived = f;
	port->now = now;
	ibp_coalesce_end(port);
}

void ibp_receive(struct eng_dev *dev, const struct link_rx *rx, int n, uint64_t now)
{
	struct ibp_port *port = dev->proto_port;

	eng_dev_held(dev);
	begin_receive(port, &ibp_frame_wire, now);
	dev->counters[ENG_C_rx_pkts] += (uint64_t)n;
	for (int i = 0; i < n; i++) {
		dev->counters[ENG_C_rx_bytes] += rx[i].len;
		receive_datagram(port, &rx[i]);
	}
	ibp_place_settle(port);
}

void ibp_receive_messages(struct eng_dev *dev, const struct shm_message *m, int n, uint64_t now)
{
	struct ibp_port *port = dev->proto_port;

	eng_dev_held(dev);
	begin_receive(port, &ibp_frame_shm, now);
	for (int i = 0; i < n; i++) {
		i += ibp_fast_receive(dev, m + i, n - i);
		if (i == n)
			break;
		dev->counters[ENG_C_rx_pkts]++;
		ibp_receive_message(port, &m[i]);
	}
}

/* In the round of a poll as many as polls without a round take, whose fast path executes the next ones where they lie: a third of a stream
 * of messages was taken in rounds, at twice the cost. */
static int messages_of_round(const struct ibp_port *port)
{
	eng_dev_held(port->dev);
	return port->dev->poller && shm_inlets_lead(port->chan, &port->inlets) ? IBP_FAST_MESSAGES : IBP_MESSAGES;
}

int ibp_poll_messages(struct eng_dev *dev, uint64_t now, bool *ret_more)
{
	struct ibp_port *port = dev->proto_port;
	struct shm_channel *chan = port->chan;
	int most = messages_of_round(port), n = shm_channel_is_none(chan) ? 0 : chan->ops->poll(chan, port->messages, most);

	*ret_more = most == IBP_MESSAGES;
	if (n > 0) {
		ibp_receive_messages(dev, port->messages, n, now);
		chan->ops->release(chan);
	}
	if (chan->n_died)
		ibp_processes_gone(port);
	return n;
}

void ibp_unreachable(struct eng_dev *dev, const struct link_err *err, uint64_t now)
{
	/* A peer may bind its UDP port a moment after it told its address, so a refusal decides
	 * nothing: the retry counter does. */
	(void)now;
	ut_debug("%s: the kernel reports error %d for a peer", dev->name, err->error);
}

/* --- sending --- */

static void fire_timers(struct ibp_port *port)
{
	struct ut_timer *t;

	while (ut_heap_next(&port->timers) <= port->now && (t = ut_heap_expired(&port->timers, port->now))) {
		struct ibp_qp *q = ut_container(t, struct ibp_qp, conn.req.timer);

		if (q->qp->type == IBV_QPT_XRC_RECV)
			ibp_forward_timer(q);
		else
			ibp_req_timer(q);
	}
}

void ibp_kick(struct eng_qp *qp)
{
	enum ibv_qp_state st = eng_qp_state(qp);
	struct ibp_qp *q = ibp_qp(qp);

	if (st == IBV_QPS_ERR || st == IBV_QPS_SQE) {
		eng_qp_flush(qp);
		return;
	}
	if (!ut_list_empty(&q->active))
		q->port->judged = NULL;
	ibp_activate(q);
}

static void send_requests(struct ibp_qp *q)
{
	switch (q->qp->type) {
	case IBV_QPT_XRC_RECV:
		break;
	case IBV_QPT_UD:
		ibp_ud_run(q, TURN_PACKETS);
		break;
	default:
		ibp_req_run(q, TURN_PACKETS);
	}
}

static void give_turn(struct ibp_qp *q)
{
	enum ibv_qp_state st = eng_qp_state(q->qp);
	struct ibp_port *port = q->port;

	if (st == IBV_QPS_ERR || st < IBV_QPS_RTR)
		return;
	ibp_resp_run(q, TURN_PACKETS);
	send_requests(q);
	if (!q->conn.resp.ack_due)
		return;
	/* No request left, before which it would have left. It waits on the list, for other messages that
	 * it can cover; a ring carries it at once. */
	if (port->manner == ENG_ACKS_NOW && (q->conn.resp.framing == &ibp_frame_shm || ut_list_empty(&port->active)))
		ibp_resp_ack(q);
	else
		ibp_resp_owe(q);
}

static void send_acks(struct ibp_port *port, bool quiet)
{
	struct ut_list *n;

	port->shm.quiet = quiet;

	/* Packets that leave to make room may end any queue pair, and its place on the list with
	 * it. */
	while (!port->blocked && (n = ut_list_pop(&port->acks)))
		ibp_resp_ack(ut_container(n, struct ibp_qp, conn.acks));
	port->shm.quiet = false;
	if (!quiet && port->chan->unnotified)
		port->chan->ops->notify(port->chan);
}

int ibp_transmit(struct eng_dev *dev, uint64_t now, enum eng_acks acks)
{
	struct ibp_port *port = dev->proto_port;
	uint64_t bytes;
	struct ut_list *n;

	eng_dev_held(dev);
	bytes = dev->counters[ENG_C_tx_bytes];
	port->now = now;
	ibp_coalesce_end(port);
	port->sent = 0;
	port->blocked = false;
	port->manner = acks;
	if (port->routes != port->link->routes)
		ibp_routes_follow(port);
	ibp_post_arm(port);
	fire_timers(port);
	if (port->train.waiting)
		ibp_train_flush(port);
	while (!port->blocked && port->sent < ROUND_PACKETS &&
	       dev->counters[ENG_C_tx_bytes] - bytes < ROUND_BYTES && (n = ut_list_pop(&port->active)))
		give_turn(ut_container(n, struct ibp_qp, active));
	if (acks != ENG_ACKS_LATER)
		send_acks(port, acks == ENG_ACKS_QUIETLY);
	if (ibp_train_has_any(&port->train))
		ibp_train_flush(port);
	if (port->chan->unflushed)
		port->chan->ops->flush(port->chan);
	if (!port->blocked && ibp_gsi_waits(&port->gsi))
		ibp_gsi_run(port);
	if (ibp_forward_waits(&port->forwards))
		ibp_forward_run(port);
	return (int)port->sent;
}

void ibp_acknowledge(struct eng_dev *dev, enum eng_acks how)
{
	struct ibp_port *port = dev->proto_port;

	port->blocked = false;
	send_acks(port, how == ENG_ACKS_QUIETLY);
	if (ibp_train_has_any(&port->train))
		ibp_train_flush(port);
}

bool ibp_acks_pending(struct eng_dev *dev)
{
	struct ibp_port *port = dev->proto_port;

	return !ut_list_empty(&port->acks) || port->chan->unnotified;
}

bool ibp_busy(struct eng_dev *dev)
{
	return ibp_port_is_busy(dev->proto_port);
}

/* In this time the reader takes a third of the ring; where both ends share a processor, it is the reader that should have it. */
#define HELD_UP_NS 20000u

uint64_t ibp_held_up(struct eng_dev *dev)
{
	return ((struct ibp_port *)dev->proto_port)->blocked ? HELD_UP_NS : 0;
}

uint64_t ibp_deadline(struct eng_dev *dev)
{
	return ut_heap_next(&((struct ibp_port *)dev->proto_port)->timers);
}

/* --- beginning and end --- */

int ibp_port_init(struct eng_dev *dev, const struct ibp_config *cfg)
{
	struct ibp_port *port = ut_zalloc(sizeof(*port));
	int r;

	if (!port)
		return -ENOMEM;
	port->dev = dev;
	port->link = cfg->link;
	port->chan = cfg->chan;
	port->arrived = &ibp_frame_wire;
	r = ibp_train_init(port);
	if (r < 0) {
		free(port);
		return r;
	}
	r = ibp_shm_init(port);
	if (r < 0) {
		ibp_train_fini(port);
		free(port);
		return r;
	}
	port->cfg = *cfg;
	port->rng.state = cfg->seed;
	ut_list_init(&port->active);
	ut_list_init(&port->acks);
	ut_list_init(&port->unarmed);
	ibp_forwards_init(port);
	dev->proto_port = port;
	return 0;
}

void ibp_relink(struct eng_dev *dev, struct link *l)
{
	struct ibp_port *port = dev->proto_port;

	port->link = port->cfg.link = l;
}

void ibp_port_fini(struct eng_dev *dev)
{
	struct ibp_port *port = dev->proto_port;

	if (!port)
		return;
	ibp_gsi_fini(port);
	ibp_forwards_fini(port);
	ibp_shm_fini(port);
	ibp_train_fini(port);
	ut_heap_fini(&port->timers);
	free(port);
	dev->proto_port = NULL;
}

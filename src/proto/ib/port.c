/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A port of the transport machine: the door where packets are checked before
 * they meet a QP (IBTA 9.6.1), and the round in which QPs may send.
 */
#include "proto/ib/port.h"

#include "engine/gid.h"
#include "engine/mcast.h"
#include "proto/ib/fast.h"
#include "util/alloc.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MULTICAST_QPN 0xffffffu
/* Sent per ibp_transmit(), so that receiving gets its turn: some 0.1 ms. */
#define ROUND_PACKETS 256u
#define ROUND_BYTES (256u << 10)
#define TURN_PACKETS 64u   /* per QP and turn */

void ibp_activate(struct ibp_qp *q)
{
	if (ut_list_empty(&q->active))
		ut_list_add_tail(&q->port->active, &q->active);
}

/* --- the door --- */

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

/*
 * The identification of an IPv4 header is covered but not visible, so the check
 * solves for it, and any one that fits would leave only half of the ICRC's
 * strength. A connected peer does one of two things: it numbers from 0 in
 * each train, as we do, or lets one counter run. What fits neither is taken
 * for damage, unless it happens again and again.
 */
static bool plausible(struct ibp_qp *q, uint16_t id)
{
	if (id < IBP_TRAIN_PACKETS ||
	    (q->conn.id_known && (uint16_t)(id - q->conn.last_id) < IBP_ID_WINDOW)) {
		q->conn.id_strikes = 0;
	} else if (q->conn.id_known && ++q->conn.id_strikes < IBP_ID_STRIKES) {
		return false;
	}
	q->conn.id_known = true;
	q->conn.last_id = id;
	return true;
}

bool ibp_icrc_matches(struct ibp_port *port, struct ibp_qp *q, const struct link_rx *rx)
{
	struct wire_icrc_memo none = { 0 }, *memo = &none;
	struct wire_icrc_flow local;
	const struct wire_icrc_flow *flow = &local;
	bool connected = q && q->qp->type != IBV_QPT_UD, good;
	bool runs = connected && q->conn.id_known && q->conn.last_id >= IBP_TRAIN_PACKETS;
	uint16_t id = runs ? (uint16_t)(q->conn.last_id + 1) : rx->seg;

	if (connected) {
		flow = &q->conn.rx_icrc;
		memo = &q->conn.rx_memo[rx->len != IBP_ACK_BYTES];
	} else {
		ibp_icrc_flow(&local, rx->src, rx->dst);
	}
	good = wire_icrc_check_again(flow, memo, rx->sport, port->link->port, rx->data, rx->len,
				     &id) == 0;
	if (good && connected && ut_ip_is_v4(rx->dst))
		good = plausible(q, id);
	if (!good)
		ibp_count(port, ENG_C_rx_icrc_errors);
	return good;
}

static void deliver_multicast(struct ibp_port *port, const struct wire_ib_packet *p,
			      const struct link_rx *rx)
{
	struct eng_dev *dev = port->dev;
	union ibv_gid mgid;
	struct eng_mcast *m;

	if (p->shape->cls != WIRE_CLASS_UD)
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
	const struct ibp_arrival from = { .src = rx->src, .dst = rx->dst };

	if (!qp || !state_accepts(qp, response) ||
	    (!cnp && !(p->shape->qp_types & wire_type(qp->type)))) {
		ibp_count(port, ENG_C_rx_no_qp);
		return NULL;
	}
	if ((qp->type != IBV_QPT_UD && !ibp_path_admits(&ibp_qp(qp)->conn.path, &from)) ||
	    (port->shm.rx && p->src_qpn != qp->attr.dest_qp_num)) {
		ibp_count(port, ENG_C_rx_bad_source);
		return NULL;
	}
	/* A message of the host has none: its way was chosen by the adapter that both ends are on. */
	if (!port->shm.rx && !eng_pkey_matches(ibp_qp(qp)->conn.pkey, p->pkey)) {
		ibp_count(port, ENG_C_rx_bad_pkey);
		return NULL;
	}
	if (port->shm.rx)
		return ibp_qp(qp);
	return ibp_icrc_matches(port, ibp_qp(qp), rx) ? ibp_qp(qp) : NULL;
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
	if ((rx->tos & 3) == 3)
		ibp_ecn_marked(q, rx);
	if (p->shape->flags & WIRE_F_RSP && q->conn.req.local != !!q->port->shm.rx)
		ibp_count(q->port, ENG_C_rx_bad_source);
	else if (p->shape->flags & WIRE_F_RSP)
		ibp_req_receive(q, p, rx);
	else if (p->shape->cls == WIRE_CLASS_UC)
		ibp_uc_receive(q, p, rx);
	else
		ibp_resp_receive(q, p, rx);
}

/* What a note brings besides its request. False: the QP stopped over it. */
static bool take_ack(struct ibp_qp *q)
{
	const struct ibp_shm *shm = &q->port->shm;

	if (!shm->acks || !q->conn.req.local || !state_accepts(q->qp, true))
		return true;
	ibp_req_acked(q, shm->ack_psn, shm->ack_msn);
	return state_accepts(q->qp, false);
}

static void receive_sound(struct ibp_port *port, const struct wire_ib_packet *p,
			  const struct link_rx *rx)
{
	struct ibp_qp *q;

	if (!port->shm.rx && p->dest_qpn == MULTICAST_QPN) {
		deliver_multicast(port, p, rx);
		return;
	}
	if (!port->shm.rx && p->dest_qpn == WIRE_QPN_GSI) {
		ibp_gsi_receive(port, p, rx);
		return;
	}
	q = find_qp(port, p, rx);
	if (!q)
		return;
	q->conn.heard = port->now;
	if (!port->shm.rx || take_ack(q))
		dispatch(q, p, rx);
}

static void receive_datagram(struct ibp_port *port, const struct link_rx *rx)
{
	struct wire_ib_packet p;

	if (ibp_fast_take_datagram(port, rx))
		return;
	if (wire_ib_parse(rx->data, rx->len, &p) == WIRE_OK)
		receive_sound(port, &p, rx);
	else
		ibp_count(port, ENG_C_rx_short);
}

static void receive_message(struct ibp_port *port, const struct shm_message *m)
{
	struct wire_ib_packet p;
	struct link_rx rx;

	eng_dev_held(port->dev);
	port->dev->counters[ENG_C_rx_pkts]++;
	port->dev->counters[ENG_C_rx_bytes] += m->len;
	rx = ibp_shm_packet(m);
	if (ibp_shm_parse(port, m, &p))
		receive_sound(port, &p, &rx);
	else if (!ibp_forward_receive(port, m))
		ibp_count(port, ENG_C_rx_short);
	port->shm.rx = NULL;
}

static void begin_receive(struct ibp_port *port, uint64_t now)
{
	port->now = now;
	ibp_coalesce_end(port);
}

void ibp_receive(struct eng_dev *dev, const struct link_rx *rx, int n, uint64_t now)
{
	struct ibp_port *port = dev->proto_port;

	eng_dev_held(dev);
	begin_receive(port, now);
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
	begin_receive(port, now);
	for (int i = 0; i < n; i++) {
		i += ibp_fast_receive(dev, m + i, n - i);
		if (i < n)
			receive_message(port, &m[i]);
	}
}

void ibp_unreachable(struct eng_dev *dev, const struct link_err *err, uint64_t now)
{
	/* A peer may bind its port a moment after it told us its address, so a
	 * refusal is no verdict: the retry counter decides. */
	(void)now;
	ut_debug("%s: the kernel reports error %d for a peer", dev->name, err->error);
}

/* --- sending --- */

static void fire_timers(struct ibp_port *port)
{
	struct ut_timer *t;

	while ((t = ut_heap_expired(&port->timers, port->now))) {
		struct ibp_qp *q = ut_container(t, struct ibp_qp, conn.req.timer);

		if (q->qp->type == IBV_QPT_XRC_RECV)
			ibp_forward_timer(q);
		else
			ibp_req_timer(q);
	}
}

static void give_turn(struct ibp_qp *q)
{
	enum ibv_qp_state st = eng_qp_state(q->qp);
	struct ibp_port *port = q->port;
	uint32_t before = port->sent;

	if (st == IBV_QPS_ERR || st < IBV_QPS_RTR)
		return;
	ibp_resp_run(q, TURN_PACKETS);
	if (q->qp->type == IBV_QPT_UD)
		ibp_ud_run(q, TURN_PACKETS);
	else if (q->qp->type != IBV_QPT_XRC_RECV)
		ibp_req_run(q, TURN_PACKETS);
	if (!q->conn.resp.ack_due)
		return;
	/*
	 * It goes right behind what was just sent: who gets an answer counts on the room that the
	 * acknowledgement makes in its send queue. Else it waits on the list, as a short packet ends a
	 * train; in a ring there are none.
	 */
	if (port->sent != before ||
	    (port->manner == ENG_ACKS_NOW && (q->conn.resp.local || ut_list_empty(&port->active))))
		ibp_resp_ack(q);
	else
		ibp_resp_owe(q);
}

static void send_acks(struct ibp_port *port, bool quiet)
{
	struct ut_list *n;

	port->shm.quiet = quiet;

	/* What leaves to make room may end any queue pair, and its place on the list with it. */
	while (!port->blocked && (n = ut_list_pop(&port->acks)))
		ibp_resp_ack(ut_container(n, struct ibp_qp, conn.acks));
	port->shm.quiet = false;
	if (!quiet)
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
	ibp_fast_arm(port);
	fire_timers(port);
	if (port->train.waiting)
		ibp_train_flush(port);
	while (!port->blocked && port->sent < ROUND_PACKETS &&
	       dev->counters[ENG_C_tx_bytes] - bytes < ROUND_BYTES && (n = ut_list_pop(&port->active)))
		give_turn(ut_container(n, struct ibp_qp, active));
	if (acks != ENG_ACKS_LATER)
		send_acks(port, acks == ENG_ACKS_QUIETLY);
	ibp_train_flush(port);
	port->chan->ops->flush(port->chan);
	if (!port->blocked)
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
	ibp_train_flush(port);
}

bool ibp_acks_pending(struct eng_dev *dev)
{
	struct ibp_port *port = dev->proto_port;

	return !ut_list_empty(&port->acks) || port->chan->unnotified;
}

bool ibp_busy(struct eng_dev *dev)
{
	struct ibp_port *port = dev->proto_port;

	return !ut_list_empty(&port->active) || port->train.waiting || ibp_gsi_waits(port) ||
	       ibp_forward_waits(&port->forwards);
}

uint64_t ibp_deadline(struct eng_dev *dev)
{
	return ut_heap_next(&((struct ibp_port *)dev->proto_port)->timers);
}

/* --- beginning and end --- */

/* How a port of the transport machine begins and ends. */

int ibp_port_init(struct eng_dev *dev, const struct ibp_config *cfg)
{
	struct ibp_port *port = ut_zalloc(sizeof(*port));
	int r;

	if (!port)
		return -ENOMEM;
	r = ut_stage_init(&port->train.stage, IBP_TRAIN_BYTES + 4096);
	if (r < 0) {
		free(port);
		return r;
	}
	port->dev = dev;
	port->link = cfg->link;
	port->chan = cfg->chan;
	r = ibp_shm_init(port);
	if (r < 0) {
		ut_stage_fini(&port->train.stage);
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

void ibp_port_fini(struct eng_dev *dev)
{
	struct ibp_port *port = dev->proto_port;

	if (!port)
		return;
	ibp_gsi_fini(port);
	ibp_forwards_fini(port);
	ibp_shm_fini(port);
	ut_stage_fini(&port->train.stage);
	ut_heap_fini(&port->timers);
	free(port);
	dev->proto_port = NULL;
}

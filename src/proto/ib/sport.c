/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/sport.h"

#include "proto/ib/frame_wire.h"
#include "proto/ib/probe.h"
#include "proto/ib/qp.h"
#include "proto/ib/responder.h"

void ibp_sport_reset(struct ibp_sport *s)
{
	*s = (struct ibp_sport){ .known = IBP_SPORT_NONE, .before = IBP_SPORT_NONE };
}

static bool in_order(const struct ibp_qp *q, const struct wire_ib_packet *p)
{
	const struct ibp_req *r = &q->conn.req;

	if (!(p->shape->flags & WIRE_F_RSP))
		return p->psn == q->conn.resp.epsn;
	/* From the acknowledgement of a probe up to that of the newest request. */
	return psn_diff(p->psn, psn_add(r->psn_una, IBP_PSN_MASK)) >= 0 && psn_diff(p->psn, r->psn_next) < 0;
}

static void take(struct ibp_qp *q, uint16_t sport)
{
	struct ibp_sport *s = &q->conn.sport;

	if (s->known != IBP_SPORT_NONE) {
		ibp_count(q->port, ENG_C_source_port_changes);
		s->changed = true;
		s->changed_at = q->port->now;
	}
	s->before = s->known;
	s->known = sport;
	if (s->missed)
		ibp_resp_missed(q);
	s->missed = false;
}

static bool within(const struct ibp_qp *q, bool valid, uint64_t at, uint64_t ns)
{
	return valid && q->port->now - at < ns;
}

static bool is_proved(const struct ibp_qp *q, const struct wire_ib_packet *p)
{
	const struct ibp_sport *s = &q->conn.sport;

	if (within(q, s->changed, s->changed_at, IBP_SPORT_PAUSE) || !in_order(q, p))
		return false;
	if (p->shape->flags & WIRE_F_RSP)
		return s->guesses && within(q, s->asked, s->asked_at, IBP_SPORT_ANSWER);
	return !ibp_probe_may_ask(q);
}

static void ask(struct ibp_qp *q)
{
	struct ibp_sport *s = &q->conn.sport;

	if (within(q, s->asked, s->asked_at, IBP_SPORT_PAUSE) || !ibp_probe_may_ask(q) || ibp_probe_ask(q) < 0)
		return;
	s->asked = true;
	s->guesses = IBP_SPORT_GUESSES;
	s->asked_at = q->port->now;
	ibp_count(q->port, ENG_C_source_port_probes);
	ibp_activate(q);
}

/* A request that was executed, which a probe is as well (probe.h). */
static bool asks_for_ack(const struct ibp_qp *q, const struct wire_ib_packet *p)
{
	int32_t d = psn_diff(p->psn, q->conn.resp.epsn);

	return p->ack_req && d < 0 && d >= -IBP_SPORT_REACH && q->conn.resp.framing == &ibp_frame_wire &&
	       !(p->shape->flags & (WIRE_F_RSP | WIRE_F_READ | WIRE_F_ATOMIC)) && !ibp_resp_is(&q->conn.resp, IBP_RESP_DEAD);
}

/* To the peer, from the port of this end. */
static void answer(struct ibp_qp *q)
{
	struct ibp_sport *s = &q->conn.sport;

	if (within(q, s->answered, s->answered_at, IBP_SPORT_PAUSE))
		return;
	s->answered = true;
	s->answered_at = q->port->now;
	ibp_resp_owe(q);
}

/* Neither of a user of this host that the kernel knows, nor proved yet. */
static bool from_elsewhere(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	struct ibp_sport *s = &q->conn.sport;

	/* The identifications of the peer are learned from its own packets alone. */
	if (!ibp_icrc_matches(q->port, NULL, rx))
		return false;
	if (is_proved(q, p)) {
		take(q, rx->sport);
		return true;
	}
	s->guesses -= s->guesses && (p->shape->flags & WIRE_F_RSP);
	s->missed |= !(p->shape->flags & WIRE_F_RSP) && in_order(q, p);
	if (asks_for_ack(q, p))
		answer(q);
	ask(q);
	ibp_count(q->port, ENG_C_rx_bad_source_port);
	return false;
}

/* UC has no answers that could prove a port: the PSN is near the next one, or the peer has been silent. */
static bool is_close(const struct ibp_qp *q, const struct wire_ib_packet *p)
{
	int32_t d = psn_diff(p->psn, q->conn.resp.epsn);

	return (d > -IBP_SPORT_REACH && d < IBP_SPORT_REACH) || q->port->now - q->conn.heard > IBP_SPORT_ANSWER;
}

static bool admits_unreliable(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx,
			      enum link_sender sender)
{
	if (q->conn.sport.known != IBP_SPORT_NONE && sender == LINK_SENDER_UNKNOWN && !is_close(q, p)) {
		ibp_count(q->port, ENG_C_rx_bad_source_port);
		return false;
	}
	if (!ibp_icrc_matches(q->port, q, rx))
		return false;
	take(q, rx->sport);
	return true;
}

bool ibp_sport_admits(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	struct ibp_sport *s = &q->conn.sport;
	struct link *l = q->port->link;
	enum link_sender sender;

	if (s->before == rx->sport) {
		s->before = s->known;
		s->known = rx->sport;
		return ibp_icrc_matches(q->port, q, rx);
	}
	sender = l->ops->sender(l, rx);
	if (sender == LINK_SENDER_STRANGER) {
		ibp_count(q->port, ENG_C_rx_bad_source_port);
		return false;
	}
	if (p->shape->cls == WIRE_CLASS_CNP) /* adapters send them from ports of their own */
		return ibp_icrc_matches(q->port, NULL, rx);
	if (q->cls == WIRE_CLASS_UC)
		return admits_unreliable(q, p, rx, sender);
	if (s->known != IBP_SPORT_NONE && sender == LINK_SENDER_UNKNOWN)
		return from_elsewhere(q, p, rx);
	if (!ibp_icrc_matches(q->port, q, rx))
		return false;
	if (in_order(q, p) || s->known != IBP_SPORT_NONE)
		take(q, rx->sport);
	return true;
}

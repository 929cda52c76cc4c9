/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagram endpoints of the IB extension. What connecting gives is an address handle and a number;
 * an endpoint may ask, and answer, as often as it likes, and stays CONNECTED from the first time.
 *
 * rdma_cm's SIDR tells the asking side everything about the other, and the other nothing: so a
 * request carries, before the consumer's data, who asks. Only this provider does datagrams over
 * rdma_cm, so both ends know the header.
 */
#ifndef DAT_PROVIDER_UD_H
#define DAT_PROVIDER_UD_H

#include "dat/provider/conn.h"

struct dpr_cr;

/* Who asks. */
struct dpr_ud_peer {
	uint32_t qpn;
	uint16_t lid;
	uint8_t gid[16];
};

/* Puts the header on, or takes it off; false: there is none. */
void dpr_ud_wrap(struct dpr_private *p, const struct dpr_ud_peer *peer);
bool dpr_ud_unwrap(struct dpr_private *p, struct dpr_ud_peer *peer);

/* A fresh attempt, its id not begun; its reference goes to ep. `life` is held. */
DAT_RETURN dpr_ud_connect(struct dpr_ep *ep, struct dpr_conn *c, DAT_TIMEOUT timeout);
DAT_RETURN dpr_ud_accept(struct dpr_cr *cr, struct dpr_ep *ep, const struct dpr_private *out);
/* The loop: route resolved; answered; refused or failed (type of the event's extension). */
int dpr_ud_request(struct dpr_conn *c, struct dpr_ep *ep);
void dpr_ud_established(struct dpr_conn *c, const struct dpr_cm_event *e);
void dpr_ud_rejected(struct dpr_conn *c, const struct dpr_cm_event *e);
void dpr_ud_failed(struct dpr_conn *c, bool rejected);
/* The endpoint's end: all its addresses go. No lock held. */
void dpr_ud_drop(struct dpr_ep *ep);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagram endpoints of the IB extension. What connecting gives is an address handle and a number;
 * an endpoint may ask, and answer, as often as it likes, and stays CONNECTED from the first time.
 *
 * rdma_cm's SIDR tells the asking side everything about the other, and the other nothing: so a
 * request carries, before the consumer's data, who asks. Only this provider does datagrams over
 * rdma_cm, so both ends know the header.
 */
#ifndef DAT_PROVIDER_CM_UD_H
#define DAT_PROVIDER_CM_UD_H

#include <dat2/dat_ib_extensions.h>
#include <dat2/udat.h>
#include <stdbool.h>

struct dpr_cm_event;
struct dpr_conn;
struct dpr_cr;
struct dpr_ep;
struct dpr_private;

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

/* dat_ib_ud_cm_free, `cm` being the context of the event, and dat_ib_ud_ah_free; of the connection
 * side (ud*.c), which made both. */
DAT_RETURN dpr_ud_cm_free(struct dpr_ep *ep, DAT_CONTEXT cm);
DAT_RETURN dpr_ud_ah_free(struct dpr_ep *ep, DAT_IB_ADDR_HANDLE *ah);

#endif

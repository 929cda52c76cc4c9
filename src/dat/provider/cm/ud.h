/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagram endpoints of the IB extension. A connect yields an address handle and a queue pair
 * number; an endpoint may connect and accept any number of times, and stays CONNECTED from the
 * first time.
 *
 * The queue pair belongs to no id: it is made the first time and moved to RTS at once. Each answer
 * stays with the endpoint, on `uds`, until the consumer frees it or the endpoint ends.
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

/* Starts attempt c, whose id has not started, and gives ep a reference of it. Called with ep->life
 * held. */
DAT_RETURN dpr_ud_connect(struct dpr_ep *ep, struct dpr_conn *c, DAT_TIMEOUT timeout);
/* Accepts cr with ep. Called with ep->life held. */
DAT_RETURN dpr_ud_accept(struct dpr_cr *cr, struct dpr_ep *ep, const struct dpr_private *out);

/* In the loop: the route is resolved. Called with ep->lock held. Returns 0 or a positive errno. */
int dpr_ud_request(struct dpr_conn *c, struct dpr_ep *ep);
/* In the loop: the peer answered. */
void dpr_ud_established(struct dpr_conn *c, const struct dpr_cm_event *e);
void dpr_ud_rejected(struct dpr_conn *c, const struct dpr_cm_event *e);
/* The attempt failed; `rejected`: by the peer's consumer. */
void dpr_ud_failed(struct dpr_conn *c, bool rejected);

/* Frees all addresses of ep, which ends. No lock held. */
void dpr_ud_drop(struct dpr_ep *ep);
/* dat_ib_ud_cm_free, `cm` being the context of the event, and dat_ib_ud_ah_free. */
DAT_RETURN dpr_ud_cm_free(struct dpr_ep *ep, DAT_CONTEXT cm);
DAT_RETURN dpr_ud_ah_free(struct dpr_ep *ep, DAT_IB_ADDR_HANDLE *ah);

#endif

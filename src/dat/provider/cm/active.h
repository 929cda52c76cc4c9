/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connecting side: resolve the address, resolve the route, request, answer. All but the first
 * step run in the loop, with the endpoint's lock held and after a check that the attempt is still
 * the present one.
 */
#ifndef DAT_PROVIDER_CM_ACTIVE_H
#define DAT_PROVIDER_CM_ACTIVE_H

#include <dat2/udat.h>
#include <rdma/rdma_cma.h>

struct dpr_cm_event;
struct dpr_conn;
struct dpr_private;
struct dpr_timer;

/* Resolves the address. Called with the endpoint's lock held. Returns 0 or a positive errno. */
int dpr_conn_start(struct dpr_conn *c);
/* In the loop: an event of resolving an address or a route. */
void dpr_conn_resolve(struct dpr_conn *c, const struct dpr_cm_event *e);
/* Ends the attempt with `event`, on the passive side with ACCEPT_COMPLETION_ERROR. c->in has the
 * peer's private data. */
void dpr_conn_failed(struct dpr_conn *c, DAT_EVENT_NUMBER event);
/* Handler of c->timer. */
void dpr_conn_timeout(struct dpr_timer *t);

/* Returns the parameters of rdma_connect and rdma_accept. */
struct rdma_conn_param dpr_conn_param(const DAT_EP_ATTR *attr, const struct dpr_private *out);

#endif

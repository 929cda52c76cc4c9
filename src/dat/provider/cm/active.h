/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connecting side: address, route, request, answer. All but the first step is taken in the loop,
 * under the endpoint's lock and after a look that the attempt still counts.
 */
#ifndef DAT_PROVIDER_CM_ACTIVE_H
#define DAT_PROVIDER_CM_ACTIVE_H

#include <dat2/udat.h>
#include <rdma/rdma_cma.h>

struct dpr_cm_event;
struct dpr_conn;
struct dpr_private;
struct dpr_timer;

void dpr_conn_resolve(struct dpr_conn *c, const struct dpr_cm_event *e);

/* Begins with the address; 0 or positive errno. The endpoint's lock is held. */
int dpr_conn_start(struct dpr_conn *c);

/* The attempt failed with this event for the active side, and this in c->in for the consumer. */
void dpr_conn_failed(struct dpr_conn *c, DAT_EVENT_NUMBER event);
void dpr_conn_timeout(struct dpr_timer *t);

/* What rdma_connect and rdma_accept are told of the endpoint. */
struct rdma_conn_param dpr_conn_param(const DAT_EP_ATTR *attr, const struct dpr_private *out);

#endif

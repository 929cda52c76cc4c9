/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection request arrives at a service point: from the peer, or by handoff from another
 * service point of this adapter. It is queued as an event with a CR behind it, or nothing happens
 * and the caller refuses it. So the backlog of a service point is the room in its EVD.
 */
#ifndef DAT_PROVIDER_CM_SP_REQUEST_H
#define DAT_PROVIDER_CM_SP_REQUEST_H

#include <dat2/udat.h>
#include <stdbool.h>

struct dpr_cm_event;
struct dpr_conn;
struct dpr_cr;
struct dpr_ep;
struct dpr_sp;

/* In the loop: a request arrived. Takes over e->id. */
void dpr_sp_request(struct dpr_sp *sp, const struct dpr_cm_event *e);

/* Offers the request of c to sp; `as` has the fields of its CR. Returns false if sp does not take
 * it (freed, spent, no room in its EVD, no memory). */
bool dpr_sp_offer(struct dpr_sp *sp, struct dpr_conn *c, const struct dpr_cr *as);

/* Returns the endpoint of an unaccepted request to its former state, or ends it if the provider
 * made it. Drops a reference. */
void dpr_cr_return_ep(struct dpr_ep *ep);

/* Refuses in the provider's name: the peer receives NON_PEER_REJECTED. */
void dpr_conn_refuse(struct dpr_conn *c);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A request comes to a service point: from the peer, or from another one of this adapter that hands it
 * on. Either it is queued as an event with a CR behind it, or nothing happened and the caller
 * refuses it: a backlog is as long as the EVD has room.
 */
#ifndef DAT_PROVIDER_CM_SP_REQUEST_H
#define DAT_PROVIDER_CM_SP_REQUEST_H

#include <dat2/udat.h>
#include <stdbool.h>

struct dpr_cm_event;
struct dpr_conn;
struct dpr_cr;
struct dpr_ep;
struct dpr_ia;
struct dpr_sp;

/* The loop: a request came; e->id is ours from here on. */
void dpr_sp_request(struct dpr_sp *sp, const struct dpr_cm_event *e);

/* Gives a connection that was asked for to this service point. False: it will not have it (gone,
 * spent, no room in its EVD, no memory), and nothing happened. */
bool dpr_sp_offer(struct dpr_sp *sp, struct dpr_conn *c, const struct dpr_cr *as);

/* The listener of this adapter with that qualifier, held; NULL: none. */
struct dpr_sp *dpr_sp_find(struct dpr_ia *ia, DAT_CONN_QUAL qual);

/* Its endpoint, of an RSP or of ours, goes back to where it came from; a reference of it too. */
void dpr_cr_return_ep(struct dpr_ep *ep);

/* The provider refuses: nobody listens, as far as the peer can tell. */
void dpr_conn_refuse(struct dpr_conn *c);

#endif

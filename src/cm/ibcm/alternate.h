/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Alternate paths of connections (IBTA 12.8, 17.2.8). A REQ may bring the first one; each later one comes by LAP, from
 * either end, and the answer is an APR:
 *
 *	load_path: LAP -------> the peer's manager checks the path, loads it into its QP, which is then REARM
 *	           APR <------- status 0
 *	the sender loads it too; the event ALTERNATE reports the status. The QPs arm each other by their next packets
 *
 * No user takes part at the receiving end: rdma_cm has no event for it. A LAP is repeated until its APR arrives. The same
 * LAP once more gets the same answer and loads nothing; one older than the newest gets none. If both ends ask at once the
 * active end's path is loaded: while it waits for an APR it rejects the peer's.
 */
#ifndef CM_IBCM_ALTERNATE_H
#define CM_IBCM_ALTERNATE_H

#include "cm/ibcm/ep.h"

/* Writes the alternate path of a REQ. */
void ibcm_alternate_put(const struct ibcm_ep *e, uint8_t *m);
/* Reads it. A path that the endpoint cannot take is left out, and the REP says so. */
void ibcm_alternate_read(struct ibcm_ep *e, const uint8_t *m);
/* The REP tells whether the peer has taken it. */
void ibcm_alternate_answered(struct ibcm_ep *e, const uint8_t *m);
/* Fills the alternate path of QP attributes. Returns 0, or -errno of the carrier's way() and along(). */
int ibcm_alternate_attr(const struct ibcm_ep *e, const struct cm_path *path, uint8_t timeout, struct ibv_qp_attr *a);

int ibcm_load_path(struct cm_ep *ep, const struct cm_path *path);
ibcm_handler ibcm_got_lap, ibcm_got_apr;
/* No APR arrives: the connection goes on without the path. */
void ibcm_alternate_failed(struct ibcm_ep *e, int status);
/* The QP has migrated. Returns 0, or -EINVAL: there was no alternate path. */
int ibcm_alternate_migrated(struct ibcm_ep *e);

#endif

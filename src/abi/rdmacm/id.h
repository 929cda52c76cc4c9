/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Identifiers (rdma_cm_id): life, channel, options, names. Made for a program (rdma_create_id), an endpoint (ep.c) or a
 * request that has come (chan.c); each has one of the RDMA CM (cm/cma/id.c) behind it.
 */
#ifndef ABI_RDMACM_ID_H
#define ABI_RDMACM_ID_H

#include "abi/rdmacm/rcm.h"

struct rcm_id *rcm_id_alloc(void *context, enum rdma_port_space ps, enum ibv_qp_type qp_type);
void rcm_id_free(struct rcm_id *id);
int rcm_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		  enum ibv_qp_type qp_type, struct rcm_id **ret);
/* To a channel of the program, or to a private one (NULL). */
int rcm_id_migrate(struct rcm_id *id, struct rdma_event_channel *channel);

#endif

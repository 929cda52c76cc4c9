/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A local address at which the carrier takes connections: over TCP always, which is the lock of the address too; over RDMA where the
 * address has a channel adapter. Addresses of the loop-back network have RDMA only for sockets that have chosen it, as Linux gives them
 * its loop-back transport.
 */
#ifndef ULP_RDS_LISTENER_H
#define ULP_RDS_LISTENER_H

#include "ulp/preload/name.h"
#include "ulp/rds/loop.h"

struct rds_node;
struct rds_map;
struct ibv_context;
struct ulp_listener;

struct rds_listener {
	struct rds_watch watch;
	struct ut_list node_entry;      /* rds_node.listeners */
	struct rds_node *node;
	struct rsp_addr addr;           /* without port */
	struct rds_map *map;            /* congestion of its ports */
	struct ulp_listener *rdma;      /* NULL: TCP alone */
	struct rds_watch rdma_watch;
};

/* The listener of an address, or NULL. */
struct rds_listener *rds_listener_find(struct rds_node *n, const struct rsp_addr *addr);
/* Listens at an address, unless this is done. Returns 0 or a negative errno: -EADDRINUSE: another user has it. */
int rds_listener_open(struct rds_node *n, const struct rsp_addr *addr);
/* A socket there has chosen RDMA. Returns 0 or a negative errno: -ENOPROTOOPT: there is none. */
int rds_listener_want_rdma(struct rds_node *n, const struct rsp_addr *addr);
/* The adapter of an address. NULL: it has none, or no socket may use it. */
struct ibv_context *rds_listener_verbs(struct rds_node *n, const struct rsp_addr *addr);
/* Returns true if sockets there that have chosen nothing send over RDMA. */
bool rds_listener_prefers_rdma(struct rds_node *n, const struct rsp_addr *addr);

#endif

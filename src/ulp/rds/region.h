/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of programs that peers read and write: RDS_GET_MR and its kin. The program passes a memfd that has its pages at the place of
 * their address; the carrier maps and registers them. A region belongs to a socket, and to the adapter of its local address: there is one
 * protection domain for all connections of an adapter, as in Linux, so that a region outlives them.
 */
#ifndef ULP_RDS_REGION_H
#define ULP_RDS_REGION_H

#include "util/list.h"

#include <stdbool.h>
#include <stdint.h>

#define RDS_REGIONS_MAX 8192            /* of a socket */

struct ibv_context;
struct ibv_pd;

/* The protection domain of an adapter. NULL: there is none; errno says why. */
struct ibv_pd *rds_region_pd(struct ibv_context *verbs);

/* What a program wants to share. */
struct rds_region_spec {
	uint64_t addr, len;             /* in the program */
	bool use_once;                  /* ends with the message of the peer that has used it */
};

/*
 * Registers memory for the list of a socket's regions, which starts empty. The offset of its first octet in *ret_cookie is that in its page, as
 * in Linux. Returns 0 or a negative errno.
 */
int rds_region_make(struct ut_list *regions, struct ibv_context *verbs, const struct rds_region_spec *spec, int fd, uint64_t *ret_cookie);
bool rds_region_has(const struct ut_list *regions, uint32_t key);
/* Returns false if there is none. */
bool rds_region_free(struct ut_list *regions, uint32_t key);
/* The peer has used it. Returns true if it has gone with that. */
bool rds_region_used(struct ut_list *regions, uint32_t key);
void rds_region_free_all(struct ut_list *regions);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control messages of a send: RDMA operations, atomics, and regions that the peer is told of; in the order and with the errors of Linux. And
 * RDS_GET_MR, RDS_GET_MR_FOR_DEST, RDS_FREE_MR.
 */
#ifndef ULP_RDS_PRELOAD_CONTROL_H
#define ULP_RDS_PRELOAD_CONTROL_H

#include "ulp/rds/record.h"

#include <sys/socket.h>

/* A send's control messages, taken apart. */
struct rds_control {
	const struct cmsghdr *args, *dest, *map, *atomic;
	uint64_t rdma_bytes;            /* that the operations name of the peer's memory */
	uint64_t mapped;                /* cookie of the region that has been made for the send; 0: none */
};

/* Reads them. Returns 0 or a negative errno: what is no good whatever the socket is. */
int rds_control_read(struct rds_control *ret, const struct msghdr *m);
/* Fills the head with works and the cookie, once it has its address; makes a region if asked to. Returns 0 or a negative errno. */
int rds_control_apply(struct rds_control *c, int fd, struct rds_record *head);
/* Appends the pieces and octets of the head's works to a memfd. Returns 0 or a negative errno. */
int rds_control_write(const struct rds_control *c, const struct rds_record *head, int memfd);
/* The send has failed: the region that was made for it goes. */
void rds_control_undo(const struct rds_control *c, int fd);

/* RDS_GET_MR, RDS_GET_MR_FOR_DEST, RDS_FREE_MR. Return 0 or a negative errno. */
int rds_region_get(int fd, int opt, const void *val, socklen_t len);
int rds_region_end(int fd, const void *val, socklen_t len);

#endif

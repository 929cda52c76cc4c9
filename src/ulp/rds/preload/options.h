/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Options of RDS sockets: levels SOL_RDS and SOL_SOCKET. */
#ifndef ULP_RDS_PRELOAD_OPTIONS_H
#define ULP_RDS_PRELOAD_OPTIONS_H

#include "ulp/rds/record.h"

/*
 * As getsockopt(2) and setsockopt(2) of the RDS socket that the request names. Each returns a negative errno, or what the
 * call returns: 0, or with RDS_INFO_* the octets of one element.
 */
int rds_option_get(int fd, struct rds_request *q, int level, int opt, void *val, socklen_t *len);
int rds_option_set(int fd, struct rds_request *q, int level, int opt, const void *val, socklen_t len);

#endif

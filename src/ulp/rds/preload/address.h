/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses as the calls on RDS sockets take them. */
#ifndef ULP_RDS_PRELOAD_ADDRESS_H
#define ULP_RDS_PRELOAD_ADDRESS_H

#include "ulp/rds/record.h"

/*
 * Reads the address of one host, IPv4 or IPv6; an IPv4 address in its IPv6 form becomes the former. Returns 0, -EINVAL if it
 * is none, or -EDESTADDRREQ for the wildcard.
 */
int rds_address(const struct sockaddr *at, socklen_t len, struct rsp_addr *ret);

#endif

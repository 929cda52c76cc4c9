/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RDS_INFO_*: what the carrier tells of its sockets, connections and messages, in the structures of linux/rds.h. */
#ifndef ULP_RDS_INFO_H
#define ULP_RDS_INFO_H

#include "ulp/rds/node.h"

/*
 * Returns a memfd with the elements of this option, the octets of one element in *ret_each and of all in *ret_len; or a
 * negative errno: -ENOPROTOOPT: there is no such option.
 */
int rds_info(struct rds_node *n, int option, uint32_t *ret_each, uint64_t *ret_len);

#endif

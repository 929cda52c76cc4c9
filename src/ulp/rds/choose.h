/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which transport carries a message. A socket that has chosen one by SO_RDS_TRANSPORT keeps to it, as in Linux. For the others RDMA
 * comes first where the local address has it; a software adapter is everywhere, though, and says nothing of the peer. So their messages
 * wait for the transport of which a connection stands first:
 *
 *      RDMA asked ---stands---> RDMA
 *        ^    | refused, or no answer
 *        |    v
 *      TCP asked  ---stands---> TCP, until all is acknowledged and RDMA has stood, too
 *
 * They move between the two connections only as long as none of theirs has been sent, so their order stays.
 */
#ifndef ULP_RDS_CHOOSE_H
#define ULP_RDS_CHOOSE_H

#include "ulp/rds/conn.h"

struct rds_sock;

/* The connection for a message of a socket; NULL: as of rds_node_conn(). */
struct rds_conn *rds_choose(struct rds_node *n, const struct rds_sock *s, const struct rsp_addr *to);
/* Returns true if messages of an attempt may move to the other transport. */
bool rds_choose_may(const struct rds_conn *c);
/* An attempt has failed: the other transport is asked for those that may. */
void rds_choose_again(struct rds_conn *c);
/* A connection stands: it takes what waits for the other transport. */
void rds_choose_stood(struct rds_conn *c);

#endif

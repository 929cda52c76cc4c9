/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The home of receive queues that other processes receive for (forward.h): requests that their target queue
 * pairs hand on are executed here on proxies, and answered. A proxy is a queue pair with the target's
 * number that no packet and no program can reach; it is made as a target comes, found by the target's
 * number and address, and given to another when idle.
 */
#ifndef PROTO_IB_XRC_HOME_H
#define PROTO_IB_XRC_HOME_H

#include "proto/ib/xrc/forward.h"

struct eng_xrcd;

void ibp_forwards_init(struct ibp_port *port);
void ibp_forwards_fini(struct ibp_port *port);
/* A message that is no packet. Returns false if it is none of forwarding either. */
bool ibp_forward_receive(struct ibp_port *port, const struct shm_message *rx);
/* Sends the answers that are due. */
void ibp_forward_run(struct ibp_port *port);
/* Returns true if the message in work on this proxy is still going on. */
void ibp_home_timer(struct ibp_qp *q);
/* Returns true if the domain of a queue is the one that the target's message was sent to. */
bool ibp_home_domain(const struct ibp_proxy *s, const struct eng_xrcd *x);
/* Returns the flow to the process that wrote this message. */
struct ut_flow ibp_forward_back(struct ibp_port *port, const struct shm_message *rx);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Posts without a round: the usual request of a reliable connection, one packet long, where nothing is slow (slow.h). It goes from the work
 * request into the ring or the train, without the packet in between that the requester makes. Within a host that is a Send, Write or atomic small
 * enough to be copied; on the wire it is a Send. These are the rules of the requester for that one case. Any other request changes nothing here
 * and is left to them. No clock is read.
 */
#ifndef PROTO_IB_POST_H
#define PROTO_IB_POST_H

#include "proto/post.h"

#include <stdbool.h>
#include <stdint.h>

struct eng_qp;
struct ibp_port;
struct ibp_qp;
struct ibv_send_wr;

/* dev_machine.post: executes or sends the requests posted to a queue pair. */
enum proto_posted ibp_post(struct eng_qp *qp, unsigned how, uint64_t now);
/* dev_machine.post_now: a plain Send of 1 octet to IBP_SHM_PACKET, through a lane; a plain Write, by direct access that was granted before. Both
 * functions write eng_qp.ready_ops. */
enum proto_posted ibp_post_now(struct eng_qp *qp, const struct ibv_send_wr *wr, unsigned how);
/* Sends at most `most` requests of a connection of the wire, from the cursor on. Returns true if one
 * has left; false: the request at the cursor is left to the full rules. */
bool ibp_post_packets(struct ibp_qp *q, uint32_t most);
/* Sets the timers of requests that left without a round. */
void ibp_post_arm(struct ibp_port *port);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The routes of messages within a host. Packets of an InfiniBand link meet tables, keys and link states on their way;
 * messages of the shm channel do not, so the link is asked whether they would pass (link_ops.ends): when the path of a
 * queue pair is made, and anew when the link's routes have moved. On Ethernet every route is good.
 *
 *	GOOD      messages leave
 *	ASKED     the link does not know yet: messages wait
 *	REFUSED   a link on the way is down, there is no table entry, another partition, an MTU that is too small: messages
 *	          count as lost, so retries and time-outs are those of packets; a first request takes the wire
 *
 * A message has no P_Key in its fast form. The first one of a connection shows it, and the first after a change.
 */
#ifndef PROTO_IB_ROUTE_H
#define PROTO_IB_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

struct ibp_port;
struct ibp_qp;

enum ibp_route { IBP_ROUTE_GOOD, IBP_ROUTE_ASKED, IBP_ROUTE_REFUSED };

/* Finds the route of a queue pair whose path, P_Key or MTU has changed, or that is ASKED. Called with the progress lock. */
void ibp_route_follow(struct ibp_qp *q);
/* The link's routes have moved: finds those of all queue pairs. Called with the progress lock. */
void ibp_routes_follow(struct ibp_port *port);
/* The next message of the queue pair shows its P_Key. */
void ibp_route_show_pkey(struct ibp_qp *q);

#endif

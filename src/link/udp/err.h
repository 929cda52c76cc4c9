/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ICMP errors of datagrams sent earlier, from the error queues of the sockets. The adapter's round asks for them
 * (link_ops.error, device/kind/roce.c) and tells the transport (ibp_unreachable) and the connection manager
 * (cm/ibcm/watch.c).
 */
#ifndef LINK_UDP_ERR_H
#define LINK_UDP_ERR_H

#include "link/udp/state.h"

/* link_ops.error */
int udp_error(struct link *l, struct link_err *ret);

#endif

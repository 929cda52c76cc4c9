/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ICMP errors of earlier sends: the sockets' error queues. */
#ifndef LINK_UDP_ERR_H
#define LINK_UDP_ERR_H

#include "link/udp/state.h"

/* link_ops.error */
int udp_error(struct link *l, struct link_err *ret);

#endif

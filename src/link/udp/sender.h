/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The user behind a datagram of this host: whose socket has its source address and port (sock_diag(7)). */
#ifndef LINK_UDP_SENDER_H
#define LINK_UDP_SENDER_H

#include "link/link.h"

/* link_ops.sender */
enum link_sender udp_sender(struct link *l, const struct link_rx *rx);

#endif

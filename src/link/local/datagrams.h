/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A decorator of datagram links: datagrams to processes of this host take the shm channel as
 * records, with their addresses and ports as on the wire, and all others the link below. The choice
 * is made here alone. A sender delays its datagrams (-EAGAIN) until the peer has answered, so that
 * none overtakes another by changing ways. QP0, QP1 and groups keep to the wire, so that packet
 * filters are asked once per connection.
 *
 * Order of a round: records first, which cost a look at memory, then the link's sockets; while
 * records come the link is told so (link.local_news) and asks the kernel only when its turn has
 * come.
 */
#ifndef LINK_LOCAL_DATAGRAMS_H
#define LINK_LOCAL_DATAGRAMS_H

#include "link/link.h"

struct shm_channel;

/* Wraps lower, which has room in its stage (spare_len); both belong to the decorator after success.
 * Returns 0 or -ENOMEM. */
int local_datagrams_open(struct link *lower, struct shm_channel *chan, struct link **ret);

#endif

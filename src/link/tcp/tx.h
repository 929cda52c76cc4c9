/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sending. The slots of link_streams_ops. */
#ifndef LINK_TCP_TX_H
#define LINK_TCP_TX_H

#include "link/stream.h"

ssize_t tcp_send(struct link_stream *l, const void *data, size_t len);
size_t tcp_room(struct link_stream *l);
uint32_t tcp_mss(struct link_stream *l);
bool tcp_drained(struct link_stream *l);
void tcp_shutdown(struct link_stream *l);

#endif

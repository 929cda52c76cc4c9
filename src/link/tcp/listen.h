/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bound ports and listeners. */
#ifndef LINK_TCP_LISTEN_H
#define LINK_TCP_LISTEN_H

#include "link/tcp/place.h"

/* link_streams_ops. */
int tcp_bind(struct link_streams *l, const struct link_end *local, bool reuse, bool v6only,
	     struct link_listener **ret);
int tcp_listen(struct link_listener *l, int backlog);
void tcp_unbind(struct link_listener *l);

/* Returns its descriptor, which is the caller's then, and frees the listener. */
int tcp_listener_take(struct tcp_listener *l);
/* Accepts connections, a bounded number. Returns the number of events. */
int tcp_accept(struct tcp_listener *l);
/* Watches the listeners again that had to wait for descriptors. */
void tcp_accept_again(struct tcp_place *p);

#endif

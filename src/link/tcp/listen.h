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

/* Returns its descriptor, which is the caller's then; the listener is over. */
int tcp_listener_take(struct tcp_listener *l);
/* Accepts what waits, a bounded number. Returns how many things happened. */
int tcp_accept(struct tcp_listener *l);
/* The listeners that rest for want of descriptors are watched again. */
void tcp_accept_again(struct tcp_place *p);

#endif

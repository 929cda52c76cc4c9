/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LINK_UDP_POLL_H
#define LINK_UDP_POLL_H

#include "link/udp/state.h"

#define UDP_POLLED 1000 /* empty tries until a socket is quiet again */

/* poll.c: the epoll set and what it said. */
int udp_watch(struct udp_link *u, struct udp_port *p);
/* Out of every list, out of epoll (a forked child may keep the file), closed. */
void udp_unwatch(struct udp_link *u, struct udp_port *p);
/* The socket gave datagrams: it is asked directly from now on. */
static inline void udp_poll_add(struct udp_link *u, struct udp_port *p)
{
	p->polled = UDP_POLLED;
	if (ut_list_empty(&p->polled_node))
		ut_list_add_tail(&u->polled, &p->polled_node);
}
void udp_port_error(struct udp_link *u, struct udp_port *p);
void udp_port_init(struct udp_port *p, enum udp_kind kind, int fd);
/* Arms the timer for the earliest deadline of all searches. */
void udp_set_timer(struct udp_link *u);

#endif

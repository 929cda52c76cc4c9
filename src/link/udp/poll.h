/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The poll set: the sockets that gave datagrams lately. A polling thread that asks the kernel about every socket every
 * time pays for the quiet ones, so those in the set are read directly; the others are found by a look at the epoll set,
 * on which a thread without anything to do sleeps.
 */
#ifndef LINK_UDP_POLL_H
#define LINK_UDP_POLL_H

#include "link/udp/state.h"

#define UDP_POLLED 1000 /* empty tries until a socket is quiet again */

/* Adds a socket to the epoll set. Returns 0 or -errno. */
int udp_watch(struct udp_link *u, struct udp_port *p);
/* Takes a socket out of every list and of the epoll set, since a forked child may keep the file, and closes it. */
void udp_unwatch(struct udp_link *u, struct udp_port *p);
/* The socket gave datagrams: it is asked directly from now on. */
static inline void udp_poll_add(struct udp_link *u, struct udp_port *p)
{
	p->polled = UDP_POLLED;
	if (ut_list_empty(&p->polled_node))
		ut_list_add_tail(&u->polled, &p->polled_node);
}
/* The socket has reports of errors. */
void udp_port_error(struct udp_link *u, struct udp_port *p);
void udp_port_init(struct udp_port *p, enum udp_kind kind, int fd);
/* Arms the timer for the earliest deadline of all searches. */
void udp_set_timer(struct udp_link *u);

#endif

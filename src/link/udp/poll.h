/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The poll set: the sockets that gave datagrams lately. A polling thread that asks the kernel about every socket every
 * time pays for the quiet ones, so those in the set are read directly; the others are found by a look at the epoll set,
 * on which a thread without anything to do sleeps.
 *
 * The kernel tells the epoll sets of each datagram that comes to a socket or has left it, which is a tenth of an 8-byte Send.
 * While an application thread polls (link_ops.sleep), or the background thread spins (link_ops.attend), no thread waits for
 * that, so sockets in steady use are paused: they leave the epoll set. A paused socket is in the poll set, or one that only
 * sends, whose reports of errors udp_error() looks for. Before a thread sleeps all return, and one that leaves the poll set does.
 */
#ifndef LINK_UDP_POLL_H
#define LINK_UDP_POLL_H

#include "link/udp/state.h"

#define UDP_POLLED 1000 /* empty tries until a socket is quiet again */
#define UDP_STEADY 64   /* datagrams until a socket is paused: it returns for the price of two or three */

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
/* Takes the socket out of the epoll set, if a thread polls. */
void udp_pause(struct udp_link *u, struct udp_port *p);
/* The socket gave or took datagrams. */
static inline void udp_used(struct udp_link *u, struct udp_port *p)
{
	if (++p->uses >= UDP_STEADY)
		udp_pause(u, p);
}
/* Returns the socket to the epoll set, if it is paused. Returns false for want of memory. */
bool udp_resume(struct udp_link *u, struct udp_port *p);
/* link_ops.sleep */
void udp_sleep(struct link *l, bool on, bool look);
/* link_ops.attend */
void udp_attend(struct link *l, bool on);
/* The socket has reports of errors. */
void udp_port_error(struct udp_link *u, struct udp_port *p);
void udp_port_init(struct udp_port *p, enum udp_kind kind, int fd);
/* Arms the timer for the earliest deadline of all searches. */
void udp_set_timer(struct udp_link *u) UT_EXCLUDES(u->pausing);

#endif

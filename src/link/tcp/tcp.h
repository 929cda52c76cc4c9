/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * iWARP's link: TCP sockets of the host's own stack, so that packet filters,
 * limits, SYN cookies and congestion control stay in force. One place per
 * adapter: an epoll descriptor with all its sockets; those that were busy
 * lately are read directly before epoll is asked.
 */
#ifndef LINK_TCP_TCP_H
#define LINK_TCP_TCP_H

#include "link/stream.h"

/* 0 or -ENOMEM, -EMFILE, ... ifindex: the interface of this place; 0 = any. */
int tcp_open(uint32_t ifindex, struct link_streams **ret);
/*
 * Streams between two processes of one user on this host go through shared memory once their users
 * say that they may (link_streams_ops.near). Before the first stream. 0 or -errno.
 */
enum tcp_local_how {
	TCP_LOCAL_CONNECTED = 1, /* those that connect() and listen() made */
	TCP_LOCAL_HANDED_OVER = 2, /* and those that adopt() took */
	TCP_LOCAL_SELF = 4 /* also within one process: for tests */
};
int tcp_go_local(struct link_streams *p, unsigned how);
/* The process exits: every stream is closed gracefully, and the call lasts until what was
 * sent has reached the peers' hosts, 200 ms at most. The place stays, empty. */
void tcp_leave(struct link_streams *p);
/* In a child of fork(): closes the descriptors, sends nothing. */
void tcp_forget(struct link_streams *p);

#endif

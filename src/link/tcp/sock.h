/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Socket descriptors: their addresses, their options, and the kernel's knowledge of them. */
#ifndef LINK_TCP_SOCK_H
#define LINK_TCP_SOCK_H

#include "link/stream.h"

/* All return a negative errno on failure. */
int tcp_sock_open(bool v4);
int tcp_sock_option(int fd, int level, int name, int value);
/* Returns the option's value, or `fallback` if the kernel does not tell it. */
int tcp_sock_number(int fd, int level, int name, int fallback);
/* scope: interface of link-local addresses that name none, ignored for others. */
int tcp_sock_bind(int fd, const struct link_end *e, uint32_t scope);
int tcp_sock_connect(int fd, const struct link_end *e, uint32_t scope);
int tcp_sock_ends(int fd, struct link_end *local, struct link_end *remote); /* remote may be NULL */
void tcp_sock_tos(int fd, bool v4, int tos);
/* To be called once connected: sets no delay, and a congestion control that suits the path. */
void tcp_sock_tune(int fd);
/* To be called once connected: lets the kernel probe the peer's after `seconds` of silence (0: never). Three probes
 * without an answer end the connection after some twice that time. A process that is stopped does not matter.
 * Returns false, and does nothing, where both ends are of one host. */
bool tcp_sock_keepalive(int fd, unsigned seconds);
/* Returns the bytes that the peer's host has not acknowledged. */
size_t tcp_sock_unacked(int fd);

#endif

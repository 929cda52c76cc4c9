/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Creation, addresses and flags of rsockets of both types. */
#ifndef ULP_RSOCKET_SOCKET_H
#define ULP_RSOCKET_SOCKET_H

#include "ulp/rsocket/sock.h"

/* Creates an rsocket and enters it into the table. Returns its descriptor or a negative errno. */
int rs_socket_make(int domain, int type, int protocol);
int rs_socket_bind(struct rs_sock *s, const struct sockaddr *addr, socklen_t len);
/* Returns 0, or -EINPROGRESS or -EALREADY while a non-blocking rsocket connects, or the error. */
int rs_socket_connect(struct rs_sock *s, const struct sockaddr *addr, socklen_t len);
/* The local address; the peer's, or -ENOTCONN. */
int rs_socket_name(struct rs_sock *s, struct sockaddr *addr, socklen_t *len);
int rs_socket_peer(struct rs_sock *s, struct sockaddr *addr, socklen_t *len);
/* The commands of fcntl(2) on flags. The descriptor never blocks; O_NONBLOCK is the rsocket's. */
int rs_socket_control(struct rs_sock *s, int cmd, int arg);

/* Copies at most *len bytes of the name and sets *len to its true length, as getsockname(2) does. */
void rs_name(struct sockaddr *out, socklen_t *len, const struct sockaddr *name);

#endif

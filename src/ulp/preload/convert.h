/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* TCP sockets become ends of the carrier's connections at listen() and connect(). */
#ifndef ULP_PRELOAD_CONVERT_H
#define ULP_PRELOAD_CONVERT_H

#include <stdbool.h>
#include <sys/socket.h>

/* Returns true if the descriptor is a TCP socket that neither listens nor connects. */
bool rsp_is_fresh_tcp(int fd);
/*
 * Each returns 0 if the descriptor has been replaced; -EINPROGRESS if it has been and a non-blocking
 * attempt has begun; -EADDRINUSE if another program has the port. Any other error: the socket is as
 * it was, and is to be used as an ordinary one.
 */
int rsp_convert_listen(int fd, int backlog);
int rsp_convert_connect(int fd, const struct sockaddr *addr, socklen_t len);

#endif

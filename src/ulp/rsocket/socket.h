/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of rsockets. */
#ifndef ULP_RSOCKET_SOCKET_H
#define ULP_RSOCKET_SOCKET_H

#include <sys/socket.h>

/* Copies at most *len bytes of the name and sets *len to its true length, as getsockname(2) does. */
void rs_name(struct sockaddr *out, socklen_t *len, const struct sockaddr *name);

#endif

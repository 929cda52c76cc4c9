/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of the C library that libdapple-rsockets.so replaces. */
#ifndef ULP_PRELOAD_CALLS_H
#define ULP_PRELOAD_CALLS_H

#include <stdbool.h>
#include <sys/socket.h>

#define RSP_EXPORT __attribute__((visibility("default")))

/* Set by the library of `dapple run --sdp-own`: octets of a connection in this process; see rsp_tap_receive(). */
extern bool (*rsp_receive_here)(int fd, const struct msghdr *msg, int flags, ssize_t *ret_n);

#endif

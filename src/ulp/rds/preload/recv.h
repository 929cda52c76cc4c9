/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Receiving on an RDS socket. */
#ifndef ULP_RDS_PRELOAD_RECV_H
#define ULP_RDS_PRELOAD_RECV_H

#include <sys/socket.h>

/* As recvmsg(2) of an RDS socket. Returns octets or a negative errno. */
ssize_t rds_recv(int fd, struct msghdr *m, int flags);

#endif

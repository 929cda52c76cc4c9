/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sending on an RDS socket. */
#ifndef ULP_RDS_PRELOAD_SEND_H
#define ULP_RDS_PRELOAD_SEND_H

#include <sys/socket.h>

/* As sendmsg(2) of an RDS socket. Returns octets or a negative errno. */
ssize_t rds_send(int fd, const struct msghdr *m, int flags);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which descriptors of the program are RDS sockets: the name of the socket says it, so that no table has to follow them. */
#ifndef ULP_RDS_PRELOAD_SOCKETS_H
#define ULP_RDS_PRELOAD_SOCKETS_H

#include "ulp/rds/record.h"

#include <stdbool.h>

/* False as long as this process has no RDS socket: no other test is needed then. */
bool rds_may_have_any(void);
/* The process may have got one from another process. */
void rds_may_have_got(void);
/* Returns true if it is one. The name goes into a request unless that is NULL. */
bool rds_is_socket(int fd, struct rds_request *q);
/* Where it is bound. Returns false if it is not. */
bool rds_bound(int fd, struct rsp_addr *ret);
/* The generation of the carrier that has bound it; 0: it is not bound. */
uint32_t rds_carrier_of(int fd);
/* Makes an RDS socket with SOCK_NONBLOCK and SOCK_CLOEXEC as in type. Returns it or a negative errno. */
int rds_socket(int type);
/* Option of SOL_SOCKET as the kernel has it for the program's end; -1: it has none. */
int rds_socket_option(int fd, int option);

#endif

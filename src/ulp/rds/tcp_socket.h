/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sockets of RDS over TCP. */
#ifndef ULP_RDS_TCP_SOCKET_H
#define ULP_RDS_TCP_SOCKET_H

#include "ulp/rds/conn.h"

/* A socket that is bound to the local address. Returns it or a negative errno. */
int rds_tcp_socket(const struct rds_conn *c);
/* Has that one connect to the peer. Returns 0 or a negative errno. */
int rds_tcp_dial(const struct rds_conn *c, int fd);
/* Options of every connection. */
void rds_tcp_tune(int fd);
/* Ends a TCP connection without a trace at this end: nothing was sent on it. */
void rds_tcp_refuse(int fd);
/* How many octets of the stream have been removed from the socket, whatever comes meanwhile; false: it cannot be told. */
bool rds_tcp_removed(int fd, uint64_t *ret);
/* Stops an attempt to connect. Returns true if it has succeeded before. */
bool rds_tcp_stop(int fd);
/* The error of a socket that has tried to connect, or 0. */
int rds_tcp_error(int fd);

#endif

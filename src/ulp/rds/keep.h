/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the next owner has to know if this one is killed, at any instruction: written to ulp/rds/store.h before anything is done that cannot be
 * done twice.
 *
 *   program's record:  looked at; message kept as RDS_KEPT_SENT, its works as RDS_KEPT_WORK; row of the socket: taken; removed from the socket
 *   message that has come:  kept as RDS_KEPT_COME; row of the connection: counts as taken; acknowledged; given to the program with a
 *                           number; freed
 *   work:              marked as posted; posted; its end kept as RDS_KEPT_ENDED; given to the program with a number; kept as RDS_KEPT_WORK
 *                      while its message is there; freed
 *   octets of TCP:     looked at; messages as above; row: place in the stream; removed from the socket
 *
 * A message that has come and does not yet count is dropped by the next owner, since its octets come again. A work that was posted and has no
 * end may have been done: the next owner drops it with its message, as any connection does that ends, and tells so. One that was not posted
 * is done then. Regions of programs' memory belong to an adapter and end with it.
 */
#ifndef ULP_RDS_KEEP_H
#define ULP_RDS_KEEP_H

#include "ulp/rds/conn.h"
#include "ulp/rds/sock.h"

enum rds_kept {
	RDS_KEPT_NOT,
	RDS_KEPT_SENT, RDS_KEPT_COME,   /* a message */
	RDS_KEPT_WORK, RDS_KEPT_ENDED,  /* a work */
};

/* A row for a new socket, with its descriptor in the standby. Returns 0, -ENFILE or -ENOMEM. */
int rds_keep_sock_open(struct rds_sock *s);
void rds_keep_sock_close(struct rds_sock *s);
/* Options or addresses of the socket have changed. */
void rds_keep_sock(struct rds_sock *s);
/* A record of the program: has it been taken before? Then around the taking. */
bool rds_keep_is_taken(const struct rds_sock *s, uint64_t record);
void rds_keep_taking(struct rds_sock *s, uint64_t record);
void rds_keep_took(const struct rds_sock *s, uint64_t record);

/* A row for a new connection. Returns false if there is none. */
bool rds_keep_conn_open(struct rds_conn *c);
/* The connection's state has changed: what has come by it counts as taken. */
void rds_keep_conn(struct rds_conn *c);
/* A message waits to be sent; those that wait have come from another connection. */
void rds_keep_queued(struct rds_conn *c, struct rds_message *m);
void rds_keep_moved(struct rds_conn *c);

/* A message has come for a socket, by a connection or (NULL) from this carrier. */
void rds_keep_come(struct rds_sock *s, struct rds_conn *c, const struct rsp_addr *from, const struct rds_news *news, struct rds_message *m);
/* A work has an end that its program is told of; it has been told. */
void rds_keep_ended(struct rds_sock *s, struct rds_job *j);
void rds_keep_told(struct rds_job *j);
/* A message or end of a work is about to be given to its program: it has a number then, which was 0. */
void rds_keep_number(struct rds_sock *s, uint32_t *number);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of a connection over TCP, and its parts: sending, receiving, sockets; tcp.c has what happens when.
 *
 *                      begin_connect()              stand()
 *        DOWN --------------------------> CONNECTING -----> UP
 *         ^  <--- lost(), after which it is tried again ----+
 *         +--- CALLED: the smaller address has been asked to connect
 */
#ifndef ULP_RDS_TCP_STATE_H
#define ULP_RDS_TCP_STATE_H

#include "ulp/rds/conn.h"
#include "ulp/rds/loop.h"

#define RDS_TCP_READS 8                 /* pieces of a stream in one round */

enum rds_tcp_state { RDS_TCP_DOWN, RDS_TCP_CONNECTING, RDS_TCP_UP, RDS_TCP_CALLED };

struct rds_tcp {
	struct rds_conn c;
	enum rds_tcp_state state;
	struct rds_watch watch;
	struct rds_timer retry, ack;
	int retry_ms, ack_ms;
	/* What is being sent. */
	uint8_t head[WIRE_RDS_HEADER_LEN];
	size_t sent;                    /* octets of head and payload */
	uint64_t written;               /* octets of the whole stream */
	/* What is being received. */
	uint8_t in_head[WIRE_RDS_HEADER_LEN];
	size_t got;                     /* octets of head and payload */
	uint64_t stream;                /* octets taken of the whole stream */
	uint64_t skip;                  /* that many more are in the socket, and taken */
	bool held;                      /* messages wait for the peer's first one: it may not keep the connection yet */
	bool ends;                      /* the connection of the owner before: it is read to its end, and nothing is sent */
	struct rds_header header;
	struct rds_message *in;
};

struct rds_tcp *rds_tcp_of(const struct rds_conn *c);
struct rds_loop *rds_tcp_loop(struct rds_tcp *t);

#endif

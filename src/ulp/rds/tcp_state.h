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
	bool has_stood;                 /* there has been a connection */
	/* What is being sent. */
	uint8_t head[WIRE_RDS_HEADER_LEN];
	size_t sent;                    /* octets of head and payload */
	uint64_t written;               /* octets of the whole stream */
	/* What is being received. */
	uint8_t in_head[WIRE_RDS_HEADER_LEN];
	size_t got;                     /* octets of head and payload */
	struct rds_header header;
	struct rds_message *in;
};

struct rds_tcp *rds_tcp_of(const struct rds_conn *c);
struct rds_loop *rds_tcp_loop(struct rds_tcp *t);

/* --- sending --- */

/* Acknowledges what TCP has acknowledged; and again after a while, as ->ack. */
void rds_tcp_take_acks(struct rds_tcp *t);
void rds_tcp_ack_due(struct rds_timer *timer);
/* Sends what TCP takes, and watches for more room. */
void rds_tcp_transmit(struct rds_tcp *t);
/* Watches for what arrives unless the connection is paused, and with `out` for room. */
void rds_tcp_watch(struct rds_tcp *t, bool out);

/* --- receiving --- */

/*
 * Reads what is there, at most `most` pieces. Returns 0, -EAGAIN when nothing more is there, or another negative errno at
 * the end; *ret_v is the rule that the peer broke.
 */
int rds_tcp_receive(struct rds_tcp *t, unsigned most, enum rds_verdict *ret_v);
/* Reads all that is there, whoever has to wait for it: this TCP connection has no further use. Returns as the former. */
int rds_tcp_drain(struct rds_tcp *t, enum rds_verdict *ret_v);

/* --- sockets --- */

/* A socket that connects from the local address to the peer's. Returns it or a negative errno. */
int rds_tcp_dial(const struct rds_conn *c);
/* Options of every connection. */
void rds_tcp_tune(int fd);
/* Ends a TCP connection without a trace at this end: nothing was sent on it. */
void rds_tcp_refuse(int fd);
/* The error of a socket that has tried to connect, or 0. */
int rds_tcp_error(int fd);

#endif

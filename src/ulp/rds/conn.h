/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection: all messages between one local address and one peer's, of whatever sockets and ports. The carrier has it
 * once for each pair of addresses and transport, and keeps it, and with it the numbers of its messages, as long as it lives; the
 * transport below connects, loses that and connects again.
 */
#ifndef ULP_RDS_CONN_H
#define ULP_RDS_CONN_H

#include "ulp/rds/flow.h"
#include "ulp/rds/header.h"
#include "ulp/rds/record.h"

struct rds_node;
struct rds_conn;
struct rds_conn_state;
struct rds_map;

/* What carries the messages of a connection: TCP or RDMA. */
struct rds_transport {
	const char *name;               /* as RDS_INFO_CONNECTIONS names it */
	int type;                       /* RDS_TRANS_* of Linux */
	/* Makes the connection's state, unconnected. NULL: no memory. */
	struct rds_conn *(*make)(void);
	/* A message or a map waits: connects if need be, and sends what can be sent. */
	void (*kick)(struct rds_conn *c);
	bool (*is_up)(const struct rds_conn *c);
	/* Takes what arrives again, after rds_node_arrived() has returned false. */
	void (*resume)(struct rds_conn *c);
	/* The carrier ends: lets the peer know. */
	void (*leave)(struct rds_conn *c);
	/* Adds the transport's own state to the row that is kept for the next owner. */
	void (*keep)(const struct rds_conn *c, struct rds_conn_state *state);
	/* The next owner: takes up the connection as it was kept. fd: the descriptor that the standby has of it, or -1. Returns 0 or a negative errno. */
	int (*take_over)(struct rds_conn *c, const struct rds_conn_state *state, int fd);
};

/* What is being sent. */
struct rds_outgoing {
	bool begun, is_map;             /* the first waiting message, or our congestion map */
	struct rds_header header;
	uint8_t map[WIRE_RDS_MAP_LEN];
};

/* The transport's structure begins with it. */
struct rds_conn {
	const struct rds_transport *via;
	struct rds_node *node;
	struct ut_list node_entry;      /* rds_node.conns */
	struct rsp_addr local, peer;    /* without ports */
	struct rds_flow flow;
	struct rds_outgoing out;
	struct rds_map *peer_map;
	int row;                        /* of ulp/rds/store.h */
	uint64_t arrival;               /* the message that has come last, and counts as taken */
	bool map_due;                   /* our map has to be sent before anything else */
	bool paused;                    /* a socket's queue is full */
	bool has_stood;                 /* the transport has had a connection */
};

#endif

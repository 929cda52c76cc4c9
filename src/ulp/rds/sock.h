/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The carrier's side of a program's socket.
 *
 *   program --records--> un --> rds_node_send()        not read while `sent_bytes` fills the send buffer
 *   program <--records-- un <-- queue <-- deliver      the queue grows while the program does not read: beyond the receive
 *                                                      buffer its port is congested, beyond RDS_HARD times that the
 *                                                      connections wait
 */
#ifndef ULP_RDS_SOCK_H
#define ULP_RDS_SOCK_H

#include "ulp/rds/flow.h"
#include "ulp/rds/loop.h"
#include "ulp/rds/record.h"

#define RDS_HARD 8

struct rds_node;
struct rds_store_sock;

struct rds_sock {
	struct rds_watch watch;         /* the carrier's end */
	struct ut_list node_entry;      /* rds_node.socks */
	struct rds_node *node;
	uint64_t id;                    /* number, never 0 */
	struct rds_store_sock *row;     /* what survives this owner */
	_Atomic uint64_t *claims;       /* ulp/rds/claim.h */
	struct sockaddr_un name;        /* of the program's end */
	socklen_t name_len;
	struct rsp_addr bound, peer;    /* family 0: none */
	size_t sndbuf, rcvbuf;
	size_t sent_bytes;              /* payload that peers have not acknowledged */
	struct ut_list queue;           /* struct rds_arrival that the program's end had no room for */
	size_t queue_bytes;
	bool congested;                 /* as told to the peers */
	bool seen;                      /* a send has met a congested port */
	bool monitor, recverr;          /* RDS_CONG_MONITOR, RDS_RECVERR */
	uint64_t cong_mask, cong_notify;
	int transport;                  /* SO_RDS_TRANSPORT; RDS_TRANS_NONE */
	struct ut_list regions;         /* of the program's memory, ulp/rds/region.h */
};

/* What a message says of regions; 0: nothing. */
struct rds_news {
	uint64_t cookie;                /* one of the peer */
	uint32_t used_key;              /* one of the socket that has ended */
};

/* Takes over a descriptor: the carrier's end of a new socket. Returns 0 or a negative errno; then it is closed. */
int rds_sock_open(struct rds_node *n, int un);
/* In the next owner: take over the descriptor with the row that is kept of its socket, and deliver a kept message, or end of a work, again. */
int rds_sock_take(struct rds_node *n, int un, struct rds_store_sock *row, _Atomic uint64_t *claims);
void rds_sock_again(struct rds_sock *s, struct rds_message *m);
void rds_sock_worked_again(struct rds_sock *s, struct rds_job *j);
/* The socket of a program's end with this name, or NULL. */
struct rds_sock *rds_sock_find(struct rds_node *n, const struct sockaddr_un *name, socklen_t len);
/* Gives an arrived message to the program; it is the socket's from now on. Returns false if the queue is beyond its limit. */
bool rds_sock_deliver(struct rds_sock *s, struct rds_message *m);
/* Gives what a work has read to the program, and tells it of the end, if it is to be told. */
void rds_sock_worked(struct rds_sock *s, struct rds_job *j);
/* Ports of an address are no longer congested: tells the program if it waits for that. */
void rds_sock_updated(struct rds_sock *s, uint64_t freed);
/* Takes up or leaves off reading from the program, as the send buffer says. */
void rds_sock_flow(struct rds_sock *s);
/* True if the queue holds up connections. */
bool rds_sock_is_full(const struct rds_sock *s);

#endif

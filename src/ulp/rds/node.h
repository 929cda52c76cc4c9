/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The carrier's state: sockets of programs, local addresses, connections, congestion maps; and the way of a message
 * between them.
 *
 *   socket --rds_node_send()--> destination of this carrier? --yes--> socket (loop-back)
 *                                        |no
 *                                   connection --> transport ... transport --rds_node_arrived()--> socket
 *
 * A local address belongs to the carrier that listens there from the first bind() on; a second user of the host needs
 * another address. All of it belongs to one thread.
 */
#ifndef ULP_RDS_NODE_H
#define ULP_RDS_NODE_H

#include "ulp/rds/cong.h"
#include "ulp/rds/conn.h"
#include "ulp/rds/listener.h"
#include "ulp/rds/loop.h"
#include "ulp/rds/sock.h"

#define RDS_CONNS_MAX 128               /* connections; a peer beyond is refused */

/* Counters, in the order of RDS_INFO_COUNTERS. */
#define RDS_COUNTERS(C) C(conn_reset) C(recv_drop_bad_checksum) C(recv_drop_old_seq) C(recv_drop_no_sock) \
	C(recv_drop_dead_sock) C(recv_queued) C(recv_rdma_bytes) C(recv_ping) C(send_queued) \
	C(send_rdma) C(send_rdma_bytes) C(send_pong) C(cong_update_queued) \
	C(cong_update_received) C(cong_send_blocked) C(recv_bytes_added_to_socket) C(send_stuck_rm)

struct rds_counters {
#define RDS_COUNTER_FIELD(name) uint64_t name;
	RDS_COUNTERS(RDS_COUNTER_FIELD)
#undef RDS_COUNTER_FIELD
};

struct rds_node {
	struct rds_loop loop;
	struct rds_maps *maps;          /* mapped from maps_fd */
	int maps_fd;
	struct ut_list socks, conns, listeners;
	unsigned nr_conns;
	bool has_refused;               /* a peer beyond RDS_CONNS_MAX; it is said once */
	uint64_t next_sock, arrivals;
	uint32_t generation;            /* of this carrier, never 0 */
	struct rds_counters counters;
};

/* Returns 0 or a negative errno. */
int rds_node_init(struct rds_node *n);
/* Before that, once: the maps and the generation, which the next owner inherits; or those of an owner that is there, by the descriptor of its
 * maps (-1: none). Returns 0 or a negative errno. */
int rds_node_make_maps(struct rds_node *n, int fd);
/* Ends the connections. */
void rds_node_leave(struct rds_node *n);
/* Work that is left: sockets of programs; messages that a peer has yet to acknowledge. */
bool rds_node_has_socks(const struct rds_node *n);
bool rds_node_has_messages(const struct rds_node *n);
/* True if both are the same address; ports are ignored. */
bool rds_same_addr(const struct rsp_addr *a, const struct rsp_addr *b);
/* Compares addresses as numbers: below 0 if a is smaller. */
int rds_addr_order(const struct rsp_addr *a, const struct rsp_addr *b);

/* --- addresses --- */

/* The socket that is bound there, or NULL. Port in network order, as in every struct rsp_addr. */
struct rds_sock *rds_node_find(struct rds_node *n, const struct rsp_addr *addr);
/* Binds a socket; port 0 becomes one that is free. Returns 0 or a negative errno. */
int rds_node_bind(struct rds_node *n, struct rds_sock *s, struct rsp_addr *addr);

/* --- messages --- */

/* Sends a message of a socket; it is the node's from now on. Returns 0 or a negative errno: then it is freed, but -ENOMEM: it stays the caller's. */
int rds_node_send(struct rds_node *n, struct rds_sock *s, const struct rsp_addr *to, struct rds_message *m);
/* Drops a socket's messages that are to go to an address, or to all with NULL. */
void rds_node_cancel(struct rds_node *n, struct rds_sock *s, const struct rsp_addr *to);
/* The connection of these addresses by a transport, or NULL. */
struct rds_conn *rds_node_find_conn(struct rds_node *n, const struct rsp_addr *local, const struct rsp_addr *peer,
				    const struct rds_transport *via);
/* The same, made if there is none; NULL and errno: ENOBUFS: there are too many; ENOMEM. */
struct rds_conn *rds_node_conn(struct rds_node *n, const struct rsp_addr *local, const struct rsp_addr *peer,
			       const struct rds_transport *via);
/* The next owner: makes the connection that has this row and state; NULL: no memory. */
struct rds_conn *rds_node_take_conn(struct rds_node *n, const struct rds_transport *via, const struct rds_conn_state *state, int row);
/* A message has arrived; it is the node's from now on. Returns false if no more is to be taken before resume(). */
bool rds_node_arrived(struct rds_conn *c, const struct rds_header *h, struct rds_message *m);
/* A congestion map has arrived. */
void rds_node_map(struct rds_conn *c, const struct rds_header *h, const uint8_t map[WIRE_RDS_MAP_LEN]);
/*
 * A message is acknowledged; its sender has cancelled it; it is dropped for a work that must not be done twice: the room that its sender had
 * given to it is free, and its works have ended. arg: the node.
 */
void rds_node_done(void *arg, const struct rds_message *m);
void rds_node_cancelled(void *arg, const struct rds_message *m);
void rds_node_dropped(void *arg, const struct rds_message *m);
/* A work has ended (RDS_RDMA_SUCCESS ...): the sender's program gets what it has read, and the news if it wants them. */
void rds_node_worked(struct rds_node *n, struct rds_job *j, int status);
/* Returns 0 if a socket's message to an address may have works, or a negative errno. */
int rds_node_may_work(struct rds_node *n, const struct rds_sock *s, const struct rsp_addr *to);

/* A port of ours has become congested, or is it no longer. */
void rds_node_congested(struct rds_node *n, const struct rsp_addr *addr, bool congested);
/* A socket has room again. */
void rds_node_resume(struct rds_node *n);

/* An address for a sentence. */
#define RDS_ADDR_TEXT 64
const char *rds_addr_text(char to[RDS_ADDR_TEXT], const struct rsp_addr *a);

#endif

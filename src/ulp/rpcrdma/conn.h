/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection of RPC over RDMA: whole RPC messages in, whole RPC messages out. Which of them lie inline, in
 * chunks of which kind, and under which credits is the matter of the two roles (client.h, server.h). The
 * client sends calls and receives replies; the backward direction (RFC 8167) carries calls of the server
 * and the replies to them, which are short and inline.
 *
 * A connection belongs to one thread. That thread waits for rpr_conn_fds(), and calls rpr_conn_progress()
 * when one of them is readable; all callbacks come from inside this call, and from rpr_conn_send().
 */
#ifndef ULP_RPCRDMA_CONN_H
#define ULP_RPCRDMA_CONN_H

#include "ulp/conn.h"
#include "ulp/rpcrdma/buf.h"
#include "ulp/rpcrdma/conf.h"

#include <poll.h>
#include <sys/socket.h>

#define RPR_CONN_FDS 2

struct rpr_conn;

struct rpr_ops {
	/* A whole message has arrived. The buffer is the receiver's, which gives it back by rpr_conn_buf_put(). */
	void (*message)(void *user, struct rpr_buf *buf);
};

/* Counts of a connection, for its user. */
struct rpr_counts {
	uint64_t calls, replies;           /* forward direction */
	uint64_t back_calls, back_replies;
	uint64_t read_chunks, write_chunks, reply_chunks, long_calls; /* offered by a client, used by a server */
	uint64_t remote_inv;               /* keys invalidated by the peer, or for it */
	uint64_t errors;                   /* RDMA_ERROR sent or received */
};

/*
 * Connects to a server; returns when the connection stands, after at most timeout_ms. Returns the
 * connection, or NULL: why says what failed.
 */
struct rpr_conn *rpr_connect(const struct sockaddr *to, const struct rpr_conf *conf, const struct rpr_ops *ops,
			     void *user, int timeout_ms, char why[ULP_WHY_MAX]);

/*
 * Accepts a connection request of a listener with its private data; the identifier becomes the connection's, also on
 * failure. Returns as rpr_connect().
 */
struct rpr_conn *rpr_accept(struct rdma_cm_id *id, const void *data, size_t len, const struct rpr_conf *conf,
			    const struct rpr_ops *ops, void *user, int timeout_ms, char why[ULP_WHY_MAX]);

/* Disconnects and frees. All buffers must have come back. */
void rpr_conn_close(struct rpr_conn *c);

/* Fills the descriptors to wait for. */
void rpr_conn_fds(const struct rpr_conn *c, struct pollfd fds[RPR_CONN_FDS]);

/* Does what is due. Returns 0, or a negative errno when the connection has ended; rpr_conn_why() says why. */
int rpr_conn_progress(struct rpr_conn *c);
bool rpr_conn_has_ended(const struct rpr_conn *c);
const char *rpr_conn_why(const struct rpr_conn *c);

/* An empty buffer for rpr_conn_send(), or NULL: all are in use, and later there will be one; or there is no memory, and the connection
 * has ended. */
struct rpr_buf *rpr_conn_buf(struct rpr_conn *c);
void rpr_conn_buf_put(struct rpr_conn *c, struct rpr_buf *buf);
/* The longest message. */
size_t rpr_conn_max(const struct rpr_conn *c);

/* True if a call can be sent now without waiting for credits. */
bool rpr_conn_may_call(const struct rpr_conn *c);

/*
 * Sends the RPC message in buf, which becomes the connection's. Returns 0; -EMSGSIZE or -EBADMSG, and the buffer stays
 * the caller's: this message cannot be sent, others can; -EAGAIN, and the buffer stays the caller's: a call is waiting for credits
 * already; or another negative errno: the connection has ended, and the buffer is gone.
 */
int rpr_conn_send(struct rpr_conn *c, struct rpr_buf *buf);

/* The counts so far. */
const struct rpr_counts *rpr_conn_counts(const struct rpr_conn *c);

/* Inline thresholds in use, for the log. */
void rpr_conn_sizes(const struct rpr_conn *c, uint32_t *ret_send, uint32_t *ret_receive, bool *ret_remote_inv);

#endif

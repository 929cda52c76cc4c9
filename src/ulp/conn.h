/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a connection of every upper-layer protocol has: an identifier with an event channel of its own, queues, one region
 * of memory for messages, and why it ended. The protocol's own structure begins with it.
 *
 * Each call that returns int gives 0, or a negative errno and leaves a sentence by ulp_end().
 */
#ifndef ULP_CONN_H
#define ULP_CONN_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <rdma/rdma_cma.h>

#define ULP_WHY_MAX 320

struct ulp_conn {
	/* What an event means; set by the protocol. Events that it does not know are for ulp_unexpected(). */
	int (*take_event)(struct ulp_conn *u, const struct rdma_cm_event *ev);
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	bool shares_pd;                 /* the domain was there before, and stays */
	struct ibv_comp_channel *channel;
	/* dpl_poll() of dapple/verbs.h, which other adapters' libraries do not have: then NULL. */
	int (*poll_driving)(struct ibv_context *context, struct pollfd *fds, unsigned n, uint64_t until);
	struct ibv_cq *cq;
	uint8_t *memory;
	size_t memory_len;
	struct ibv_mr *mr;              /* of the memory, for local writes */
	int error;                      /* positive errno: the connection has ended */
	char why[ULP_WHY_MAX];
};

/* Ends the connection with a sentence, unless it has ended. Returns -err. */
int ulp_end(struct ulp_conn *u, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* --- connecting --- */

/* Opens the event channel, without blocking. */
int ulp_open(struct ulp_conn *u);
/* Finds the way to an address. */
int ulp_resolve(struct ulp_conn *u, const struct sockaddr *to, int timeout_ms);
/* Takes over the identifier of a request; it becomes the connection's, also on failure. */
int ulp_adopt(struct ulp_conn *u, struct rdma_cm_id *id);
/* Waits for an event, and takes those before it. */
int ulp_await(struct ulp_conn *u, enum rdma_cm_event_type wanted, int timeout_ms);
/* Takes the events that have come. */
int ulp_take_events(struct ulp_conn *u);
/* An event that ulp_await() alone waits for, and the end of the quiet time behind a connection: nothing to do in take_event(). */
static inline bool ulp_is_step(const struct rdma_cm_event *ev)
{
	return ev->event == RDMA_CM_EVENT_ADDR_RESOLVED || ev->event == RDMA_CM_EVENT_ROUTE_RESOLVED ||
	       ev->event == RDMA_CM_EVENT_TIMEWAIT_EXIT;
}
/*
 * Ends the connection for a completion without success. A flushed request shows that the queue pair has ended, not why. An event of the
 * identifier tells the cause; it is awaited for a second at most.
 */
int ulp_failed(struct ulp_conn *u, const struct ibv_wc *wc);
/* Ends the connection for an event that the protocol does not expect; `otherwise` is the errno where it has none. */
int ulp_unexpected(struct ulp_conn *u, const struct rdma_cm_event *ev, int otherwise);

/* --- queues and memory --- */

/* Makes the protection domain unless there is one, the completion channel and an armed completion queue of so many entries. */
int ulp_make_queues(struct ulp_conn *u, unsigned entries);
/* Makes and registers memory. */
int ulp_make_memory(struct ulp_conn *u, size_t len);

/*
 * As poll(2), while the thread drives the adapter of the connection (dpl_poll): a message wakes this thread, and none in front of it. A thread
 * that polls its queue and then sleeps in poll(2) itself seems to poll still, until the background thread has missed its polls for a millisecond.
 * Returns how many descriptors are ready at least, 0 at the end of the time, or a negative errno, which does not end the connection.
 */
int ulp_poll(const struct ulp_conn *u, struct pollfd *fds, unsigned n, int timeout_ms);

/* Destroys the queue pair, after which the protocol's own regions may go; and the rest. */
void ulp_destroy_qp(struct ulp_conn *u);
void ulp_destroy(struct ulp_conn *u);

#endif

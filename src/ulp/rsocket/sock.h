/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One rsocket: its states, its fields and the locks that guard them.
 *
 * Locks, in order:
 *	m		the connection: the identifier, its events, the states before CONNECTED
 *	s, r		one direction each of the stream: copies into the send ring, out of the
 *			receive ring
 *	maps_lock	the I/O maps
 *	c		completions and flow control, state, sleepers; leaf
 * No lock is held while a thread sleeps. Before a thread sleeps it arms the completion queue, finds
 * nothing and, with c held, enters itself into `sleepers` (sleeper.h). A thread that takes the event
 * off the descriptor, or changes the state by other means, wakes all others on that list.
 *
 * A call holds a reference from the descriptor table (table.h); the last reference frees. rclose()
 * takes the descriptor out of the table first.
 *
 * Functions return 0 or more, or a negative errno; the exported calls turn that into -1 and errno by
 * rs_ret().
 */
#ifndef ULP_RSOCKET_SOCK_H
#define ULP_RSOCKET_SOCK_H

#include "ulp/rsocket/conf.h"
#include "ulp/rsocket/flow.h"
#include "ulp/rsocket/sleeper.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include <rdma/rdma_cma.h>

enum rs_state {
	RS_INIT,
	RS_BOUND,
	RS_LISTENING,
	RS_ADDR,                /* waits for ADDR_RESOLVED */
	RS_ROUTE,               /* waits for ROUTE_RESOLVED */
	RS_CONNECTING,          /* waits for ESTABLISHED with the peer's connection data */
	RS_ACCEPTING,           /* waits for ESTABLISHED or the first message */
	RS_CONNECTED,
	RS_REFUSED,             /* never was connected */
	RS_GONE,                /* ended by either side in order; received data can still be read */
	RS_BROKEN,              /* ended by an error */
};

struct rs_request;              /* listen.c */
struct rs_map;                  /* iomap.c */
struct rs_dgram;                /* dgram.h */

struct rs_sock {
	atomic_uint refs;
	int fd;
	int type, family;
	struct rs_opts o;
	atomic_bool nonblock;
	int fd_flags;

	pthread_mutex_t m;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct sockaddr_storage peer;
	unsigned tries;
	bool cm_up;             /* rdma_disconnect() has a connection to end */
	void *route;            /* RDMA_ROUTE until the route is resolved */
	size_t route_len;
	struct rs_request *requests, **last_request;
	unsigned nr_requests;

	pthread_mutex_t s;
	pthread_mutex_t r;
	_Atomic uint64_t looked;        /* microseconds; last look at the event channel */

	pthread_mutex_t c;
	_Atomic enum rs_state state;
	bool rd_open, wr_open;
	bool shut_rd;                   /* rshutdown(SHUT_RD): reading returns 0 at once */
	bool heard;                     /* the peer's first message has been received */
	bool unexplained;               /* ended by a flush; the identifier's event gives the cause */
	bool armed;
	int err;                        /* returned once, by the next call or SO_ERROR */
	unsigned unacked;
	struct rs_sleeper *sleepers;
	uint64_t active;                /* microseconds; last work request posted */

	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	struct rs_flow flow;
	bool msg_send, swap;
	uint32_t inl;                   /* granted by the queue pair */
	uint8_t *sbuf, *rbuf;
	uint32_t *recv_msgs;            /* receive buffers of four-byte Sends */
	struct ibv_mr *smr, *rmr, *tmr;
	struct rs_sge *target_list;     /* filled by the peer; the I/O map follows */
	struct rs_iomap *iomap_in;
	struct rs_iomap *iomap;         /* snapshots of complete entries */
	uint64_t peer_list;
	uint32_t peer_list_key;
	uint64_t peer_iomap;
	uint16_t peer_iomap_size;
	size_t alloc_s, alloc_r, alloc_t;

	pthread_mutex_t maps_lock;
	struct rs_map *maps;
	atomic_bool maps_pending;

	struct rs_dgram *dg;            /* SOCK_DGRAM only */
};

/* Returns r if it is no error; else sets errno to -r and returns -1. */
static inline long rs_ret(long r)
{
	if (r >= 0)
		return r;
	errno = (int)-r;
	return -1;
}

/* Both enclose calls that are cancellation points while the thread holds a lock or an object. */
static inline int rs_cancel_off(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void rs_cancel_back(int state)
{
	pthread_setcancelstate(state, NULL);
}

static inline bool rs_opening(enum rs_state state)
{
	return state >= RS_ADDR && state <= RS_ACCEPTING;
}

static inline bool rs_ended(enum rs_state state)
{
	return state == RS_GONE || state == RS_BROKEN;
}

static inline bool rs_nowait(const struct rs_sock *s, int flags)
{
	return atomic_load(&s->nonblock) || flags & MSG_DONTWAIT;
}

#endif

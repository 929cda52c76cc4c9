/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One rsocket, and the words its parts use among themselves.
 *
 * Locks, in order:
 *	m	the connection: the identifier, its events, the road to CONNECTED
 *	s, r	one direction each of the stream: who copies into or out of its ring
 *	c	completions and flow control, state, sleepers; leaf
 * None is held while a thread sleeps. A thread that sleeps enters itself into `naps` (nap.h) with c
 * held, after it armed the queue and found nothing: whoever takes the event off the descriptor or
 * changes the state by other means wakes the others.
 *
 * A call holds a reference from the descriptor table; the last one frees. rclose takes the
 * descriptor out of the table first.
 *
 * Functions return 0 or more, or a negative errno; rs_ret() turns that into the convention of
 * sockets at the border.
 */
#ifndef ULP_RSOCKET_SOCK_H
#define ULP_RSOCKET_SOCK_H

#include "ulp/rsocket/flow.h"
#include "ulp/rsocket/nap.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

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
	RS_GONE,                /* ended by either side in order; what has come can be read */
	RS_BROKEN,              /* ended by an error */
};

/* Settings that a listening socket hands on. */
struct rs_opts {
	uint32_t sq_size, rq_size, inl;
	uint32_t sbuf_size, rbuf_size;
	uint16_t iomap_size;
	bool reuse, keepalive, oobinline, nodelay, v6only, linger;
	int linger_s;
	unsigned keep_idle;     /* seconds */
	uint8_t tos;
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
	bool cm_up;             /* rdma_disconnect() has something to end */
	void *route;            /* RDMA_ROUTE until it is used */
	size_t route_len;
	struct rs_request *requests, **last_request;
	unsigned nr_requests;

	pthread_mutex_t s;
	pthread_mutex_t r;
	_Atomic uint64_t looked;        /* when the event channel was last looked at */

	pthread_mutex_t c;
	_Atomic enum rs_state state;
	bool rd_open, wr_open;
	bool shut_rd;                   /* by ourselves: reading gives the end at once */
	bool heard;                     /* something has come in */
	bool unexplained;               /* the stream has ended; why, the identifier says next */
	bool armed;
	int err;                        /* told once, by the next call or SO_ERROR */
	unsigned unacked;
	struct rs_nap *naps;
	uint64_t active;                /* microseconds; last sign of life from us */

	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	struct rs_flow flow;
	bool msg_send, swap;
	uint32_t inl;                   /* granted by the queue pair */
	uint8_t *sbuf, *rbuf;
	uint32_t *recv_msgs;            /* where four-byte Sends land */
	struct ibv_mr *smr, *rmr, *tmr;
	struct rs_sge *target_list;     /* filled by the peer; the I/O map follows */
	struct rs_iomap *iomap_in;
	struct rs_iomap *iomap;         /* snapshots of complete entries */
	uint64_t peer_list;
	uint32_t peer_list_key;
	uint64_t peer_iomap;
	uint16_t peer_iomap_size;
	size_t alloc_s, alloc_r, alloc_t;

	pthread_mutex_t maps_lock;      /* between s and c */
	struct rs_map *maps;
	atomic_bool maps_pending;

	struct rs_dgram *dg;
};

/* table.c */
struct rs_sock *rs_new(int type, int family, const struct rs_opts *from);
int rs_publish(struct rs_sock *s, int fd);
bool rs_unpublish(struct rs_sock *s);
struct rs_sock *rs_get(int fd);
void rs_put(struct rs_sock *s);
bool rs_stale(int fd);          /* inherited from before fork(); its slot is cleared */

static inline long rs_ret(long r)
{
	if (r >= 0)
		return r;
	errno = (int)-r;
	return -1;
}

/* Around calls that are cancellation points while something is held. */
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

/* conf.c */
struct rs_conf {
	struct rs_opts o;
	uint32_t polling_us;
	uint32_t wake_ms;       /* longest sleep of rpoll(); 0 is for ever */
};

const struct rs_conf *rs_conf(void);
uint32_t rs_limit_buf(uint32_t bytes);
uint64_t rs_now(void);          /* microseconds */

/* conn.c: the road to CONNECTED, and what the identifier says afterwards */
int rs_conn_step(struct rs_sock *s);                    /* 0, -EINPROGRESS, or what ended it */
int rs_conn_start(struct rs_sock *s);                   /* m held */
void rs_conn_data(struct rs_sock *s, struct rs_conn *ret);
int rs_conn_take(struct rs_sock *s, const void *data, size_t len);
void rs_conn_look(struct rs_sock *s, bool now);
void rs_conn_down(struct rs_sock *s);
void rs_conn_explained(struct rs_sock *s, int err);     /* c held */
int rs_conn_wait(struct rs_sock *s, int flags);         /* until it is CONNECTED */

/* listen.c */
int rs_listen_look(struct rs_sock *s);                  /* requests waiting */
void rs_listen_free(struct rs_sock *s);

/* ep.c: queue pair and buffers */
int rs_ep_create(struct rs_sock *s);
void rs_ep_free(struct rs_sock *s);
int rs_ep_cq(struct rdma_cm_id *id, unsigned entries, struct ibv_comp_channel **ret_comp,
	     struct ibv_cq **ret_cq);

/* cq.c; c held for all of them */
void rs_cq_drive(struct rs_sock *s);
void rs_cq_grant(struct rs_sock *s);
void rs_cq_arm(struct rs_sock *s);
void rs_cq_event(struct rs_sock *s);
void rs_end(struct rs_sock *s, enum rs_state state, int err);
int rs_take_err(struct rs_sock *s);

/* post.c; c held */
int rs_post_recvs(struct rs_sock *s, const uint32_t *slots, unsigned nr);
int rs_post_write(struct rs_sock *s, struct ibv_sge *sg, int nr, uint64_t wr_id, uint64_t remote,
		  uint32_t key, int flags);
int rs_post_message(struct rs_sock *s, uint32_t msg, uint64_t wr_id);
int rs_post_write_message(struct rs_sock *s, struct ibv_sge *sg, int nr, uint32_t msg,
			  uint64_t wr_id, uint64_t remote, uint32_t key, int flags);

/* Work request identifiers: a kind, and for data the bytes of the send ring that it frees. */
#define RS_WR_DATA (1ull << 56)
#define RS_WR_CTRL (2ull << 56)
#define RS_WR_RECV (3ull << 56)
#define RS_WR_KIND (0xffull << 56)

/* wait.c */
typedef bool rs_test_fn(struct rs_sock *s);             /* c held */
int rs_wait(struct rs_sock *s, rs_test_fn *test, bool nowait, int timeout_ms);
void rs_fds(struct rs_sock *s, int fd[2]);              /* readable when there is news; or -1 */
void rs_ready(struct rs_sock *s, bool first, bool second);
rs_test_fn rs_test_read, rs_test_write, rs_test_ctrl, rs_test_idle;

/* send.c, recv.c */
ssize_t rs_stream_send(struct rs_sock *s, const struct iovec *iov, int nr, int flags);
ssize_t rs_stream_recv(struct rs_sock *s, const struct iovec *iov, int nr, int flags);
int rs_send_piece(struct rs_sock *s, const struct rs_piece *piece, const void *inl_data,
		  uint32_t msg, bool message, uint64_t remote, uint32_t key);
int rs_send_ready(struct rs_sock *s);                   /* c held: 0, or why not */
size_t rs_iov_length(const struct iovec *iov, int nr);

/* A place in a scatter list. */
struct rs_cursor {
	const struct iovec *iov;
	size_t at;
};

void rs_cursor_out(struct rs_cursor *cur, void *to, size_t len);
void rs_cursor_in(struct rs_cursor *cur, const void *from, size_t len);

/* socket.c */
void rs_name(struct sockaddr *out, socklen_t *len, const struct sockaddr *name);

/* close.c */
int rs_shutdown(struct rs_sock *s, int how);

/* poll.c */
short rs_poll_events(struct rs_sock *s, short events);

/* iomap.c */
int rs_maps_send(struct rs_sock *s, bool nowait);       /* s held; may let go of it to sleep */
void rs_maps_free(struct rs_sock *s);

/* keep.c */
int rs_keep_wait(struct rs_sock *s);                    /* milliseconds until due, or -1 */
void rs_keep_send(struct rs_sock *s);                   /* if it is due; c held */

#endif

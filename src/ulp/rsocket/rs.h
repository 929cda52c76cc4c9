/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sockets over RDMA, on public verbs and rdma_cm calls alone.
 *
 * The descriptor that a program sees is an epoll one. Everything that can wake a waiter is in its
 * set: the event channel of the connection manager, the completion channel and, when several
 * threads sleep, an eventfd by which they wake one another. So whoever waits, rpoll() too, waits
 * for one real descriptor.
 *
 * A stream is two rings in memory of the receiver, each half of which is lent to the sender in
 * turn by a descriptor that is written into the sender's memory. Bytes arrive in order and at the
 * places lent, therefore the receiver needs no list of messages: a count of bytes is enough.
 *
 * Locks, in this order: s_lock (one sender at a time), r_lock (one receiver at a time), lock
 * (everything the completions touch). Nobody sleeps with any of them.
 */
#ifndef ULP_RSOCKET_RS_H
#define ULP_RSOCKET_RS_H

#include "ulp/rsocket/proto.h"

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <stdatomic.h>

#define RS_EXPORT __attribute__((visibility("default")))

#define RS_QP_MIN   16
#define RS_QP_MAX   0x7fff
#define RS_CTRL     4     /* control messages under way at once */
#define RS_SPARE    (2 * RS_CTRL) /* receives beyond the credits, for the peer's control messages */
#define RS_LOW      2048  /* less free space than this is not offered to senders */
#define RS_TRANSFER 65536 /* the longest single write */
#define RS_MEM_MAX  (256u << 20)
#define RS_IOMAP_MAX (127u << 8) /* what the connection data can say */

enum rs_state {
	RS_IDLE,       /* made, perhaps bound: awaits rlisten() or rconnect() */
	RS_LISTENING,  /* requests */
	RS_ADDR,       /* the address's resolution */
	RS_ROUTE,      /* the route's */
	RS_CONNECTING, /* the answer */
	RS_ACCEPTING,  /* the last message of the handshake */
	RS_OPEN,       /* data */
	RS_OVER,       /* nothing: ended in order, refused or broken */
};

/* Sizes that options and configuration files give. */
struct rs_sizes {
	uint32_t sq, rq, inline_len, rmem, smem, iomap;
};

struct rs_dgram;
struct rs_iomr;

struct rs_sock {
	int fd, type, domain;
	atomic_uint refs;

	pthread_mutex_t s_lock, r_lock, lock;

	/* lock: connection */
	enum rs_state state;
	bool readable, writable; /* false: no more, ever, in this direction */
	bool bound, nonblock, iwarp, swap, peer_done, closing;
	int error; /* SO_ERROR: given once */
	int tries;
	struct rdma_event_channel *chan;
	struct rdma_cm_id *id;
	union rsp_addr peer;
	struct rdma_cm_event *request; /* an acceptor's */

	/* lock: sleepers */
	unsigned sleepers;
	int kick_fd;
	bool kicked, armed;
	uint64_t looked; /* when the connection manager was asked last, us */
	unsigned unacked;

	/* QP and memory: fixed once the stream is made */
	struct rs_sizes want, size;
	struct ibv_comp_channel *cq_chan;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint8_t *sbuf, *rbuf, *target; /* target: descriptors and I/O maps that the peer writes */
	size_t target_len;
	struct ibv_mr *s_mr, *r_mr, *t_mr;

	/* lock: sending */
	uint32_t sq_free, ctrl_free;
	uint16_t sent, sent_max, peer_credits;
	struct rsp_sge room; /* what is left of the half that we may write now */
	uint32_t room_slot;
	uint32_t s_free;  /* bytes of sbuf */
	uint32_t s_head;  /* s_lock: where the next byte goes */
	struct rsp_sge peer_sgl, peer_iomap;
	uint32_t peer_slot;

	/* lock: receiving */
	uint32_t r_ready; /* bytes to be read */
	uint32_t r_lent;  /* bytes that the peer may still write */
	uint32_t r_freed; /* bytes read and not lent again */
	uint32_t r_lend;  /* offset of the half to lend next */
	uint32_t r_head;  /* r_lock: where the next byte is read */
	uint16_t taken, taken_next;
	uint32_t msg_slot; /* of the receives posted, iWARP */

	/* lock: options that only have to be remembered */
	uint64_t so_flags;
	uint64_t tcp_flags;
	int v6only, linger_on, linger_s, keep_idle, keep_intvl, keep_cnt;
	uint8_t tos;
	void *route;
	size_t route_len;

	struct rs_iomr *iomaps; /* lock */
	struct rs_dgram *dg;
};

/* config.c: read once. */
extern unsigned rs_poll_us, rs_wake_ms;
void rs_config(struct rs_sizes *ret);
/* The value in a file of the configuration's folder, or `fallback`. */
long rs_config_value(const char *name, long low, long high, long fallback);

/* table.c. A reference or NULL with errno EBADF. */
struct rs_sock *rs_get(int fd);
bool rs_is(int fd);
void rs_put(struct rs_sock *rs);
struct rs_sock *rs_alloc(int domain, int type);
/* The descriptor means this socket from now on. 0 or -1. */
int rs_publish(struct rs_sock *rs);
/* No one finds it any more. */
void rs_unpublish(struct rs_sock *rs);
/* What is polled belongs to the set of the socket's descriptor. */
int rs_watch(struct rs_sock *rs, int fd);
int rs_fail(int err); /* errno, -1 */
int rs_nonblock_fd(int fd);

/* conn.c; lock held. Takes what events there are; never blocks. */
void rs_conn_advance(struct rs_sock *rs);
/* The connection is over; err 0: in order. */
void rs_over(struct rs_sock *rs, int err);

/* ep.c: queue pair, memory. 0 or -1. lock held or not yet published. */
int rs_ep_make(struct rs_sock *rs);
void rs_ep_free(struct rs_sock *rs);
void rs_ep_describe(struct rs_sock *rs, struct rsp_conn *ret);
void rs_ep_learn(struct rs_sock *rs, const struct rsp_conn *peer);
int rs_ep_post_recv(struct rs_sock *rs);

/* pump.c; lock held. True: something happened. */
bool rs_pump(struct rs_sock *rs);
/* May the next bytes be written? */
bool rs_can_send(struct rs_sock *rs);
bool rs_all_sent(const struct rs_sock *rs);
/* Data or an I/O map's entry: write, then message. 0 or -1. */
int rs_post_write(struct rs_sock *rs, struct ibv_sge *sge, int n, uint64_t addr, uint32_t key,
		  uint32_t msg, bool inl, uint32_t bytes);
int rs_post_plain(struct rs_sock *rs, struct ibv_sge *sge, int n, uint64_t addr, uint32_t key,
		  bool inl, uint32_t bytes);
int rs_post_ctrl(struct rs_sock *rs, uint32_t value);
void rs_credits(struct rs_sock *rs);

/* wait.c; lock held, given up while asleep. Until test() is true. */
typedef bool rs_test(struct rs_sock *rs);
#define RS_FOREVER UINT64_MAX
/* 0, or -1 with EAGAIN (`until` has come, 0: at once) or EINTR. */
int rs_wait(struct rs_sock *rs, rs_test *test, uint64_t until);
/* Everything that can be known without sleeping. `woken`: the descriptor was readable. */
void rs_look(struct rs_sock *rs, bool woken);
/* Around a sleep on the descriptor by someone else's poll(). */
void rs_sleep_begin(struct rs_sock *rs);
void rs_sleep_end(struct rs_sock *rs);
void rs_kick(struct rs_sock *rs);
uint64_t rs_now_us(void);

/* send.c, recv.c */
ssize_t rs_sendv(struct rs_sock *rs, const struct iovec *iov, int n, int flags);
ssize_t rs_recvv(struct rs_sock *rs, const struct iovec *iov, int n, int flags);
/* The next bytes of the sending ring, s_lock held. Number of segments. */
int rs_ring_take(struct rs_sock *rs, uint32_t len, struct ibv_sge sge[2]);
/* Sum of the lengths; -1 with errno when they are no honest vector. */
ssize_t rs_iov_len(const struct iovec *iov, int n);

/* poll.c; lock held. */
short rs_revents(struct rs_sock *rs, short events);

/* close.c */
void rs_free(struct rs_sock *rs);

/* iomap.c; lock held. */
int rs_iomap_flush(struct rs_sock *rs);
bool rs_iomap_pending(const struct rs_sock *rs);
void rs_iomap_free(struct rs_sock *rs);

/* dgram.c */
int rs_dg_open(struct rs_sock *rs);
void rs_dg_free(struct rs_sock *rs);
int rs_dg_bind(struct rs_sock *rs, const struct sockaddr *addr, socklen_t len);
int rs_dg_connect(struct rs_sock *rs, const struct sockaddr *addr, socklen_t len);
ssize_t rs_dg_send(struct rs_sock *rs, const struct iovec *iov, int n, int flags,
		   const struct sockaddr *to, socklen_t len);
ssize_t rs_dg_recv(struct rs_sock *rs, const struct iovec *iov, int n, int flags,
		   struct sockaddr *from, socklen_t *len, int *truncated);
int rs_dg_name(struct rs_sock *rs, struct sockaddr *addr, socklen_t *len, bool peer);
void rs_dg_look(struct rs_sock *rs, bool woken);
bool rs_dg_can_recv(struct rs_sock *rs);
bool rs_dg_can_send(struct rs_sock *rs);
void rs_dg_arm(struct rs_sock *rs);

void rs_addr_out(const struct sockaddr *from, struct sockaddr *to, socklen_t *len);
socklen_t rs_addr_len(const struct sockaddr *a);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagram rsockets. Each has an ordinary UDP socket, whose port and descriptor it uses, and a UD
 * queue pair for every local address that it sends from. The first datagrams to a peer travel by
 * UDP with a header that names the sender's QPN; the peer answers with its own QPN, and from then on
 * datagrams travel from queue pair to queue pair.
 *
 * No thread serves the UDP socket: each call on the rsocket does, so a peer is answered when the
 * program next receives, sends or polls; until then the peer sends by UDP.
 *
 * All fields are guarded by lock c of the socket. Names: dg a datagram rsocket, dest a peer.
 */
#ifndef ULP_RSOCKET_DGRAM_H
#define ULP_RSOCKET_DGRAM_H

#include "ulp/rsocket/msg.h"

#include <stdint.h>
#include <sys/uio.h>

#include <rdma/rdma_cma.h>

struct rs_sock;

struct rs_dgram_qp {
	struct rs_dgram_qp *next;
	struct rs_dgram *dg;
	struct rdma_cm_id *id;
	struct sockaddr_storage local;
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;                   /* GRH room, receive slots, send slots */
	size_t buf_len;
	uint32_t *free_send;            /* indices of free send slots */
	unsigned nr_free;
	uint32_t inl, payload_max;
	bool armed;
};

struct rs_dgram_dest {
	struct rs_dgram_dest *next;
	struct sockaddr_storage addr;
	struct rs_dgram_qp *qp;
	struct ibv_ah *ah;              /* NULL until the peer has answered */
	uint32_t qpn;
	uint64_t used;
};

/* A received datagram: in a receive slot of a queue pair, or a copy of what came by UDP. */
struct rs_dgram_msg {
	struct rs_dgram_qp *qp;
	uint32_t slot;
	uint32_t length;                /* of the payload */
	uint8_t *copy;                  /* by UDP: the payload, else NULL */
	struct sockaddr_storage from;
	uint32_t skip;                  /* header in front of the payload */
};

#define RS_DGRAM_BUCKETS 64u
#define RS_DGRAM_DESTS 4096u            /* a new one replaces the longest unused */
#define RS_DGRAM_FORWARDED 64u          /* datagrams by UDP that are not read yet */

struct rs_dgram {
	int udp, epfd;
	uint32_t nr_recv, nr_send;      /* slots of each queue pair */
	struct rs_dgram_qp *qps;
	struct rs_dgram_dest *dests[RS_DGRAM_BUCKETS];
	unsigned nr_dests;
	struct sockaddr_storage peer;   /* of rconnect() */
	bool connected;
	bool rd_shut, wr_shut;
	struct rs_dgram_msg *ring;
	unsigned head, nr, size;
	unsigned forwarded;
};

/* Creates the UDP socket. Returns its descriptor or a negative errno. */
int rs_dgram_make(struct rs_sock *s);
int rs_dgram_bind(struct rs_sock *s, const struct sockaddr *addr, socklen_t len);
int rs_dgram_connect(struct rs_sock *s, const struct sockaddr *addr, socklen_t len);
/* Both return the bytes of the datagram, or a negative errno. */
ssize_t rs_dgram_send(struct rs_sock *s, const struct iovec *iov, int nr, int flags,
		      const struct sockaddr *to, socklen_t tolen);
ssize_t rs_dgram_recv(struct rs_sock *s, const struct iovec *iov, int nr, int flags,
		      struct sockaddr *from, socklen_t *fromlen, int *ret_flags);
int rs_dgram_shutdown(struct rs_sock *s, int how);
/* Waits until the posted datagrams have been sent, at most a second. */
void rs_dgram_close(struct rs_sock *s);
void rs_dgram_free(struct rs_sock *s);

/* Progress and readiness, for cq.c, wait.c and poll.c. Called with c held. */
void rs_dgram_drive(struct rs_sock *s);
void rs_dgram_arm(struct rs_sock *s);
void rs_dgram_event(struct rs_sock *s);
void rs_dgram_fds(struct rs_sock *s, int fd[2]);
short rs_dgram_events(struct rs_sock *s, short events);

/* Appends to the queue of received datagrams. Returns false if it is full. Called with c held. */
bool rs_dgram_push(struct rs_dgram *dg, const struct rs_dgram_msg *msg);

#endif

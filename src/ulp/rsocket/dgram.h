/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagram rsockets. Each has an ordinary UDP socket, whose port and descriptor it uses, and an
 * unreliable queue pair for every local address it talks from. The first datagrams to a peer go by
 * UDP with a header that names our queue pair; the peer answers with its own, and from then on
 * datagrams go from queue pair to queue pair.
 *
 * No thread serves the UDP socket: each call of ours on this rsocket does, so a peer is answered
 * when the program next receives, sends or polls; until then the peer goes on by UDP.
 *
 * Everything below is guarded by lock c of the socket.
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

/* A datagram that has come: in a receive slot of a queue pair, or by UDP. */
struct rs_dgram_msg {
	struct rs_dgram_qp *qp;
	uint32_t slot;
	uint32_t length;                /* of the payload */
	uint8_t *copy;                  /* by UDP: the payload */
	struct sockaddr_storage from;
	uint32_t skip;                  /* header in front of the payload */
};

#define RS_DGRAM_BUCKETS 64u
#define RS_DGRAM_DESTS 4096u            /* the longest unused one makes room for another */
#define RS_DGRAM_FORWARDED 64u          /* datagrams by UDP that wait to be read */

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

/* dgram.c: what the calls need */
int rs_dgram_make(struct rs_sock *s);
int rs_dgram_bind(struct rs_sock *s, const struct sockaddr *addr, socklen_t len);
int rs_dgram_connect(struct rs_sock *s, const struct sockaddr *addr, socklen_t len);
ssize_t rs_dgram_send(struct rs_sock *s, const struct iovec *iov, int nr, int flags,
		      const struct sockaddr *to, socklen_t tolen);
ssize_t rs_dgram_recv(struct rs_sock *s, const struct iovec *iov, int nr, int flags,
		      struct sockaddr *from, socklen_t *fromlen, int *ret_flags);
int rs_dgram_shutdown(struct rs_sock *s, int how);
void rs_dgram_close(struct rs_sock *s);
void rs_dgram_free(struct rs_sock *s);

/* c held: progress, and what rpoll and the waits ask */
void rs_dgram_drive(struct rs_sock *s);
void rs_dgram_arm(struct rs_sock *s);
void rs_dgram_event(struct rs_sock *s);
void rs_dgram_fds(struct rs_sock *s, int fd[2]);
short rs_dgram_events(struct rs_sock *s, short events);

/* dgram_qp.c */
int rs_dgram_qp_get(struct rs_sock *s, const struct sockaddr *local, struct rs_dgram_qp **ret);
void rs_dgram_qp_free(struct rs_dgram_qp *qp);
void rs_dgram_qp_poll(struct rs_dgram_qp *qp);
int rs_dgram_qp_recv(struct rs_dgram_qp *qp, uint32_t slot);
uint8_t *rs_dgram_qp_slot(struct rs_dgram_qp *qp, uint32_t slot);
int rs_dgram_qp_send(struct rs_dgram_qp *qp, const struct rs_dgram_dest *dest,
		     const struct iovec *iov, size_t len);

/* dgram_dest.c */
int rs_dgram_dest_get(struct rs_sock *s, const struct sockaddr *addr, struct rs_dgram_dest **ret);
void rs_dgram_dests_free(struct rs_dgram *dg);
int rs_dgram_udp_send(struct rs_sock *s, struct rs_dgram_dest *dest, enum rs_op op,
		      const struct iovec *iov, int nr);
void rs_dgram_udp_take(struct rs_sock *s);

/* dgram.c: the queue of what has come; false if it is full */
bool rs_dgram_push(struct rs_dgram *dg, const struct rs_dgram_msg *msg);

#endif

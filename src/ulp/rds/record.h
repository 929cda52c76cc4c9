/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What goes between a program and the carrier of its RDS sockets:
 *
 *   program with librds-preload.so              dapple-rds, the carrier: one for each user and network namespace
 *   descriptor = end of a unix SOCK_SEQPACKET  <--records-->  other end, struct rds_sock, connections <---> peers
 *   bind(), connect(), options: a request on a connection of its own, and its answer
 *
 * The descriptor is a socket of the kernel, so poll, epoll, dup, fork and exec are the kernel's. The abstract name of the
 * program's end says that it is an RDS socket; the name of the carrier's end says where it is bound. A record is one
 * message of the unix socket: the head, and the first octets of the payload; the rest of a long one is in a memfd.
 */
#ifndef ULP_RDS_RECORD_H
#define ULP_RDS_RECORD_H

#include "ulp/preload/name.h"
#include "ulp/rds/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define AF_RDS_FAMILY 21                /* AF_RDS of Linux */
#define SOL_RDS_LEVEL 276               /* SOL_RDS */
#define RDS_INLINE 32768                /* octets of a payload in the record itself */
#define RDS_BUFFER 106496               /* send and receive buffers, payload: half of net.core.wmem_default of Linux */
#define RDS_LISTEN_FD 3                 /* the carrier's own listener */
#define RDS_ANSWER_MAX 65536

/* Kinds of names (ulp/preload/name.h). */
enum rds_name_kind {
	RDS_NAME_PROGRAM = 'r',         /* the program's end */
	RDS_NAME_BOUND = 'b',           /* the carrier's end of a bound socket: local address, generation as peer.scope */
};

enum rds_record_kind {
	RDS_RECORD_DATA = 1,            /* both ways: a message, to or from `addr` */
	RDS_RECORD_CONGESTED,           /* program: a send to `addr` met a congested port; it waits for news */
	RDS_RECORD_UPDATE,              /* carrier: ports are no longer congested. mask: those that are watched */
	RDS_RECORD_DONE,                /* carrier: work[0] is done; the memfd has its pieces, and what comes into them */
};

/* The head of a record. */
struct rds_record {
	uint32_t kind;
	uint32_t len;                   /* of the payload, which may go on in a memfd */
	struct rsp_addr addr;           /* port in network order */
	uint64_t mask;
	uint64_t id;                    /* program: of this record, and of none before it */
	uint32_t number, claim;         /* carrier, with a message or end: to be claimed by ulp/rds/claim.h at this place; 0: it need not be */
	uint32_t generation;            /* carrier: its maps have the place */
	uint64_t cookie;                /* of a region that the peer is told of, RDS_CMSG_RDMA_DEST; 0: none */
	uint32_t used_key;              /* carrier: the region that the message has ended; 0: none */
	uint32_t nr_works;              /* program: their pieces and octets are behind the payload in the memfd */
	struct rds_work work[RDS_WORK_MAX];
};

enum rds_op {
	RDS_OP_SOCKET = 1,              /* with the carrier's end of a new socket */
	RDS_OP_BIND, RDS_OP_CONNECT,    /* addr */
	RDS_OP_NAME, RDS_OP_PEER,       /* answered by addr */
	RDS_OP_CANCEL,                  /* addr: drop what has not been sent to it; family 0: all */
	RDS_OP_SET, RDS_OP_GET,         /* option, value */
	RDS_OP_MAPS,                    /* answered with the memfd of the congestion maps */
	RDS_OP_INFO,                    /* option: RDS_INFO_*; answered with a memfd of octets, value: size of each */
	RDS_OP_MAY_REGION,              /* region: may there be one? */
	RDS_OP_REGION,                  /* region: with the memfd of the pages; answered by the cookie as value */
	RDS_OP_FREE_REGION,             /* value: cookie */
	RDS_OP_MAY_WORK,                /* may a message to addr have works? option: 1 if it names the region of the cookie value */
};

/* Options of RDS_OP_SET and RDS_OP_GET, beside those of SOL_RDS. */
#define RDS_OPTION_SNDBUF 0x10001
#define RDS_OPTION_RCVBUF 0x10002

struct rds_request {
	uint32_t op;
	uint32_t option;
	int64_t value;
	bool again;                     /* the carrier before has not answered */
	struct { uint64_t addr, len, flags; } region;   /* flags: RDS_RDMA_* of Linux */
	struct rsp_addr addr;
	struct sockaddr_un name;        /* of the program's end */
	uint32_t name_len;
};

struct rds_answer {
	int32_t error;                  /* a negative errno, or 0 */
	uint32_t each;
	int64_t value;
	uint64_t len;                   /* of what is in the memfd */
	struct rsp_addr addr;
};

/*
 * Sends the octets of the vector as one message, with a descriptor unless it is -1. flags as of sendmsg(2). Returns 0 or a
 * negative errno.
 */
int rds_pass(int sock, struct iovec *iov, int nr, int fd, int flags);
/*
 * Receives a message into the vector, and its descriptor or -1. Returns its length, 0 at the end, or a negative errno;
 * flags as of recvmsg(2), with MSG_TRUNC in *ret_flags for a longer message.
 */
ssize_t rds_take(int sock, struct iovec *iov, int nr, int *ret_fd, int flags, int *ret_flags);
/* Returns true for the failure of one of these calls that passes: the same call may succeed later. */
bool rds_may_retry(ssize_t error);
/* Removes the message that rds_take() has looked at with MSG_PEEK. */
void rds_skip(int sock);
/* A memfd with these octets. Returns it or a negative errno. */
int rds_memfd(const struct iovec *iov, int nr);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A call is described by memory that the kernel fills and by what it waits for. The calls that need more than that can say
 * are in memory.h, futex.h and process.h.
 */
#ifndef REPLAY_DESCRIBE_H
#define REPLAY_DESCRIBE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define RP_OUTS 4

enum rp_how { RP_LOGGED, RP_DIRECT, RP_FAILS, RP_UNKNOWN };

/* How a call is made, and what is written by it. */
struct rp_desc {
	enum rp_how how;
	struct rp_out {
		void *p;
		size_t n; /* bytes, or bytes of each of `result` things */
		bool by_result;
	} outs[RP_OUTS];
	int n_outs;
	int fd;               /* -1: none; else it is compared */
	bool makes_fd;
	short waits_for;      /* on fd, unless it does not block; POLLIN, POLLOUT or 0 */
	bool waits;           /* in another way */
	socklen_t *addr_len;  /* beside addr: capacity, then length */
	void *addr;
	const struct iovec *out_data; /* to the outside */
	int n_out_data;
	struct iovec in_data[1];      /* from there: `result` bytes */
	const struct iovec *in_iov;
	int n_in_iov;
	struct iovec one;
	struct msghdr *msg;   /* recvmsg: name, control and flags come back */
};

void rp_describe(struct rp_desc *d, int nr, const long args[6]);

#endif

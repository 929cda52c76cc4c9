/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A process of special.c: its orders and its answers. */
#ifndef TESTS_ABI_SPECIAL_ROLE_H
#define TESTS_ABI_SPECIAL_ROLE_H

#include <dapple/verbs.h>
#include <stdbool.h>

enum what {
	SPECIAL, /* dpl_create_special_qp(port, type), and to RTS */
	PLAIN,   /* a datagram queue pair with this qkey, in RTS */
	DESTROY, /* the queue pair */
	RECEIVE, /* post one, unless one waits */
	SEND,    /* a MAD of this class and tid to qpn at gid */
	AWAIT,   /* the MAD with this tid, a second long: ETIMEDOUT */
	REPLY,   /* to the sender of the last one, with its content */
	COUNTER, /* the port's, by name */
	LEAVE
};

struct order {
	enum what what;
	unsigned type, port, depth;
	uint32_t qkey, qpn, tid;
	uint8_t class;
	union ibv_gid gid;
	char name[40];
};

struct answer {
	int error;
	uint32_t qpn; /* own; 0: none */
	union ibv_gid gid; /* own */
	/* Of the last MAD. good: its length, flags, GRH and every byte. */
	bool good;
	uint8_t class;
	uint32_t tid, src_qp;
	uint64_t value;
};

/* Says an answer to begin with, then one to each order but LEAVE. */
void role_main(int fd, const char *device) __attribute__((noreturn));

#endif

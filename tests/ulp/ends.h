/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two ends of an rsocket in two processes. A test is a function for each; both run to their end,
 * and the parent, which is the client, checks the child's exit status. A pipe in each direction
 * carries the port and marks points in time, so that no test synchronizes by sleeping.
 */
#ifndef TESTS_ULP_ENDS_H
#define TESTS_ULP_ENDS_H

#include "support/check.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include <rdma/rsocket.h>

struct ends {
	int in, out;            /* pipes from and to the other process */
	pid_t peer;             /* of the server; 0 in itself */
	int family;
	struct sockaddr_storage addr;
	socklen_t addr_len;
};

typedef void end_fn(struct ends *e);

/* Runs both. Returns, in the client, when both have ended and the server's status is 0. */
void ends_run(const char *name, int family, end_fn *server, end_fn *client);
/* The server may be killed by the test. */
void ends_run_killed(const char *name, int family, end_fn *server, end_fn *client);

void mark(struct ends *e);
void await(struct ends *e);

/* A listening socket whose address the client has when await_addr() returns. */
int listen_here(struct ends *e, int type, void (*options)(int fd));
void await_addr(struct ends *e);
int accept_one(struct ends *e, int lfd);
int connect_there(struct ends *e, void (*options)(int fd));

void fill(uint8_t *buf, size_t len, uint64_t at, unsigned seed);
void expect_bytes(const uint8_t *buf, size_t len, uint64_t at, unsigned seed);
void send_all(int fd, size_t len, unsigned seed);
void recv_all(int fd, size_t len, unsigned seed);
uint64_t now_ms(void);
uint64_t cpu_ms(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The picture of this room:
 *
 *   program with libdapple-rsockets.so            dapple-rsockets, the carrier
 *   descriptor = end of a unix stream  <------->  other end, two threads, an rsocket  <---> peer
 *
 * The descriptor that a program has is a socket of the kernel. So epoll, sendfile, dup, fork, exec and
 * passing of descriptors are the kernel's, and a connection outlives the process that made it. What TCP
 * would say of a connection stands in the abstract names of the two ends; a process that inherited the
 * descriptor reads it there, and no table has to follow the descriptor.
 */
#ifndef ULP_PRELOAD_NAME_H
#define ULP_PRELOAD_NAME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum rsp_kind {
	RSP_LISTENER = 'l',     /* a listener of the program, and what it accepts: local address */
	RSP_PROGRAM = 'c',      /* a connecting socket of the program: peer address */
	RSP_CARRIER = 'p',      /* the carrier's end of an established connection: both addresses */
	RSP_FAILED = 'e',       /* the carrier's end of a failed attempt: errno */
};

/* An address of either family, without padding of unknown content. */
struct rsp_addr {
	uint16_t family;
	uint16_t port;                  /* network order, as the address */
	uint32_t scope;
	uint8_t addr[16];
};

struct rsp_name {
	uint8_t kind;
	uint8_t err;
	struct rsp_addr local, peer;
};

/* Copies an address. Other families become family 0. */
void rsp_addr_from(struct rsp_addr *ret, const struct sockaddr *from);
/* Writes the address of the family and returns its length. */
socklen_t rsp_addr_to(const struct rsp_addr *a, struct sockaddr_storage *ret);
/* Copies at most *len bytes of the address and sets *len to its true length, as getsockname(2). */
void rsp_addr_give(const struct rsp_addr *a, struct sockaddr *to, socklen_t *len);
/* Turns an IPv4 address into the IPv6 form of a dual-stack socket; and back. */
void rsp_addr_map(struct rsp_addr *a);
void rsp_addr_unmap(struct rsp_addr *a);

/* Binds the unix socket to the name with a random part. Returns 0 or a negative errno. */
int rsp_name_bind(int fd, const struct rsp_name *name);
/* Returns true and the name if the address is one of ours. */
bool rsp_name_read(const struct sockaddr_un *un, socklen_t len, struct rsp_name *ret);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses as the command line has them: rdma:ADDRESS:PORT, tcp:HOST:PORT; and which of them may connect. */
#ifndef ULP_RPCRDMA_GATEWAY_PLACE_H
#define ULP_RPCRDMA_GATEWAY_PLACE_H

#include <stdbool.h>
#include <sys/socket.h>

#define RPG_TEXT_MAX 80
#define RPG_ALLOW_MAX 64

struct rpg_place {
	bool is_rdma;
	struct sockaddr_storage addr;
	socklen_t len;
};

/*
 * Reads "rdma:10.0.0.1:20049", "tcp:[::1]", "tcp:host:2049"; the port may be left out, the address is 127.0.0.1 if it is
 * left out. Returns NULL, or what is wrong.
 */
const char *rpg_place_read(struct rpg_place *p, const char *text);

/* Address and port, as rpg_place_read() takes them without the transport. Returns text. */
const char *rpg_addr_text(char text[RPG_TEXT_MAX], const struct sockaddr_storage *addr);

bool rpg_is_loopback(const struct sockaddr_storage *addr);

/* A network: an address and how many bits of it count. */
struct rpg_net {
	struct sockaddr_storage addr;
	unsigned bits;
};

struct rpg_allow {
	struct rpg_net net[RPG_ALLOW_MAX];
	unsigned nr;
};

/* Adds ADDRESS or ADDRESS/BITS. Returns false if it is none, or there is no room. */
bool rpg_allow_add(struct rpg_allow *a, const char *text);
/* True if the address is in one of the networks; loopback addresses always are. */
bool rpg_may_connect(const struct rpg_allow *a, const struct sockaddr_storage *addr);

#endif

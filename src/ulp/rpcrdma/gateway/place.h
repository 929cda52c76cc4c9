/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses with a transport as the command line has them: rdma:ADDRESS:PORT, tcp:HOST:PORT. */
#ifndef ULP_RPCRDMA_GATEWAY_PLACE_H
#define ULP_RPCRDMA_GATEWAY_PLACE_H

#include <stdbool.h>
#include <sys/socket.h>

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

#endif

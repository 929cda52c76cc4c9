/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses as a command line has them, ADDRESS:PORT; and which of them may connect. */
#ifndef ULP_PLACE_H
#define ULP_PLACE_H

#include <stdbool.h>
#include <sys/socket.h>

#define ULP_ADDR_TEXT_MAX 80
#define ULP_ALLOW_MAX 64

/*
 * Reads "10.0.0.1:20049", "[::1]", "host:2049"; the port is `port` and the address is 127.0.0.1 if they are left out.
 * Returns NULL, or what is wrong.
 */
const char *ulp_addr_read(struct sockaddr_storage *addr, socklen_t *ret_len, const char *text, const char *port);

/* Address and port, as ulp_addr_read() takes them. Returns text. */
const char *ulp_addr_text(char text[ULP_ADDR_TEXT_MAX], const struct sockaddr_storage *addr);

bool ulp_is_loopback(const struct sockaddr_storage *addr);

/* A network: an address and how many bits of it count. */
struct ulp_net {
	struct sockaddr_storage addr;
	unsigned bits;
};

struct ulp_allow {
	struct ulp_net net[ULP_ALLOW_MAX];
	unsigned nr;
};

/* Adds ADDRESS or ADDRESS/BITS. Returns false if it is none, or there is no room. */
bool ulp_allow_add(struct ulp_allow *a, const char *text);
/* True if the address is in one of the networks; loopback addresses always are. */
bool ulp_may_connect(const struct ulp_allow *a, const struct sockaddr_storage *addr);

#endif

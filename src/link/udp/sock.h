/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The sockets. They are unconnected with path MTU discovery "do": that alone gives the IPv4 identification 0, 1, 2 ...
 * per call that the ICRC is computed for.
 */
#ifndef LINK_UDP_SOCK_H
#define LINK_UDP_SOCK_H

#include "link/udp/state.h"

/* The member socket of an address, a socket with a source port of its own, and one of a group. Return a descriptor or
 * -errno. */
int udp_sock_main(const uint8_t addr[16], uint16_t port, uint32_t scope);
int udp_sock_tx(const uint8_t addr[16], uint16_t port, uint32_t scope);
int udp_sock_group(const uint8_t group[16], uint16_t port, uint32_t ifindex);
/* Finds how many bytes of payload a socket can hold. Returns 0 or -errno. */
int udp_sock_window(int fd, uint32_t *ret);
/* Returns true if segmentation offload works on this kernel. */
bool udp_sock_gso(void);

#endif

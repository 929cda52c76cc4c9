/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LINK_UDP_SOCK_H
#define LINK_UDP_SOCK_H

#include "link/udp/state.h"

/* sock.c: each returns a descriptor or -errno. */
int udp_sock_main(const uint8_t addr[16], uint16_t port, uint32_t scope);
int udp_sock_tx(const uint8_t addr[16], uint16_t port, uint32_t scope);
int udp_sock_group(const uint8_t group[16], uint16_t port, uint32_t ifindex);
int udp_sock_window(int fd, uint32_t *ret);
/* Segmentation offload works on this kernel. */
bool udp_sock_gso(void);

#endif

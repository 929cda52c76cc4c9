/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Why an address cannot be used: which process has the port. A socket of the kernel (rdma_rxe listens at any
 * address) looks like one of root; the loaded module tells the two apart.
 */
#ifndef LINK_UDP_EXPLAIN_H
#define LINK_UDP_EXPLAIN_H

#include <stdint.h>

/* Returns the cause of `error`, a negative errno of link_ops.add_addr(): another user, the kernel's rdma_rxe, no
 * permission. The text is valid until the thread's next call. */
const char *udp_explain(const uint8_t addr[16], uint16_t port, int error);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef PRELOAD_NLDEV_H
#define PRELOAD_NLDEV_H

/*
 * The kernel's device interface of RDMA netlink (the client RDMA_NL_NLDEV), which `rdma` of iproute2
 * reads, answered from the device tree. The stand-in for such a socket is one of NETLINK_USERSOCK: what a program sends
 * is read here, and the answers are sent to it by another socket, so that all other calls (recvmsg, poll, close, dup)
 * are the kernel's.
 *
 *   RDMA_NLDEV_CMD_GET        devices, one or all
 *   RDMA_NLDEV_CMD_PORT_GET   ports of a device, one or all
 *   RDMA_NLDEV_CMD_STAT_GET   the counters of a port
 *   RDMA_NLDEV_CMD_SYS_GET    the mode of network namespaces
 *
 * All else is refused with EOPNOTSUPP, as a kernel does that does not know a command.
 */

#include <stdbool.h>
#include <stddef.h>

/* Opens a stand-in. type is that of socket(2), with its flags. Returns the descriptor, or -1 with errno. */
int nldev_socket(int type);

/* Returns whether the descriptor may be a stand-in: a test of the number, for calls that are frequent. */
bool nldev_may_be(int fd);

/*
 * Answers the requests in msg if the descriptor is a stand-in. Returns whether it was one; a request that cannot be
 * answered for lack of room in the receive buffer is dropped, as in the kernel. Keeps errno.
 */
bool nldev_answer(int fd, const char *tree, const void *msg, size_t n);

#endif

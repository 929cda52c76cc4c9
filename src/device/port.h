/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The attributes of the port that an interface makes: state, MTU, rate, from what the kernel says of the interface. Called
 * by the rows of adapter kinds (kind/kind.h), the tree below /sys (sysfs/root.c) and the RDMA CM's host
 * (cm/cma_host.c).
 */
#ifndef DEVICE_PORT_H
#define DEVICE_PORT_H

#include <infiniband/verbs.h>
#include <stdint.h>

/* Asks the kernel for the state of the interface now, as a RoCE port. An interface that is gone is a port
 * that is down. Returns 0 or negative errno. */
int dev_port_query(uint32_t ifindex, struct ibv_port_attr *ret);
/* Returns the path MTU that fits an interface: bytes, 256..4096, or 1024 if the kernel does not tell. */
uint32_t dev_port_mtu(uint32_t ifindex);
/* Data rate in Gb/s of a width and speed pair, times 10. */
unsigned dev_rate_x10(uint8_t width, uint8_t speed);
/* The same of a port, as a path record has it. */
enum ibv_rate dev_rate_code(const struct ibv_port_attr *p);

#endif

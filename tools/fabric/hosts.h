/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A network namespace for each node of a fabric (`up --hosts`): made when the first program enters the node.
 *
 *	node n1                                hub                                  node n2
 *	lo   eth0 198.18.0.2/15 ---- veth ---- bridge "hub" ---- veth ---- eth0 198.18.0.3/15   lo
 *
 * With IP over InfiniBand (`up --ipoib`) there is no bridge: a process dapple-ipoib for each node gives it `ib0`, whose packets
 * take the fabric.
 *
 *	node n1                                                                     node n2
 *	lo   ib0 198.18.0.2/15 ---- TUN ---- dapple-ipoib ==== fabric ==== dapple-ipoib ---- TUN ---- ib0 198.18.0.3/15   lo
 *
 * The addresses are those by which the RDMA CM finds the nodes, so a program reaches a node by TCP and by RDMA under one
 * address. A child of the fabric process makes the namespaces, inside a user namespace of this user unless the user is
 * privileged, and hands descriptors of them to processes that enter, over the socket `hosts` of the fabric's directory. It
 * ends with the fabric process; a namespace ends with its last program.
 */
#ifndef FABRIC_HOSTS_H
#define FABRIC_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

/* What joins the nodes. */
enum hosts_network { HOSTS_BRIDGE, HOSTS_IPOIB, HOSTS_IPOIB_CONNECTED };

/* Starts the child; the fabric's directory is there. Returns 0, or an exit code after a sentence that says what this machine
 * refuses. */
int hosts_start(const char *dir, const char *fabric, enum hosts_network network);

/* Returns true if hosts_start() would succeed. Nothing is said and nothing is left. */
bool hosts_can_start(void);

/*
 * Enters the namespaces of a node: network, and a host name that is the node's. ip: its address in host order; 0: none
 * (a switch). Called in a process with one thread. Returns 0, or an exit code after a sentence.
 */
int hosts_enter(const char *fabric, const char *node, uint32_t ip);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Topologies as text: what ibnetdiscover(8) prints, and the format of ibsim's net files, which is its ancestor. Both
 * are read by one grammar, and lines of both may be mixed:
 *
 *	vendid=0x2c9                                          of the next node; so are devid, sysimgguid,
 *	switchguid=0x2c90000000001(2c90000000001)             caguid, rtguid: node GUID, and port GUID of a switch
 *	Switch  36 "S-0002c90000000001"  # "leaf 1" base port 0 lid 6 lmc 0
 *	[1]  "H-0002c90000000010"[1](2c90000000011)  # "node 1" lid 4 4xEDR
 *	[36] "trunk 1"                                        ours: a link to another fabric process
 *
 *	Hca  1 "node1"                                        ibsim: the name is no GUID, which is made
 *	[1]  "leaf1"[1]  w=3 s=7 e=3                          sets of enabled widths and speeds
 *
 * A node's name is its description if that names one node only, else its quoted identifier.
 */
#ifndef MGMT_TOPOLOGY_H
#define MGMT_TOPOLOGY_H

#include "mgmt/fabric.h"

#include <stdio.h>

#define FAB_TOPOLOGY_WHY 256
#define FAB_TRUNKS_MAX 250u

/*
 * Adds the nodes and links of a text to a fabric. Returns 0, or a negative errno with a phrase in why that names the
 * line; the fabric may have a part of it then. include and do lines of ibsim are refused.
 */
int fab_topology_read(struct fab *f, const char *text, size_t len, char why[FAB_TOPOLOGY_WHY]);

/* Writes the topology as ibnetdiscover does, with LIDs and rates as they are. */
void fab_topology_write(const struct fab *f, FILE *to);

/*
 * Makes `f` equal to `wanted`: nodes that are not in it are removed, new ones added, links taken away and made, in
 * this order. A node is known by its GUID. gone() is called before a node is removed. Returns the number of changes,
 * or -ENOMEM.
 */
int fab_topology_apply(struct fab *f, const struct fab *wanted, void (*gone)(void *arg, struct fab_node *n), void *arg);

/* The rate of a link as ibnetdiscover prints it, such as "4xEDR"; the text is static. */
const char *fab_topology_rate(const struct fab_port *p);

#endif

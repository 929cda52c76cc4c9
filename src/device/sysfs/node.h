/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The stand-in for /sys and /dev at a node of a soft fabric: one adapter with the node's ports, as the fabric process
 * writes it, and where a process that is attached to the node finds it.
 */
#ifndef DEVICE_SYSFS_NODE_H
#define DEVICE_SYSFS_NODE_H

#include "link/fabric/attach.h"

#define DEV_NODE_NAME "dpl_ib0" /* the adapter at a node */

/* A port, with the file of its subnet manager. */
struct dev_node_port {
	struct att_port port;
	char issm[ATT_PATH_MAX];
};

/* Makes the tree at root (absolute; its parent exists) agree with the node. Cheap if it does. desc: the file to which
 * node_desc leads; "": none. Returns 0 or a negative errno. */
int dev_node_write(const char *root, const struct att_welcome *node, const char *desc, const struct dev_node_port *ports,
		   unsigned n);

/*
 * The tree of the node to which this process is attached, as it is now: the fabric process keeps it so. Returns 1 with
 * its path, 0 if the environment names no node, or a negative errno with a sentence in why.
 */
int dev_node_tree(char path[ATT_PATH_MAX], char why[ATT_WHY_MAX]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Topologies that need no file: one switch, fat trees, tori. */
#ifndef FABRIC_GENERATE_H
#define FABRIC_GENERATE_H

#include "mgmt/fabric.h"

#define GENERATE_NODES_MAX 16384u

/* Text before the names of all nodes that are made from now on; at most 31 bytes, static. */
void generate_prefix(const char *prefix);

/* n1 ... nN on as many switches of 36 ports as they need: one, or the leaves of a tree with one spine. */
int generate_nodes(struct fab *f, unsigned nodes);
/*
 * A fat tree of two levels: `leaves` leaf switches with `down` nodes each, every one linked to each of `spines` spine
 * switches by `links` links. Returns 0, -EINVAL (a switch would need more than 254 ports), or another negative errno.
 */
int generate_tree(struct fab *f, unsigned leaves, unsigned down, unsigned spines, unsigned links);
/* A torus of up to three dimensions (1: the dimension is not there), `nodes` nodes on each switch. */
int generate_torus(struct fab *f, const unsigned size[3], unsigned nodes);

#endif

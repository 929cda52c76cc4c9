/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The node of a soft fabric to which this process is attached (DAPPLE_FABRIC), as an adapter. */
#ifndef ABI_UMAD_PLACE_H
#define ABI_UMAD_PLACE_H

#include "device/device.h"
#include "device/sysfs/node.h"
#include "link/fabric/attach.h"

#include <infiniband/umad.h>
#include <stdbool.h>
#include <stdint.h>

/* Fills *ret if the environment names a node that is there. Returns false if not; a sentence says why for dapple why. */
bool umad_place_info(struct dev_info *ret);

/* The node with its ports, as they are now. */
struct umad_node {
	struct att_welcome node;
	unsigned n;                /* ports */
	struct att_port *ports;
};

/* Returns 0, to be freed by umad_node_free(), or a negative errno. */
int umad_node_ask(struct umad_node *ret);
void umad_node_free(struct umad_node *n);

/* Attaches to a port. Returns a socket for umad_file_open(), or a negative errno with its sentence said. */
int umad_place_attach(unsigned port);
/* The path of the file that a subnet manager of the port keeps open. Returns 0 or a negative errno. */
int umad_place_issm(unsigned port, char *path, int max);

/* Fills a port as libibumad has it; pkeys is for free(). Returns 0 or -ENOMEM. */
int umad_port_fill(const struct att_port *p, umad_port_t *ret);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trunk links: their other port is in the fabric process of another host, reached by UDP. Both ends give a link the same
 * number. Every second, and at each change, an end tells the state of its ports; six seconds without such a message
 * from the other end, and the links are down. MADs and the packets of adapters cross as they are.
 *
 * Packets of adapters have credits, since links of InfiniBand lose nothing: TRUNK_WINDOW_BYTES are under way at most, the rest
 * waits here. What the network between the hosts loses is lost for the adapters too, which send it again. Each end also tells
 * the addresses and LIDs of its hosts, for the RDMA CM.
 */
#ifndef FABRIC_TRUNK_H
#define FABRIC_TRUNK_H

#include <stdint.h>
#include <stdio.h>

#include "loop.h"
#include "mgmt/fabric.h"

#define TRUNK_WINDOW_BYTES (128u << 10)
#define TRUNK_QUEUE_BYTES (8u << 20)	/* more is lost */

struct ad;
struct trunks;

struct trunk_spec {
	const char *peer;	/* HOST:PORT */
	const char *bind;	/* [ADDRESS:]PORT; NULL: the peer's port, all addresses */
	const char *key;	/* file */
};

/* Opens the socket; the model's trunk ports belong to it. Returns NULL after writing a sentence to `why`. */
struct trunks *trunk_open(struct loop *loop, struct fab *f, const struct trunk_spec *spec, char *why, size_t size);
void trunk_close(struct trunks *t);

/* fab_ops.depart and .trunk_changed. */
void trunk_depart(struct trunks *t, struct fab_port *port, const struct mad *m);
void trunk_port_changed(struct trunks *t, struct fab_port *port);

/* Packets of adapters cross from now on. */
void trunk_join(struct trunks *t, struct ad *adapters);

/* Sends what is due. The next deadline in ns. */
void trunk_run(struct trunks *t, uint64_t now);
uint64_t trunk_next(const struct trunks *t);

/* State of the other end, and what was refused. */
void trunk_print(const struct trunks *t, FILE *out);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trunk links: their other port is in the fabric process of another host, reached by UDP. Both ends give a link the same
 * number. Every second, and at each change, an end tells the state of its ports; six seconds without such a message
 * from the other end, and the links are down. MADs cross as they are.
 */
#ifndef FABRIC_TRUNK_H
#define FABRIC_TRUNK_H

#include <stdint.h>
#include <stdio.h>

#include "loop.h"
#include "mgmt/fabric.h"

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

/* Sends what is due. The next deadline in ns. */
void trunk_run(struct trunks *t, uint64_t now);
uint64_t trunk_next(const struct trunks *t);

/* State of the other end, and what was refused. */
void trunk_print(const struct trunks *t, FILE *out);

#endif

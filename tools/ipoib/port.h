/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The port of a node, as IP over InfiniBand and dapple fabric resolve need it: its state and keys, and subnet administration, by an attachment to the
 * fabric process (link/fabric/attach.h). Whether a path may have changed is the fabric's generation (link/fabric/names.h).
 */
#ifndef IPOIB_PORT_H
#define IPOIB_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "link/fabric/attach.h"
#include "link/fabric/names.h"
#include "mgmt/sa_client.h"

struct port_ops {
	/* The port has changed: enum att_event. */
	void (*changed)(void *ctx, uint32_t events);
	/* Answers of the SA, as sac_ops has them. */
	void (*path)(void *ctx, uint64_t ticket, int status, const struct sac_path *p);
	void (*group)(void *ctx, uint64_t ticket, int status, const struct sac_group *g);
	void (*name)(void *ctx, uint64_t ticket, int status, const struct sac_name *n);
};

struct port {
	const struct port_ops *ops;
	void *ctx;
	int fd;                       /* the attachment */
	struct att_port now;
	uint8_t gid[16];
	struct fabric_names *names;
	struct sac sa;
};

/* Attaches to the node of DAPPLE_FABRIC. Returns 0, or a negative errno with a sentence in why. */
int port_open(struct port *p, const struct port_ops *ops, void *ctx, char why[ATT_WHY_MAX]);
void port_close(struct port *p);
/* Takes what has come. Returns false if the fabric has ended, or the node is gone. */
bool port_serve(struct port *p);

bool port_is_active(const struct port *p);
/* The index of a P_Key, of full or limited membership, or -1. */
int port_pkey_index(const struct port *p, uint16_t pkey);
/* Returns true if no process of the port but this one is in a group. */
bool port_is_last(const struct port *p, const uint8_t mgid[16], uint32_t qpn);

#endif

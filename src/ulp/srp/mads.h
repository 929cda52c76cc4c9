/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A port of the InfiniBand link, as libibumad has it: MADs that are asked and answered, and queries of subnet administration. */
#ifndef ULP_SRP_MADS_H
#define ULP_SRP_MADS_H

#include "ulp/srp/dm.h"

#include <stddef.h>

#define SRP_MADS_WHY_MAX 160

struct srp_mads {
	int fd, dm, sa;                 /* port; agents, -1: there is none */
	uint16_t sm_lid;
	uint64_t tid;
	void *buffer;                   /* of libibumad, with room for one MAD or a reassembled table */
	size_t room;
	char why[SRP_MADS_WHY_MAX];
};

/* Opens a port of an adapter, or the first active one (NULL, 0). Each returns 0, or a negative errno and says why. */
int srp_mads_open(struct srp_mads *m, const char *adapter, int port);
void srp_mads_close(struct srp_mads *m);

/* Becomes the port's agent of device management, or one that asks such agents. */
int srp_mads_serve(struct srp_mads *m);
int srp_mads_client(struct srp_mads *m);

/* Readable when something has come. */
int srp_mads_fd(const struct srp_mads *m);
/* Takes the requests that have come, and answers them for the unit. Never waits. */
void srp_mads_answer(struct srp_mads *m, const struct srp_dm_unit *u);
/* Asks the agent at a LID. The answer is in mad. */
int srp_mads_ask(struct srp_mads *m, uint16_t lid, uint16_t attribute, uint32_t modifier, uint8_t mad[SRP_MAD_LEN]);

struct srp_port {
	uint16_t lid;
	uint64_t prefix, guid;
};

/* The ports that have agents of device management, as subnet administration says. Returns how many were written, at most max. */
int srp_mads_ports(struct srp_mads *m, struct srp_port *ret, unsigned max);

#endif

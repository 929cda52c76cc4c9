/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which agent gets a MAD that has come to QP0 or QP1 of a port, by the rules of Linux (find_mad_agent() of ib_core):
 *
 *   response (R bit, TrapRepress)      the upper half of its transaction ID names the agent
 *   other method, class 0x30 to 0x4f   class, version, OUI, method
 *   other method, other class          class, version, method; 0x01 and 0x81 are two classes
 *   none, and the method is Get or Set GetResp with status 0x000c goes back, so that tools fail at once
 *   none otherwise                     the MAD is dropped and counted
 *
 * Pure: no socket, clock or lock. The SMA and PMA of the port have seen the MAD before and have not consumed it.
 */
#ifndef MGMT_AGENTS_H
#define MGMT_AGENTS_H

#include "util/idtab.h"
#include "util/list.h"

#include <stdbool.h>
#include <stdint.h>

#define AGENTS_MAD_LENGTH 256

/* An agent, embedded in an object of the caller. The first part is the caller's wish. */
struct agents_agent {
	void *owner;
	uint32_t id;              /* of its owner */
	uint32_t oui;
	uint64_t methods[2];      /* bit n: requests of method n; none: the agent only sends */
	uint8_t qpn, mgmt_class, class_version, rmpp_version;

	/* Set by agents_add(). */
	uint32_t tid_high;        /* 0: not added */
	struct agents_port *port;
	struct ut_list node;      /* of port->serving; on no list if it only sends */
};

/* Agents of one port. */
struct agents_port {
	struct ut_list serving;   /* those with methods */
	unsigned n;               /* all */
	uint64_t delivered, answered, dropped;
};

/* All agents of a fabric. */
struct agents {
	struct ut_idtab by_tid;   /* tid_high -> agent */
	uint32_t last_tid;
};

void agents_init(struct agents *t);
/* All agents have been removed. */
void agents_fini(struct agents *t);
void agents_port_init(struct agents_port *p);

/*
 * Adds an agent to a port. Returns 0, -EINVAL if class, version, QP, OUI and RMPP do not fit together or if another
 * agent of the port has one of the methods, or -ENOMEM.
 */
int agents_add(struct agents *t, struct agents_port *p, struct agents_agent *a);
/* Does nothing to an agent that has not been added. */
void agents_remove(struct agents *t, struct agents_agent *a);

enum agents_outcome {
	AGENTS_TAKEN,    /* *ret gets the MAD */
	AGENTS_ANSWER,   /* the MAD has become the answer to its sender */
	AGENTS_DROPPED
};

enum agents_outcome agents_route(struct agents *t, struct agents_port *p, unsigned qpn,
				 uint8_t mad[AGENTS_MAD_LENGTH], struct agents_agent **ret);

/*
 * Prepares a MAD that the agent sends: the upper half of a request's transaction ID becomes the agent's. Returns false
 * if the MAD may not leave: version or class do not fit the agent's QP.
 */
bool agents_may_send(const struct agents_agent *a, uint8_t mad[AGENTS_MAD_LENGTH]);

/* Classes in general, for both ends. */
/* True of R bit, TrapRepress, and a response of baseboard management. */
bool agents_is_response(const uint8_t *mad);
/* True of classes that may use RMPP. */
bool agents_is_rmpp_class(uint8_t mgmt_class);
/* True of classes with an OUI. */
bool agents_is_vendor_class(uint8_t mgmt_class);
/* Bytes before the data of a MAD of the class: headers of MAD, RMPP and class. */
unsigned agents_data_offset(uint8_t mgmt_class);

#endif

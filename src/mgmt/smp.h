/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Directed routes: the rules by which an SMP of class 0x81 goes on at a node (IBTA 14.2.2). A route has three parts,
 * of which the first and the last may be empty: by LID to the node where the directed part begins (DrSLID is the
 * requester's LID), along InitialPath, by LID to the responder (DrDLID). Responses come back the same way.
 */
#ifndef MGMT_SMP_H
#define MGMT_SMP_H

#include "mgmt/fabric.h"

enum smp_step {
	SMP_DISCARD,	/* the route is malformed, or cannot go on here: dropped in silence (14.2.2) */
	SMP_DELIVER,	/* for the SMA or the SM of this node */
	SMP_LEAVE,	/* by the port of *ret_out */
	SMP_BY_LID,	/* from here by LID, to m->dlid */
};

/*
 * The step of a directed-route SMP at node n. `in` is the external port at which it arrived, 0 if the node's own SM or
 * SMA sends it. Moves the hop pointer, writes the return path, sets m->slid and m->dlid for a part by LID.
 */
enum smp_step smp_dr_step(struct fab_node *n, unsigned in, struct mad *m, unsigned *ret_out);

/* Turns a request into its response: GetResp, direction, addresses exchanged; data and path stay. */
void smp_answer(struct mad *m, uint16_t status);

#endif

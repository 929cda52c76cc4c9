/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The subnet management agent of a node (IBTA 14.2.5, 14.3): Get and Set of its attributes, checked by the M_Key of
 * the port (14.2.4). SMInfo is not its business: a program that is an SM answers.
 */
#ifndef MGMT_SMA_H
#define MGMT_SMA_H

#include "mgmt/fabric.h"

enum sma_outcome {
	SMA_ANSWERED,	/* m is the response now, to be sent back */
	SMA_CONSUMED,	/* taken or refused without an answer */
	SMA_FOREIGN,	/* for programs at this port: responses, traps, SMInfo */
};

/*
 * An SMP has arrived at the end port `base` (port 0 of a switch), over the external port `in` (0: from this node).
 */
enum sma_outcome sma_process(struct fab_port *base, unsigned in, struct mad *m);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes attached to the nodes of a fabric, in the fabric process: the other end of link/fabric/attach.h. One
 * thread. What the model of the fabric does stands behind ops; this file names none of its types: a port is a pointer
 * of the caller, with room for a pointer of this file (ops->slot).
 *
 *	the loop: a descriptor is readable          ->  its function here; attachments_settle() after each round
 *	a process sends a MAD                       ->  ops->send()
 *	a MAD came to QP0 or QP1 of a port, and     ->  attachments_deliver()
 *	neither SMA nor PMA has consumed it
 *	a field of a port has changed               ->  attachments_changed()
 *
 * attachments_deliver() and attachments_changed() may be called from inside ops.
 */
#ifndef FABRIC_ATTACHMENTS_H
#define FABRIC_ATTACHMENTS_H

#include "link/fabric/attach.h"
#include "loop.h"
#include "mgmt/agents.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct attachments;
struct attachments_port;

struct attachments_ops {
	/* Describes a node in ret (node_guid ... description), or returns a negative errno with a sentence in
	 * ret->why: there is no such node. */
	int (*node)(void *fabric, const char *node, struct att_welcome *ret);
	/* Returns the node's port, or NULL. A switch has port 0 alone. */
	void *(*port)(void *fabric, const char *node, unsigned number);
	/* Returns the address of a pointer that stays with the port, NULL at first. */
	struct attachments_port **(*slot)(void *fabric, void *port);
	/* Writes the name by which the port's node is found. */
	void (*name)(void *fabric, void *port, char ret[ATT_NAME_MAX]);
	/* Fills all of ret but its events. */
	void (*describe)(void *fabric, void *port, struct att_port *ret);
	/* A MAD leaves the port by this QP; the port's LID and path bits make its source, P_Key and GID come from the
	 * port's tables. mad is the callee's to change. */
	void (*send)(void *fabric, void *port, unsigned qpn, const struct att_addr *to, uint8_t mad[ATT_MAD_LENGTH]);
	/* A subnet manager has begun or ended at the port. */
	void (*set_sm)(void *fabric, void *port, bool on);
	/* A program has written a NodeDescription; node as in node(). */
	void (*rename)(void *fabric, const char *node, const char *text);
	/* The first agent that serves device management has come to the port, or the last one has gone. */
	void (*set_dm)(void *fabric, void *port, bool on);
};

/* dir: the fabric's directory, absolute; the loop serves its descriptors. Returns 0, or a negative errno with a sentence in
 * why. */
int attachments_open(struct attachments **ret, struct loop *loop, const char *dir, const struct attachments_ops *ops,
		     void *fabric, char why[ATT_WHY_MAX]);
/* Ends all attachments and removes the files. */
void attachments_close(struct attachments *a);

/* Frees attachments that have ended. Called from the loop's owner, when no function of the loop is under way. */
void attachments_settle(struct attachments *a);

/*
 * A MAD has come to the port; `from` is its source. AGENTS_ANSWER: mad is now the answer, which the caller sends back
 * to `from`. A full socket drops the MAD.
 */
enum agents_outcome attachments_deliver(struct attachments *a, void *port, unsigned qpn, const struct att_addr *from,
					uint8_t mad[ATT_MAD_LENGTH]);
/* Sends the port's description to the processes that are attached to it, with these events (enum att_event). With
 * ATT_NODE_GONE its attachments end, and the slot is empty. */
void attachments_changed(struct attachments *a, void *port, uint32_t events);

/* True while a subnet manager has the port. */
bool attachments_is_sm(const struct attachments *a, void *port);
/* MADs dropped at the port because no agent was there, or because its process did not read. */
uint64_t attachments_dropped(const struct attachments *a, void *port);
/* The same for all ports, removed ones included. */
uint64_t attachments_lost(const struct attachments *a);

/* One line for each attachment: process, node, port, agents. */
void attachments_print(const struct attachments *a, FILE *to);

#endif

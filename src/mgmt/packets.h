/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The adapters of a fabric: the processes that have one at an end port of the model, and how their packets find each
 * other. A pure part of the fabric process: messages of link/fabric/packets.h go in and out, by the model's routes.
 *
 *	TRAIN from a process --> each packet by its LRH:
 *	    source LID                   one of the port's, else dropped
 *	    unicast DLID                 fab_route(): state of each link, tables, P_Key, SL to VL; then the MTU
 *	    multicast DLID               fab_multicast(), and the sender's own port; members of the GRH's group
 *	    at the end port, by QPN      the process whose slot it names; QP1: connection management by the slot in the
 *	                                 communication ID, requests to any process; other classes to the model
 *
 * A route is kept while the model's generation stands, and the ports that it passes count each packet.
 *
 * With is_hopping there are no routes: a packet that leaves its port goes through the switches by itself (hop.h), in
 * pks_run(), and other ways than this one are refused. Loopback and MADs to QP1 are as before.
 */
#ifndef MGMT_PACKETS_H
#define MGMT_PACKETS_H

#include "link/fabric/packets.h"
#include "mgmt/addresses.h"
#include "mgmt/carry.h"
#include "mgmt/fabric.h"
#include "mgmt/hop.h"
#include "mgmt/tallied.h"
#include "util/idtab.h"
#include "util/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define PKS_NO_SLOT 0xffffu
#define PKS_ROUTES 16u  /* kept for a process; a power of two */
#define PKS_GROUPS_MAX 4096u /* of a process */

struct pks_process;

struct pks_ops {
	/* Sends a message to a process. Returns false if it does not read: the message is lost. */
	bool (*send)(void *ctx, struct pks_process *p, const struct iovec *iov, int n);
	/* The port of the process is full: no message of it shall be read; or it has room again. Of a fabric that is_hopping. */
	void (*pause)(void *ctx, struct pks_process *p, bool on);
	/* A packet of this process was sent to another one in pks_run(), not in pks_receive(). */
	void (*sent_for)(void *ctx, struct pks_process *p);
	/* A packet, LRH to ICRC, leaves by the trunk of this port. NULL: it is lost. */
	void (*depart)(void *ctx, struct fab_port *trunk, const uint8_t *packet, size_t len);
};

/* An end port of the model that has processes. */
struct pks_port {
	struct fab_port *port;
	struct ut_list processes;
	struct pks_process *slots[PKT_SLOTS];
	struct pks_process *turn; /* gets the next request that names no process */
};

struct pks_kept {
	uint64_t generation;      /* 0: empty */
	uint16_t dlid, pkey;
	uint8_t sl;
	struct fab_route route;
};

/* Why packets of a process did not arrive; all of it for `dapple fabric show`. */
struct pks_counts {
	uint64_t packets, bytes;
	uint64_t malformed;       /* LRH or GRH that contradict the length */
	uint64_t forged;          /* another source LID than the port's */
	uint64_t unrouted;        /* the model refuses */
	uint64_t too_long;        /* for a link of the path */
	uint64_t no_process;      /* none at the destination has the QPN */
	uint64_t lost;            /* the destination does not read */
};

/* A process with an adapter, embedded in an object of the caller. */
struct pks_process {
	struct ut_list node;      /* pks_port.processes */
	struct pks *pks;
	struct pks_port *at;      /* NULL: none yet, or its node was removed */
	unsigned slot;            /* PKS_NO_SLOT before SLOT */
	uint8_t (*groups)[16];
	uint32_t n_groups, cap;
	struct pks_counts counts;
	struct tallied tallied;   /* what its adapter says that goes by memory */
	struct pks_kept kept[PKS_ROUTES];
	/* Packets that have come hop by hop in this pks_run(), for one message. */
	struct ut_list waiting;   /* pks.waiting while there are some */
	uint8_t *train;           /* NULL: none has ever come */
	uint32_t train_len, train_packets;
	uint16_t train_seg;
	struct pks_process *train_from; /* sender of the last one; NULL: it is gone */
};

struct pks {
	struct fab *fabric;
	const struct pks_ops *ops;
	void *ctx;
	struct hop *hop;          /* NULL: by routes */
	uint64_t now;             /* ns; of the last pks_run() */
	struct ut_list waiting;   /* processes for which packets wait */
	struct ut_idtab ports;    /* struct pks_port, by number of node and port; those with processes */
	struct pks_process stranger; /* has sent what comes over trunks; it is on no list */
	struct addr_far far;
};

/* Returns 0 or -ENOMEM. */
int pks_init(struct pks *s, struct fab *f, const struct pks_ops *ops, void *ctx, bool is_hopping);
/* All processes have been removed. */
void pks_fini(struct pks *s);

/* A process has come to an end port. Returns 0 or -ENOMEM; pks_remove() undoes it. */
int pks_add(struct pks *s, struct fab_port *port, struct pks_process *p);
void pks_remove(struct pks_process *p);
/* The port's node is about to be removed. Calls gone(ctx, process) for its processes, each of which may be removed there. */
void pks_port_gone(struct pks *s, struct fab_port *port, void (*gone)(void *ctx, struct pks_process *p));

/* Sets the time, and moves packets that are under way. */
void pks_run(struct pks *s, uint64_t now);
/* Returns when the next packet moves, in ns, or UT_NEVER. */
uint64_t pks_next(const struct pks *s);

/* Ports count what the processes' tallies have more than at the last time. */
void pks_tally(struct pks *s);
/* A message of the process. Returns 0, or -EPROTO: the process must be removed. */
int pks_receive(struct pks_process *p, const void *msg, size_t len);
/* A packet, LRH to ICRC, has come by this port, over a trunk. */
void pks_arrive(struct pks *s, struct fab_port *at, const uint8_t *packet, size_t len);
/* A datagram for QP1 that the model's agents have not consumed: connection management of another fabric process. Returns
 * true if a process of the port got it. */
bool pks_deliver(struct pks *s, struct fab_port *port, const struct mad *m);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of a fabric link. The owner's progress lock guards all of it but `sleeping`.
 *
 * No wake-up is lost: the data socket, mailboxes, services and the timer are in the host's epoll set, level-triggered,
 * on which a thread that drives the adapter sleeps. What recv() leaves unread stays readable there, and a polling
 * thread looks at the set every few calls (rx.c).
 */
#ifndef LINK_FABRIC_STATE_H
#define LINK_FABRIC_STATE_H

#include "host/host.h"
#include "link/fabric/fabric.h"
#include "link/fabric/packets.h"
#include "link/fabric/routes.h"
#include "link/fabric/tally.h"
#include "util/list.h"

#include <stdatomic.h>

#define FABRIC_RX_SLOTS 8u
#define FABRIC_RX_SLOT_BYTES 69632u /* a train with its head, on whole pages */
#define FABRIC_SPARE_BYTES (2 * 65536u)

/* A claim at an address of the owner. All addresses of a port share the host's claim of a service. */
struct fabric_claim {
	struct ut_list node;
	uint8_t addr[16];
	uint64_t service;
};

/* The rest of a message that the caller had no room for. */
struct fabric_carry {
	const uint8_t *at;
	size_t off;
	uint32_t left, step;
	uint16_t seg;
};

struct shm_channel;

struct fabric_link {
	struct link base;
	struct host host;
	struct shm_channel *chan;  /* NULL: all packets take the fabric process */
	struct fabric_routes routes;
	struct fabric_tally tally;
	struct host_addr at;       /* the port's one address; in host.addrs when it is claimed */
	struct host_port data, timer;
	char fabric[PKT_NAME_MAX]; /* its name */
	bool is_elsewhere;         /* the fabric process is in another network namespace */
	bool gone;                 /* the fabric process has ended */
	uint64_t full_since;       /* the data socket is full; 0: it is not */
	const struct pkt_page *page;
	struct ut_list claims;
	struct ut_stage stage;
	struct fabric_carry carry;
	unsigned rx_slot, empties, calls;
	unsigned warm;             /* the socket is asked directly for so many calls more */
	uint64_t looked;
	_Atomic bool sleeping;     /* a thread sleeps on the descriptor */
	struct fabric_stats stats;
	uint8_t record[PKT_TRAIN_BYTES]; /* that is being made */
};

static inline struct fabric_link *fabric_of(struct link *l)
{
	return ut_container(l, struct fabric_link, base);
}

/* tx.c, rx.c: slots of link_ops */
int fabric_send(struct link *l, const struct ut_flow *f, uint32_t qpn, const uint8_t *data, size_t len, size_t seg);
int fabric_pass_on(struct link *l, const struct link_rx *rx, uint64_t service);
int fabric_recv(struct link *l, struct link_rx *v, int max);
/* Sends a message without packets to the fabric process, waiting for room. Returns 0 or a negative errno. */
int fabric_tell(struct fabric_link *n, const struct pkt_message *m);
/* A message of the fabric process that is no train, at the start of the stage's place. */
void fabric_told(struct fabric_link *n, const struct pkt_message *m);

#endif

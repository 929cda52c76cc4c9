/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A network in memory under virtual time. Links opened on one sim_net send to
 * one another; each datagram arrives `delay` after the net's current time,
 * worse for wear as the rates say. Nothing here reads a clock or a random
 * source: the same seed and the same calls give the same run.
 *
 * The owner's loop:
 *	sim_net_deliver(net, now);             moves datagrams that are due to their receivers
 *	... recv(), protocol, send() ...
 *	now = min(sim_net_next(net), the protocols' deadlines);
 */
#ifndef TESTS_SUPPORT_SIMNET_H
#define TESTS_SUPPORT_SIMNET_H

#include "link/fault.h"
#include "link/link.h"

struct sim_net;

struct sim_config {
	struct link_fault_rates rates; /* rates.seed seeds the whole net */
	uint64_t delay;                /* ns from send to arrival */
	uint64_t jitter;               /* up to so many ns more: disorder */
	/* Receive buffer of each link in bytes; datagrams that do not fit are lost.
	 * 0 = 1 MiB. rx_window is half of it. */
	uint32_t rx_bytes;
	unsigned train_packets;        /* 0 = 64 */
	bool refuse; /* no link has the address: ECONNREFUSED comes back */
};

/* One datagram on its way from one link to one other (a copy per receiver for
 * a group). A hook may change flow, data, len (up to cap) and delay. */
struct sim_packet {
	uint64_t nr;              /* 0, 1, 2 ...: order of sending in this net */
	struct link *from, *to;
	struct ut_flow flow;
	uint16_t id;              /* IPv4 identification: place in its train */
	uint64_t delay;
	uint8_t *data;
	uint32_t len, cap;
};

/*
 * Says how many copies arrive: 0 = dropped, 1 = as usual. Called inside send(),
 * before the rates are applied to each copy. Must not call the net.
 */
typedef int sim_hook(void *arg, struct sim_packet *p);

struct sim_stats {
	uint64_t sent, arrived, lost, doubled, delayed, damaged, overflowed, unreachable;
};

/* 0 or -ENOMEM. */
int sim_net_open(const struct sim_config *cfg, struct sim_net **ret);
/* All links must be closed before. NULL is allowed. */
void sim_net_close(struct sim_net *net);
void sim_net_hook(struct sim_net *net, sim_hook *hook, void *arg);
void sim_net_rates(struct sim_net *net, const struct link_fault_rates *rates);
/* Sets the net's time (it never goes back) and moves the datagrams that are due. Returns how
 * many datagrams and error reports reached a receiver. */
int sim_net_deliver(struct sim_net *net, uint64_t now);
/* When the next datagram is due, or UT_NEVER (util/heap.h). */
uint64_t sim_net_next(const struct sim_net *net);
void sim_net_stats(const struct sim_net *net, struct sim_stats *ret);

/* A link with one address; more by add_addr. fd() is -1. 0 or -errno. */
int sim_link_open(struct sim_net *net, const uint8_t addr[16], struct link **ret);
/* The link is of InfiniBand and has 2^lmc LIDs from lid on; each LID leads to one link of its net. */
void sim_link_lids(struct link *l, uint16_t lid, uint8_t lmc);
/* Like sockets that are full: send() says -EAGAIN until it is taken back. */
void sim_link_block(struct link *l, bool blocked);
/* recv() has something now. */
bool sim_link_ready(const struct link *l);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages (host/shm/channel.h) between the hosts of a simulated world: real rings, in memory of the test.
 * They arrive at once; the switches below make them go wrong.
 */
#ifndef TESTS_SUPPORT_LOCALNET_H
#define TESTS_SUPPORT_LOCALNET_H

#include "host/shm/channel.h"
#include "host/shm/ring.h"
#include "support/simhost.h"

struct local_net {
	struct sim_world *w;
	struct local_host {
		struct shm_channel chan;
		struct shm_tx tx[SIM_HOSTS];
		struct shm_rx rx[SIM_HOSTS];
	} host[SIM_HOSTS];
	struct shm_page page;

	uint64_t asked_until;  /* the way is not known before */
	bool full;             /* no ring has room */
	unsigned apart;        /* hosts (1 << i) that are reached by datagrams only */
	unsigned gone;         /* processes that have died */
	unsigned deaths[SIM_HOSTS]; /* of these hosts' processes the host has not been told yet */
};

struct local_net *local_net_open(struct sim_world *w);
void local_net_close(struct local_net *n);
/* The channel of host i. */
struct shm_channel *local_net_join(struct local_net *n, int i);
/* The process of host j dies with the messages in its rings; another one that has its memory may have its slot by now. */
void local_net_die(struct local_net *n, int j, bool another);
/* A message of the test's own from host i to host j: the header and the bytes behind it. */
void local_net_inject(struct local_net *n, int i, int j, const void *header, const void *data,
		     uint32_t len);

#endif

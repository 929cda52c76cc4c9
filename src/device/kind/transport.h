/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The InfiniBand transport on a datagram link, with the shm channel within a host and the manager over QP1: what RoCE
 * and InfiniBand adapters have in common. Their kinds open the link, and say which addresses and which port it has.
 * dev.lock is held in every call unless stated otherwise.
 */
#ifndef DEVICE_KIND_TRANSPORT_H
#define DEVICE_KIND_TRANSPORT_H

#include "device/adapter.h"
#include "host/shm/channel.h"
#include "link/link.h"
#include "proto/ib/ibp.h"

#define DEV_RX_BATCH 64

struct gsi_rx;

/* How the addresses of endpoints stand for ports. Every slot is filled. */
struct dev_transport_ways {
	/* As of struct ibcm_carrier. */
	int (*way)(struct eng_dev *dev, const uint8_t local[16], const uint8_t remote[16], bool mad,
		   struct ibv_ah_attr *ret);
	int (*along)(struct eng_dev *dev, const uint8_t local[16], const uint8_t remote[16], const struct cm_path *path,
		     struct ibv_ah_attr *ah);
	int (*gid)(struct eng_dev *dev, const uint8_t addr[16], uint8_t ret[16]);
	/* A message has come: its src and dst become addresses of endpoints. Returns false if they have none. */
	bool (*came)(struct dev_adapter *a, struct gsi_rx *rx);
	bool (*same_host)(struct dev_adapter *a, const uint8_t addr[16]);
	/* Returns true if a connection record with this local address is of a process that shared that address of the
	 * link with this one. */
	bool (*has_record)(struct dev_adapter *a, const uint8_t record[16], const uint8_t shared[16]);
};

/* Of adapters whose addresses are GIDs and those of the link. */
extern const struct dev_transport_ways dev_transport_ways_gid;

/* What such an adapter consists of when it is wired, beside the transport's port (eng_dev.port) and the manager. */
struct dev_transport {
	struct link *link;
	struct link *fault;          /* it, once rules for packets have been given; else NULL */
	struct shm_channel *chan;    /* to the processes of this host */
	struct dev_records *records; /* connection records; NULL before the first connection */
	uint32_t mtu_max;            /* bytes */
	const struct dev_transport_ways *ways;
	struct link_rx rx[DEV_RX_BATCH];
};

static inline struct dev_transport *dev_transport_of(const struct dev_adapter *a)
{
	return a->parts;
}

/*
 * The end of dev_kind_row.wire: makes the transport on a link, which then belongs to the adapter. kind: mtu_max and what
 * else is the kind's own; link, channel, seed, credits and manager are set here. Returns 0, or -errno: the link is still
 * the caller's.
 */
int dev_transport_wire(struct dev_adapter *a, struct link *l, struct shm_channel *chan,
		       const struct dev_transport_ways *ways, const struct ibp_config *kind);

/* The machine, and slots of dev_kind_row. */
extern const struct dev_machine dev_transport_machine;
const struct eng_proto_ops *dev_transport_proto(void);
int dev_transport_fd(struct dev_adapter *a);
int dev_transport_start(struct dev_adapter *a);
void dev_transport_forget(struct dev_adapter *a);
unsigned dev_transport_faults(struct dev_adapter *a, struct link_rules *rules);
void dev_transport_observe(struct dev_adapter *a, struct obs_tap *t);
void dev_transport_leave(struct dev_adapter *a);
void dev_transport_unwire(struct dev_adapter *a);

/* Adds the counters of violations to the attributes of the port. Called from any thread, without dev.lock or with it. */
void dev_transport_violations(struct eng_dev *dev, struct ibv_port_attr *ret);

#define DEV_TRANSPORT_ROW                                                                          \
	DEV_DEFAULT_ROW, .machine = &dev_transport_machine, .proto = dev_transport_proto,          \
	.fd = dev_transport_fd, .start = dev_transport_start, .forget = dev_transport_forget,      \
	.leave = dev_transport_leave, .observe = dev_transport_observe,                            \
	.faults = dev_transport_faults,                                                            \
	.fault_acts = (LINK_ACTS_PACKET | LINK_ACTS_REQUEST | LINK_ACTS_QUEUE_PAIR | LINK_ACTS_CALL | LINK_ACTS_CONNECTION) & \
		      ~(1u << LINK_ACT_TERMINATE), \
	.unwire = dev_transport_unwire

#endif

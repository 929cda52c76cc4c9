/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The InfiniBand communication manager (IBTA volume 1, chapter 12): REQ, MRA,
 * REJ, REP, RTU, DREQ, DREP, SIDR, LAP/APR over MADs, with the RDMA IP CM
 * header (annex A11) in front of the private data of IP service IDs. A pure
 * machine: MADs and time in, MADs, events and the next deadline out.
 * dev->lock is held around every call.
 *
 * No operation raises an event itself: what follows from one comes out of the next
 * ibcm_run() or ibcm_receive(), and ibcm_deadline() is 0 until then. The carrier
 * must not deliver a MAD inside send().
 *
 * The upper bits of communication IDs and SIDR request IDs are those of the
 * process's QPNs (its slot), so that answers find the process.
 */
#ifndef CM_IBCM_IBCM_H
#define CM_IBCM_IBCM_H

#include "cm/cm.h"
#include "engine/wqe.h"
#include "proto/gsi.h"

/* What a DREQ needs to say; read by other processes, so of fixed size. Row of a table there. */
struct ibcm_record {
	uint8_t local[16], remote[16];
	uint64_t tid;
	uint32_t local_id; /* 0: no connection */
	uint32_t remote_id, remote_qpn;
	uint8_t tclass, pad[3];
};

/* What carries the MADs. Every slot is filled. */
struct ibcm_carrier {
	/*
	 * Addresses of endpoints are IP addresses, which on RoCE are GIDs as well and on InfiniBand stand for a port. Fills
	 * the address vector from one of the port's own addresses to a peer's but for flow label, hop limit and traffic
	 * class. mad: of messages between QP1s. Returns 0; -EADDRNOTAVAIL: the port has no such address; -EHOSTUNREACH.
	 * Default: ibcm_default_way.
	 */
	int (*way)(struct eng_dev *dev, const uint8_t local[16], const uint8_t remote[16], bool mad,
		   struct ibv_ah_attr *ret);
	/*
	 * Puts the LIDs and the SL of a path between the two addresses into a vector of way(). Returns 0; -EINVAL: a LID is
	 * not the port's that its address stands for; -EOPNOTSUPP: the link has no LIDs; the vector is unchanged then.
	 * Default: ibcm_default_along.
	 */
	int (*along)(struct eng_dev *dev, const uint8_t local[16], const uint8_t remote[16], const struct cm_path *path,
		     struct ibv_ah_attr *ah);
	/* Loads the alternate path of attr (alt_...) into the QP `qpn` that is connected to `peer`, and rearms it. Returns 0;
	 * -EALREADY: it is the QP's path; -ENOENT: no such QP; -EINVAL: its state or the path does not allow it. */
	int (*load)(struct eng_dev *dev, uint32_t qpn, uint32_t peer, const struct ibv_qp_attr *attr);
	/* Writes the GID that messages name an address by. Returns 0 or -EHOSTUNREACH. Default: ibcm_default_gid. */
	int (*gid)(struct eng_dev *dev, const uint8_t addr[16], uint8_t ret[16]);
	/* As ibp_gsi_send(). */
	int (*send)(struct eng_dev *dev, const struct eng_av *av,
		    const uint8_t mad[WIRE_MAD_BYTES]);
	/* As link_ops.claim, unclaim, pass_on. */
	int (*claim)(struct eng_dev *dev, const uint8_t addr[16], uint64_t service);
	void (*unclaim)(struct eng_dev *dev, const uint8_t addr[16], uint64_t service);
	int (*pass_on)(struct eng_dev *dev, const struct gsi_rx *rx, uint64_t service);
	/* Of the QP `qpn` that is connected to `peer`: 1, something of the peer has come
	 * after `since`; else the peer was asked for a sign of life, or (negative) cannot be. */
	int (*probe)(struct eng_dev *dev, uint32_t qpn, uint32_t peer, uint64_t since);
	/* A connection that others shall end if this process dies: its number until untie,
	 * or negative: there is no room. */
	int (*record)(struct eng_dev *dev, const struct ibcm_record *t);
	void (*untie)(struct eng_dev *dev, int number);
	/* Whether this host has the address itself. Processes of Dapple are at both ends then. */
	bool (*same_host)(struct eng_dev *dev, const uint8_t addr[16]);
	/* The peer of that QP is no more. */
	void (*gone)(struct eng_dev *dev, uint32_t qpn, uint32_t peer);
};

struct ibcm_config {
	const struct ibcm_carrier *carrier;
	uint64_t seed;
	uint64_t ca_guid;        /* host order */
	uint32_t mtu_max;        /* bytes: path MTU offered in REQ */
	uint16_t port_min, port_max; /* ephemeral range, inclusive */
	uint16_t port_privileged; /* below it bind is -EACCES (0 = none) */
	uint64_t probe_ns;       /* silence of a connection until its peer is asked; 0 = never */
};

/* Of carriers whose addresses are GIDs. */
int ibcm_default_way(struct eng_dev *dev, const uint8_t local[16], const uint8_t remote[16], bool mad,
		     struct ibv_ah_attr *ret);
int ibcm_default_along(struct eng_dev *dev, const uint8_t local[16], const uint8_t remote[16], const struct cm_path *path,
		       struct ibv_ah_attr *ah);
int ibcm_default_gid(struct eng_dev *dev, const uint8_t addr[16], uint8_t ret[16]);

/* Makes ret a port of this manager; dev->qpn_fixed / qpn_mask are set already.
 * 0 or -ENOMEM. */
int ibcm_init(struct cm_port *ret, struct eng_dev *dev, const struct ibcm_config *cfg);
/* The process exits, maybe with other threads still in calls: sends DREQ for what is connected
 * and REJ for what is half open, without waiting. To other hosts two copies follow of each last message, also of
 * a DREP that left shortly before. Nothing is freed, no up-call. */
void ibcm_leave(struct cm_port *p);
/* The same, and frees all endpoints. */
void ibcm_fini(struct cm_port *p);

void ibcm_receive(struct cm_port *p, const struct gsi_rx *rx, uint64_t now);
/* ICMP reports that the UDP port of this address is closed: requests to it fail now, connections
 * at the second report. */
void ibcm_unreachable(struct cm_port *p, const uint8_t dst[16], int error, uint64_t now);
/* A connection of another process on one of our addresses that has died: its peer gets the
 * DREQ. False: it says nothing sensible. */
bool ibcm_disconnect_dead(struct cm_port *p, const struct ibcm_record *t, uint64_t now);
/* Timers and up-calls. Returns the number of things done. */
int ibcm_run(struct cm_port *p, uint64_t now);

/* Begins struct ibcm, so that a round asks without a call whether ibcm_run() has anything to do. */
struct ibcm_timing {
	uint64_t due; /* when it has, at the earliest */
};
static inline uint64_t ibcm_deadline(const struct cm_port *p)
{
	return ((const struct ibcm_timing *)p->manager)->due;
}

#endif

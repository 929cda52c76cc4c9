/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The port of an adapter: what the subnet manager, or the host of an Ethernet link, has set in it (IBTA
 * 14.2.5.6 PortInfo), and its tables of GIDs and P_Keys. Every adapter has one port, number ENG_PORT_NUM.
 *
 * Entries of the tables keep their index while they live, since applications, address vectors and queue
 * pairs name them by it.
 */
#ifndef ENGINE_PORT_H
#define ENGINE_PORT_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct eng_dev;

#define ENG_PORT_NUM 1
#define ENG_GIDS_MAX 128
#define ENG_PKEYS_MAX 128
#define ENG_PKEY_DEFAULT 0xffffu /* full member of the default partition (IBTA 10.9.1.2) */

struct eng_gid {
	union ibv_gid gid;
	uint32_t ifindex;
	enum ibv_gid_type type;
	bool valid;
};

struct eng_port {
	uint8_t link_layer; /* IBV_LINK_LAYER_*; fixed after creation, like the lengths of the tables */
	uint8_t n_pkeys;
	uint16_t n_gids;
	/* On Ethernet the device room asks the system instead, see eng_dev_ops.query_port. */
	uint8_t state, phys_state;     /* enum ibv_port_state; IBTA 14.2.5.6 */
	uint8_t max_mtu, active_mtu;   /* enum ibv_mtu */
	uint8_t active_width, active_speed;
	/* 0 on Ethernet. */
	uint8_t lmc, sm_sl;
	uint16_t lid, sm_lid;
	uint64_t subnet_prefix; /* host order */
	uint16_t pkeys[ENG_PKEYS_MAX]; /* 0x7fff bits of 0: an empty entry */
	struct eng_gid gids[ENG_GIDS_MAX];
};

/* An Ethernet port that is down, with one P_Key, the default one, and a GID table of full length. */
void eng_port_init(struct eng_port *p);

static inline bool eng_port_is(unsigned num)
{
	return num == ENG_PORT_NUM;
}

/*
 * The port now. Returns 0 or a negative errno. Called from any thread, also with dev->lock held: a LID
 * that changes meanwhile is the old or the new one.
 */
int eng_port_query(struct eng_dev *dev, struct ibv_port_attr *ret);

/* Returns the P_Key at this index, or 0 if there is none. Called from any thread. */
uint16_t eng_port_pkey(const struct eng_dev *dev, unsigned index);
/* Returns the index of exactly this P_Key, or -ENOENT. Called from any thread. */
int eng_port_pkey_index(const struct eng_dev *dev, uint16_t pkey);
/* True if a packet with this P_Key may reach the queue pairs of the port that have any (QP1). */
bool eng_port_admits_pkey(const struct eng_dev *dev, uint16_t pkey);

/* IBTA 10.9.3: the same partition, and at least one of the two is a full member. */
static inline bool eng_pkey_matches(uint16_t a, uint16_t b)
{
	return !((a ^ b) & 0x7fff) && (a | b) & 0x8000 && (a & 0x7fff);
}

#endif

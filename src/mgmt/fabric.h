/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The soft fabric: a graph of nodes (channel adapters, switches, routers), their ports, and links between pairs of
 * ports. A pure model: no socket, clock or thread. MADs, time and commands come in by calls; MADs for programs,
 * changes of ports and the next deadline go out.
 *
 *      fab_send(port, mad) --> carry.c: hop by hop over links, through switches (switch.c) or along the
 *                              directed route (smp.c); every port passed counts (pma.c)
 *                                |
 *                arrival at an end port or a switch's port 0
 *                    SMA (sma.c) or PMA (pma.c) answers: the response travels back the same way
 *                    anything else: ops->deliver(port, mad), to the programs attached to that port
 *
 * Attributes live as the bytes that the SMA answers with (PortInfo, SwitchInfo), read and written by rows of
 * wire/smp_fields.h: there is one copy of each value. All calls of one fabric come from one thread. The upcalls
 * may call fab_send() and the readers, but may not add or remove nodes.
 */
#ifndef MGMT_FABRIC_H
#define MGMT_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mgmt/mad.h"
#include "mgmt/pma_counters.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/rng.h"
#include "wire/smp_fields.h"

#define FAB_NAME_MAX 63		/* NodeDescription has 64 bytes (IBTA 14.2.5.2); processes name a node by a text with its NUL */
#define FAB_PORTS_MAX 254	/* of a node, port 0 of switches not counted (IBTA 4.1.4) */
#define FAB_HOPS_MAX 63		/* of a directed route (IBTA 14.2.1.2); LID-routed packets end there as well */
#define FAB_NODES_MAX 65536u
#define FAB_GUIDS 32u		/* entries of the GUID table of an end port */
#define FAB_PKEYS_CA 32u	/* entries of the P_Key table of an end port */
#define FAB_PKEYS_SWITCH 32u	/* of an external port of a switch */

enum fab_node_type { FAB_CA = 1, FAB_SWITCH = 2, FAB_ROUTER = 3 };	/* NodeInfo.NodeType */

/* PortInfo.PortState and PortPhysicalState (IBTA 14.2.5.6). */
enum fab_port_state { FAB_NOP = 0, FAB_DOWN = 1, FAB_INIT = 2, FAB_ARMED = 3, FAB_ACTIVE = 4 };
enum fab_phys_state { FAB_SLEEP = 1, FAB_POLLING = 2, FAB_DISABLED = 3, FAB_TRAINING = 4, FAB_LINK_UP = 5 };

/* Bits of PortInfo.CapabilityMask (IBTA 14.2.5.6), host order. */
enum {
	FAB_CAP_SM = 1 << 1,
	FAB_CAP_NOTICE = 1 << 2,
	FAB_CAP_TRAP = 1 << 3,
	FAB_CAP_MIGRATION = 1 << 5,
	FAB_CAP_SL_MAP = 1 << 6,
	FAB_CAP_SM_DISABLED = 1 << 10,
	FAB_CAP_SYS_GUID = 1 << 11,
	FAB_CAP_EXT_SPEEDS = 1 << 14,
	FAB_CAP_MASK2 = 1 << 15,
	FAB_CAP_CM = 1 << 16,
	FAB_CAP_DEV_MGT = 1 << 19,
	FAB_CAP_VENDOR = 1 << 20,
	FAB_CAP_CAP_NOTICE = 1 << 22,
	FAB_CAP_REREGISTER = 1 << 25,
	FAB_CAP_OTHER_NOTICE = 1 << 26,
	FAB_CAP_MCAST_TOP = 1 << 30,
};

/* What ops->changed() reports of a port; each is an asynchronous event of verbs. */
enum {
	FAB_CHANGED_STATE = 1,		/* PortState: ACTIVE or not */
	FAB_CHANGED_LID = 2,		/* LID or LMC */
	FAB_CHANGED_SM = 4,		/* MasterSMLID or its SL */
	FAB_CHANGED_PKEYS = 8,
	FAB_CHANGED_GIDS = 16,		/* GUID table or subnet prefix */
	FAB_CHANGED_REREGISTER = 32,	/* the SM asks clients to subscribe and join again */
	FAB_CHANGED_INFO = 64,		/* any other value: width, speed, MTU, capabilities, timeouts */
};

struct fab;
struct fab_timer;
struct fab_node;
struct fab_port;

struct fab_ops {
	/* A MAD arrived at an end port (or port 0 of a switch) and neither SMA nor PMA consumed it: it is for a
	 * program. `mad` is valid during the call. Default: dropped. */
	void (*deliver)(void *ctx, struct fab_port *port, const struct mad *mad);
	/* Values of an end port (or port 0) have changed: FAB_CHANGED_*. Default: nothing. */
	void (*changed)(void *ctx, struct fab_port *port, unsigned what);
	/* A packet leaves by a port whose link is a trunk to another fabric process. Default: dropped. */
	void (*depart)(void *ctx, struct fab_port *port, const struct mad *mad);
	/* A MAD leaves a port over its link; errors of the link come behind it. Default: nothing. */
	void (*crossed)(void *ctx, const struct fab_port *out, const struct mad *mad);
	/* The same of a data packet that travels hop by hop (hop.h), LRH to ICRC. Default: nothing. */
	void (*passed)(void *ctx, const struct fab_port *out, const uint8_t *bytes, size_t len);
	/* Counters of ports are asked for: data that has passed unseen is to be counted now. Default: nothing. */
	void (*tally)(void *ctx);
	/* State of a port whose link is a trunk has changed: the other end must learn it. Default: nothing. */
	void (*trunk_changed)(void *ctx, struct fab_port *port);
};

/* What fab_set_link_fault() does to packets that arrive at a port. */
struct fab_link_fault {
	uint32_t errors_ppm;	/* packets that are damaged and dropped: SymbolErrors, PortRcvErrors */
};

/* A deadline of the model; due() is called by fab_run(). */
struct fab_timer {
	struct ut_timer at;
	void (*due)(struct fab *f, struct fab_timer *t);
};

struct fab_partition_table {
	uint16_t n;		/* entries, a multiple of 32 */
	uint16_t key[];		/* bit 15: full member; 0: empty */
};

struct fab_port {
	struct fab_node *node;
	struct fab_port *peer;		/* other end of the link, NULL: none or a trunk */
	uint8_t num;			/* 0: the management port of a switch */
	bool is_trunk;
	uint8_t trunk;			/* number of the trunk link */
	bool far_up;			/* trunk: the far port is enabled and reachable */
	bool is_cut;			/* `dapple fabric link ... down`: the cable is out */
	uint8_t info[WIRE_PORT_INFO_LEN];	/* PortInfo as answered; M_Key in the clear */
	uint8_t far_info[4];		/* trunk: width enabled, speed enabled, extended speed enabled, MTU capability */
	uint64_t guid;			/* end ports and port 0 */
	uint64_t *guids;		/* entries 1.. of GUIDInfo as written by the SM; NULL: all 0 */
	struct fab_partition_table *pkeys;	/* NULL until written: default partition in entry 0 of end ports */
	uint8_t *sl_to_vl;		/* [input port of the switch, 0 for CAs] x 8 bytes; NULL: identity */
	uint8_t *vl_arb;		/* low and high table, 2 x 64 x 2 bytes; NULL: equal weights */
	struct fab_link_fault fault;
	struct fab_timer lease;		/* of the M_Key (IBTA 14.2.4.2) */
	struct fab_samples *samples;	/* PortSamplesControl; NULL: never set */
	struct fab_counters count;
	struct hop_port *hop;		/* queues of data packets (hop.h); NULL: none have waited here */
	void *user;			/* of the fabric process: attachments */
};

struct fab_node {
	struct fab *fabric;
	struct ut_list link;		/* in fab.nodes, in order of creation */
	uint32_t index;			/* of creation, never used again while the fabric lives */
	uint8_t type;			/* enum fab_node_type */
	uint8_t n_ports;		/* external ports */
	char name[FAB_NAME_MAX + 1];	/* unique in the fabric */
	uint8_t description[WIRE_NODE_DESC_LEN];
	uint64_t guid, system_guid;
	uint32_t vendor, device, revision;
	struct fab_switch *sw;		/* of switches (switch.h), else NULL */
	struct fab_traps *traps;	/* notices that wait for their TrapRepress (trap.h); NULL: none yet */
	struct fab_port *ports;		/* [0 .. n_ports]; [0] is used by switches only */
};

struct fab {
	const struct fab_ops *ops;
	void *ctx;
	uint64_t now;			/* ns; of the last fab_run() */
	uint64_t generation;		/* moves with each change of tables, links, keys or LIDs */
	uint64_t mads, dropped;		/* MADs carried to an end; dropped on the way */
	uint64_t sm_set;		/* Sets of the SMA, for tests and the progress of `up` */
	struct ut_list nodes;
	uint32_t n_nodes, next_index;
	struct ut_heap timers;
	uint32_t region;		/* of addresses: see addr_of(); 0 without trunks */
	uint32_t spread_left;		/* links that the multicast packet under way may still cross */
	struct ut_rng rng;		/* link faults */
	struct fab_table *by_name, *by_guid;
};

/* --- life --- */

/* Makes an empty fabric. ops may be NULL: all defaults. Returns NULL if there is no memory. */
struct fab *fab_new(const struct fab_ops *ops, void *ctx, uint64_t seed);
/* Frees it with all nodes. */
void fab_free(struct fab *f);

/* Sets the time of what follows and runs what is due: leases, repeated traps, samples. */
void fab_run(struct fab *f, uint64_t now);
/* Returns the next deadline in ns, or UT_NEVER. */
uint64_t fab_next(const struct fab *f);

/* --- nodes and links --- */

struct fab_node_spec {
	const char *name;		/* 1 to 64 printable characters, unique */
	const char *description;	/* NULL: the name */
	enum fab_node_type type;
	unsigned n_ports;		/* 1 to FAB_PORTS_MAX; CAs and routers: at most 2 if OpenSM shall run there */
	uint64_t guid;			/* 0: made from the name */
	uint64_t system_guid;		/* 0: the node's */
	uint64_t port_guid;		/* first port of a CA, the others follow; 0: node GUID + 1 */
	uint32_t vendor, device, revision;
};

/* Adds a node, all its ports down. Returns 0, -EEXIST (name or GUID taken), -EINVAL, -ENOSPC or -ENOMEM. */
int fab_node_add(struct fab *f, const struct fab_node_spec *spec, struct fab_node **ret);
/* Takes its links away and frees it. The caller has taken care of port->user. */
void fab_node_remove(struct fab_node *n);

/* Returns NULL if there is none. By name: the node's name, a GUID in hex (0x...), or ibnetdiscover's H-, S-, R-. */
struct fab_node *fab_node_by_name(const struct fab *f, const char *name);
struct fab_node *fab_node_by_guid(const struct fab *f, uint64_t guid);
/* Returns the port, or NULL if the number is not one of the node's. */
struct fab_port *fab_node_port(const struct fab_node *n, unsigned num);
/* Returns the end port with this port GUID, or NULL. */
struct fab_port *fab_port_by_guid(const struct fab *f, uint64_t guid);

/* Gives an end port another port GUID. Returns 0, -EEXIST or -ENOMEM. */
int fab_port_set_guid(struct fab_port *p, uint64_t guid);

/* A new NodeDescription, cut to 64 bytes: notice 144 tells the SM. */
void fab_node_describe(struct fab_node *n, const char *text);

/* Another SystemImageGUID: notice 145 tells the SM. Does nothing if it is the node's already. */
void fab_node_set_image(struct fab_node *n, uint64_t system_guid);

/* Joins two ports. Returns 0, -EBUSY (one has a link), -EINVAL (port 0, or the same port). */
int fab_link(struct fab_port *a, struct fab_port *b);
/* Takes the link of the port away, trunk or not. Does nothing if there is none. */
void fab_unlink(struct fab_port *p);

/* --- what programs see of a port; live values --- */

static inline unsigned fab_port_state(const struct fab_port *p)
{
	return (unsigned)wire_get_PORT_INFO_port_state(p->info);
}
static inline uint16_t fab_port_lid(const struct fab_port *p)
{
	return (uint16_t)wire_get_PORT_INFO_lid(p->info);
}
static inline unsigned fab_port_lmc(const struct fab_port *p)
{
	return (unsigned)wire_get_PORT_INFO_lmc(p->info);
}
/* The port that has identity (LID, GID, SM) for this one: itself, or port 0 of its switch. */
struct fab_port *fab_port_base(struct fab_port *p);
/* True for ports of CAs and routers, and for port 0 of switches. */
bool fab_port_is_end(const struct fab_port *p);
/* Entry of the GUID table; [0] is the port GUID. 0 beyond its end. */
uint64_t fab_port_guid(const struct fab_port *p, unsigned index);
unsigned fab_port_n_guids(const struct fab_port *p);
/* Entry of the P_Key table, 0 if empty or beyond its end. */
uint16_t fab_port_pkey(const struct fab_port *p, unsigned index);
unsigned fab_port_n_pkeys(const struct fab_port *p);
/* Rate of the link in units of 0.1 Gb/s by active width and speed (25: 1X SDR, 100: 4X SDR); 0 if down. */
unsigned fab_port_rate(const struct fab_port *p);
/* Sets or clears IsSM in the capability mask, with notice 144: the issm file of the port is open. */
void fab_port_set_is_sm(struct fab_port *p, bool is_sm);
/* Sets and clears bits of the capability mask, with notice 144 if it changes (device management, CM...). */
void fab_port_set_capabilities(struct fab_port *p, uint32_t set, uint32_t clear);

/* Used inside the room: reports a change, moves the generation. */
void fab_changed(struct fab_port *p, unsigned what);
void fab_touch(struct fab *f);

void fab_timer_set(struct fab *f, struct fab_timer *t, uint64_t at);
void fab_timer_clear(struct fab *f, struct fab_timer *t);

#endif

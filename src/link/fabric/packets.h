/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The wire between a fabric process and the InfiniBand adapter of a process at one of its nodes: messages on a
 * SOCK_SEQPACKET socket `data` in the fabric's 0700 directory. Each end asks the kernel for the other one's uid,
 * which must be its own.
 *
 *	adapter                                fabric process
 *	HELLO  node, port                ->             may bring the descriptor of a struct pkt_tally
 *	                                 <-    WELCOME  instance, GUID of the port, generation page; or a refusal
 *	SLOT   upper bits of its QPNs    ->             from here on packets for them come
 *	TRAIN  packets                   ->             to the port of their DLID, each by its route
 *	                                 <-    TRAIN    packets from other ports
 *	JOIN, LEAVE  group               ->             packets to the group come, or no longer come
 *	ROUTE  LIDs, SL, P_Key           ->             both ports are in the partition too
 *	                                 <-    ROUTED   verdict, MTU, GUID of the port at its end
 *	COUNT  group, slot               ->
 *	                                 <-    COUNTED  processes of the port in the group, without that slot
 *	FIND   IPv4 address, or GUID     ->
 *	                                 <-    FOUND    the port that has it, and those with the next addresses
 *	                                 <-    MEMBERS  another process has come to the port, or left it
 *
 * A connection may begin with ASK_SOCKET in place of HELLO: a node may have a network namespace of its own, and names of
 * abstract sockets (host/) are those of one. All processes of a fabric have them in the fabric process's:
 *
 *	ASK_SOCKET  kind                 ->
 *	                                 <-    MADE     with the descriptor of a socket; the connection ends
 *
 * A train has packets from LRH to ICRC; all but the last have `seg` bytes. VCRCs are left out, since nothing on this
 * way damages bytes. Senders to a process that reads slowly are held (tools/fabric/adapters.h).
 *
 * Numbers are in host order, except those of the packets. A message is checked as a whole before it is used
 * (pkt_parse()): the other end may be another build, or hostile. Bytes named rsv are zero.
 */
#ifndef LINK_FABRIC_PACKETS_H
#define LINK_FABRIC_PACKETS_H

#include "link/count.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PKT_MAGIC 0x4450466bu
#define PKT_VERSION 5
#define PKT_SOCKET "data"       /* in the fabric's directory */
#define PKT_NAME_MAX 64         /* of a node, with the final NUL */
#define PKT_WHY_MAX 240
#define PKT_TRAIN_PACKETS 64u
#define PKT_TRAIN_BYTES 65000u  /* of packets in one message */
#define PKT_SLOTS 255u          /* slot 255 would hold QPN 0xffffff, which means multicast */
#define PKT_SLOT_SHIFT 16       /* of the slot in a QPN */
#define PKT_IP_FIRST 0xc6120000u /* 198.18.0.0/15: addresses of ports (RFC 2544) */
#define PKT_CM_SLOT_SHIFT 24    /* of the slot in a communication ID */

enum pkt_type {
	PKT_HELLO = 1,
	PKT_WELCOME,
	PKT_SLOT,
	PKT_TRAIN,
	PKT_JOIN,
	PKT_LEAVE,
	PKT_ROUTE,
	PKT_ROUTED,
	PKT_MEMBERS,
	PKT_FIND,
	PKT_FOUND,
	PKT_COUNT,
	PKT_COUNTED,
	PKT_ASK_SOCKET,
	PKT_MADE,
	PKT_TYPES
};

struct pkt_head {
	uint32_t magic;
	uint16_t type;          /* enum pkt_type */
	uint16_t seg;           /* TRAIN: bytes of a packet */
};

struct pkt_hello {
	uint32_t version;
	uint8_t port, rsv[3];
	char node[PKT_NAME_MAX];
};

/* With the descriptor of the generation page, if err is 0. */
struct pkt_welcome {
	int32_t err;            /* 0, or a negative errno: then only `why` counts */
	uint32_t rsv;
	uint64_t instance;      /* random, of this run of the fabric process */
	uint64_t guid;          /* of the port */
	uint64_t net;           /* inode of the fabric process's network namespace; 0: not known */
	char why[PKT_WHY_MAX];  /* sentence */
};

struct pkt_slot {
	uint32_t slot, rsv;
};

struct pkt_group {
	uint8_t mgid[16];
};

struct pkt_route {
	uint64_t number;        /* comes back in ROUTED */
	uint16_t slid, dlid, pkey;
	uint8_t sl, rsv;
};

struct pkt_routed {
	uint64_t number, generation;
	uint64_t guid;          /* of the port that has the DLID */
	uint32_t mtu;           /* of the path, bytes */
	uint32_t verdict;       /* 0: packets pass */
};

/* ip 0: by GUID. */
struct pkt_find {
	uint32_t ip, rsv;       /* host order */
	uint64_t guid;
};

struct pkt_peer {
	uint32_t ip;
	uint16_t lid, lmc;
	uint64_t guid;          /* 0: there is none */
	uint64_t prefix;
};

/* [0] is the answer. A program that asks for one address of a cluster soon asks for the others: the rest are the hosts that were
 * made next, as many as there are. */
#define PKT_PEERS 32u
struct pkt_found {
	struct pkt_peer v[PKT_PEERS];
};

struct pkt_count {
	uint8_t mgid[16];
	uint32_t slot, rsv;
};

struct pkt_counted {
	uint32_t n, rsv;
};

enum pkt_socket_kind {
	PKT_SOCKET_MAIL = 1,    /* unix(7), datagrams */
	PKT_SOCKET_OWNERS,      /* sock_diag(7) */
};

struct pkt_ask_socket {
	uint32_t version;
	uint32_t kind;          /* enum pkt_socket_kind */
};

/* With the descriptor, if err is 0. */
struct pkt_made {
	int32_t err;            /* 0 or a negative errno */
	uint32_t uid;           /* of the user, as the fabric process's user namespace has it */
};

struct pkt_message {
	struct pkt_head head;
	union {
		struct pkt_hello hello;
		struct pkt_welcome welcome;
		struct pkt_slot slot;
		struct pkt_group group;
		struct pkt_route route;
		struct pkt_routed routed;
		struct pkt_find find;
		struct pkt_found found;
		struct pkt_count count;
		struct pkt_counted counted;
		struct pkt_ask_socket ask_socket;
		struct pkt_made made;
	} u;
};

/* What the page of WELCOME holds; only the fabric process writes. */
struct pkt_page {
	_Atomic uint64_t generation; /* moves with each change of tables, links, LIDs and keys */
};

/* Packets for which messages through shared memory stand, by flow: a sealed segment that only the adapter's process writes, and
 * the fabric process reads when counters of ports are asked for. Its descriptor comes with HELLO, or none. */
#define PKT_FLOWS 2048u
struct pkt_flow_count {
	_Atomic uint64_t flow;           /* pkt_flow() */
	struct link_count sum;
};
struct pkt_tally {
	_Atomic uint32_t n;              /* flows so far: their names stand */
	uint32_t rsv;
	struct pkt_flow_count v[PKT_FLOWS];
};

static inline uint64_t pkt_flow(uint16_t slid, uint16_t dlid, uint8_t sl)
{
	return (uint64_t)sl << 32 | (uint64_t)slid << 16 | dlid;
}

/* Returns the bytes of a message of this type; 0: no such type. Of TRAIN: those of the head. */
size_t pkt_length(enum pkt_type type);
/* Returns true if len bytes at m are a message of the direction: type, length, texts that end, a train that can be cut
 * into packets. What the packets hold is not checked. */
bool pkt_parse(const void *m, size_t len, bool from_fabric);
static inline struct pkt_head pkt_head(enum pkt_type type)
{
	return (struct pkt_head){ .magic = PKT_MAGIC, .type = (uint16_t)type };
}

#endif

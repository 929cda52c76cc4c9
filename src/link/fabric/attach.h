/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The wire between a fabric process and a process that is attached to one of its nodes, for management:
 * messages on a SOCK_SEQPACKET socket `attach` in the fabric's 0700 directory, <runtime dir>/fabric/NAME. Each end
 * asks the kernel for the other one's uid, which must be its own.
 *
 *	attached process                       fabric process
 *	HELLO  node, port                ->
 *	                                 <-    WELCOME  the node, or the sentence of a refusal
 *	                                 <-    PORT     one for each port that the hello has named
 *	REGISTER  agent                  ->
 *	                                 <-    REGISTERED  upper half of its transaction IDs, or an errno
 *	MAD                              ->             leaves by QP0 or QP1 of the port
 *	                                 <-    MAD      for an agent
 *	                                 <-    PORT     whenever the port has changed
 *	ISSM                             ->
 *	                                 <-    ISSM     path of the file that a subnet manager keeps open
 *	VIEW                             ->
 *	                                 <-    VIEW     path of the stand-in for /sys and /dev of the node
 *	UNREGISTER  agent                ->
 *	                                 <-    REGISTERED  the agent is gone: another one may have its methods
 *	end of either socket: all agents of the attachment are gone; the fabric is gone
 *
 * Agents and their method masks stand in the fabric process (mgmt/agents.h); timeouts, retries and RMPP in the
 * attached one. A MAD for a process that does not read is dropped and counted, as by an adapter without receives;
 * a PORT message is not lost: the newest one is sent when there is room, with the events of all.
 *
 * Numbers are in host order: both ends run on one host. Bytes named rsv are zero. A message is checked as a whole
 * before it is used (att_parse()): the other end may be another build, or hostile.
 */
#ifndef LINK_FABRIC_ATTACH_H
#define LINK_FABRIC_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ATT_MAGIC 0x44504661u
#define ATT_VERSION 1
#define ATT_SOCKET "attach"     /* in the fabric's directory */
#define ATT_NAME_MAX 72         /* of a fabric or node, with the final NUL */
#define ATT_PATH_MAX 1024
#define ATT_WHY_MAX 400
#define ATT_AGENTS_MAX 32       /* of one attachment, as in the kernel: IB_UMAD_MAX_AGENTS */
#define ATT_PKEYS_MAX 128
#define ATT_GUIDS_MAX 128
#define ATT_MAD_LENGTH 256

enum att_type {
	ATT_HELLO = 1,
	ATT_WELCOME,
	ATT_PORT,
	ATT_REGISTER,
	ATT_REGISTERED,
	ATT_UNREGISTER,
	ATT_MAD,
	ATT_ISSM,
	ATT_VIEW,
	ATT_TYPES
};

struct att_hello {
	uint32_t magic, version;
	char node[ATT_NAME_MAX];
	uint8_t port;             /* 0: all ports, to look at them; such an attachment registers no agent */
	uint8_t rsv[7];
};

struct att_welcome {
	int32_t err;              /* 0, or a negative errno: then only `why` counts */
	uint32_t version;
	char why[ATT_WHY_MAX];    /* sentence */
	uint64_t node_guid, image_guid; /* as numbers */
	uint32_t vendor_id, device_id, revision;
	uint8_t node_type;        /* of NodeInfo: 1 CA, 2 switch, 3 router */
	uint8_t ports;            /* of the node */
	uint8_t first_port;       /* number of the first: 0 of a switch, else 1 */
	uint8_t rsv;
	char description[64];     /* NodeDescription, with or without a final NUL */
};

/* Why a PORT message is sent; those of ibv_event_type(3) have their names. */
enum att_event {
	ATT_PORT_ACTIVE = 1 << 0,
	ATT_PORT_ERR = 1 << 1,
	ATT_LID_CHANGE = 1 << 2,
	ATT_PKEY_CHANGE = 1 << 3,
	ATT_GID_CHANGE = 1 << 4,
	ATT_SM_CHANGE = 1 << 5,
	ATT_CLIENT_REREGISTER = 1 << 6,
	ATT_OTHER_CHANGE = 1 << 7,    /* another field of PortInfo */
	ATT_NODE_GONE = 1 << 8,       /* the node has been removed; the last message */
	ATT_EVENTS = (1 << 9) - 1
};

/* A port as its SMA has it; fields as in PortInfo (IBTA vol 1, 14.2.5.6, table 146). */
struct att_port {
	uint32_t events;          /* enum att_event; 0 in answer to a hello */
	uint32_t cap_mask;
	uint64_t guid, gid_prefix;
	uint16_t lid, sm_lid, cap_mask2, diag_code;
	uint16_t mkey_violations, pkey_violations, qkey_violations, pkeys_n;
	uint8_t number, lmc, sm_sl, state;
	uint8_t phys_state, width_supported, width_enabled, width_active;
	uint8_t speed_supported, speed_enabled, speed_active, speed_ext_supported;
	uint8_t speed_ext_enabled, speed_ext_active, mtu_cap, neighbor_mtu;
	uint8_t vl_cap, operational_vls, init_type_reply, subnet_timeout;
	uint8_t guids_n, rsv[3];
	uint16_t pkeys[ATT_PKEYS_MAX];
	uint64_t guids[ATT_GUIDS_MAX]; /* 0 is the port's own */
};

struct att_register {
	uint32_t agent;           /* below ATT_AGENTS_MAX, chosen by the attached process */
	uint32_t oui;             /* of classes 0x30 to 0x4f, else 0 */
	uint64_t methods[2];      /* bit n: requests of method n come to this agent */
	uint8_t qpn;              /* 0 or 1 */
	uint8_t mgmt_class;       /* 0: an agent that only sends */
	uint8_t class_version, rmpp_version;
	uint8_t rsv[4];
};

struct att_registered {
	uint32_t agent;
	int32_t err;              /* 0 or a negative errno */
	uint32_t tid_high;        /* upper half of the transaction ID of its requests; 0 after UNREGISTER */
	uint32_t rsv;
};

struct att_unregister {
	uint32_t agent;
};

/* Addressing of a MAD: its destination if it is sent, its source if it is received. Own LID and QP number are those
 * of port and agent. */
struct att_addr {
	uint32_t qpn, qkey;
	uint16_t lid, pkey_index;
	uint8_t sl;
	uint8_t path_bits;        /* of the own LID */
	uint8_t grh_present;      /* 0 or 1; else the rest is zero */
	uint8_t gid_index;        /* of the own GID */
	uint8_t gid[16];
	uint32_t flow_label;
	uint8_t hop_limit, traffic_class, rsv[2];
};

struct att_mad {
	uint32_t agent;
	uint32_t rsv;
	struct att_addr addr;
	uint8_t bytes[ATT_MAD_LENGTH];
};

/* ATT_ISSM and ATT_VIEW. */
struct att_file {
	int32_t err;              /* in the answer: 0 or a negative errno */
	uint32_t rsv;
	char path[ATT_PATH_MAX];  /* in the answer */
};

struct att_msg {
	uint32_t type;            /* enum att_type */
	uint32_t rsv;
	union {
		struct att_hello hello;
		struct att_welcome welcome;
		struct att_port port;
		struct att_register reg;
		struct att_registered registered;
		struct att_unregister unreg;
		struct att_mad mad;
		struct att_file file;
	} u;
};

/* Bytes of a message of this type; 0 for a number that is none. */
size_t att_length(uint32_t type);

/*
 * Checks a message of len bytes that has been received into m: type, length, and every field that has a range;
 * texts end within their arrays. from_fabric tells the direction. Returns 0 or -EPROTO.
 */
int att_parse(const struct att_msg *m, size_t len, bool from_fabric);

/*
 * Waits for room at most wait_ms (0: not at all, -1: without end). Returns 0, -EAGAIN, -EPIPE if the other end is
 * gone, or another negative errno. errno is kept; no signal is raised.
 */
int att_send(int fd, const struct att_msg *m, int wait_ms);

/*
 * Takes the next message. Returns 1, 0 at the end of the other socket, -EAGAIN if there is none, -EPROTO for a
 * message that att_parse() refuses, or another negative errno.
 */
int att_receive(int fd, struct att_msg *m, bool from_fabric);

/*
 * Takes at most max messages in one system call. Returns how many are in v; *ret_end tells what stands behind them: -EAGAIN:
 * nothing yet (there may be more if v is full); 0: the end of the other socket, -EPROTO, or another negative errno: no
 * message follows.
 */
int att_receive_some(int fd, struct att_msg *v, unsigned max, bool from_fabric, int *ret_end);

/* The fabric process listens with fsk_listen(dir, ATT_SOCKET) and accepts with fsk_accept() (link/fabric/socket.h). */

/* Where a process is attached: DAPPLE_FABRIC=NAME/NODE. */
struct att_place {
	char fabric[ATT_NAME_MAX];
	char node[ATT_NAME_MAX];
};

/* Returns 1 with the place, 0 if DAPPLE_FABRIC is not set, or -EINVAL with a sentence in why. */
int att_place_of_env(struct att_place *ret, char why[ATT_WHY_MAX]);

/*
 * Attaches to a port of a node: hello and welcome. Returns a descriptor that does not block and closes at exec, or
 * a negative errno with a sentence in why; -ENOENT and -ECONNREFUSED: the fabric does not run. PORT messages of
 * the port, or with port 0 of all ports, are the next to be received: ret->ports of them, or one.
 */
int att_connect(const struct att_place *where, unsigned port, struct att_welcome *ret, char why[ATT_WHY_MAX]);
/* Asks for the path of a file, ATT_ISSM or ATT_VIEW. Other messages that come before the answer are lost. Returns 0 or a
 * negative errno. */
int att_ask_file(int fd, enum att_type type, char path[ATT_PATH_MAX]);
/* Waits for the next message, at most wait_ms. Returns as att_receive() does, -ETIMEDOUT at the end of the time. */
int att_wait(int fd, struct att_msg *m, int wait_ms);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One abstraction over unlike connection managers: the IB CM over QP1 (ibcm)
 * and MPA over TCP (mpa). The RDMA CM (cma) drives endpoints through the ops
 * of their port and hears of them by events; it never asks which manager is
 * below, but for what a column of struct cm_ops says.
 *
 * A port is where one adapter makes connections. Everything of a port runs
 * under the progress lock of its adapter (dev->lock), the up-calls included.
 * A manager is a pure machine: it gets bytes, the time and a seed.
 *
 * Life of an endpoint:
 *	bind -> listen -> (event REQUEST brings new endpoints) -> destroy
 *	[bind ->] connect -> RESPONSE (ops->confirms) -> establish -> ESTABLISHED
 *	                  -> ESTABLISHED | REJECTED | UNREACHABLE | ERROR
 *	REQUEST -> accept -> ESTABLISHED | ...;  REQUEST -> reject (is over)
 *	ESTABLISHED -> load_path -> ALTERNATE, as often as wanted
 *	ESTABLISHED -> disconnect or the peer's -> DISCONNECTED [-> TIMEWAIT_EXIT]
 * destroy is legal in every state and ends all up-calls; it rejects, disconnects
 * or closes as the state asks, without waiting.
 */
#ifndef CM_CM_H
#define CM_CM_H

#include "engine/dev.h"
#include "link/stream.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* Port spaces, rdma_cma.h; the value is in bits 31..16 of an IP service ID. */
enum cm_ps { CM_PS_SDP = 0x0001, CM_PS_IPOIB = 0x0002, CM_PS_TCP = 0x0106, CM_PS_UDP = 0x0111, CM_PS_IB = 0x013f };

#define CM_PRIVATE_MAX 512
/* responder_resources / initiator_depth: take what the device and the peer allow. */
#define CM_RD_MAX 0xff

struct cm_ep;
struct cm_port;
struct link_rules;

/* REQ reject reasons, IBTA table 107 (12.6.7.2); names only where we use them. */
enum cm_reject {
	CM_REJ_NO_QP = 1, CM_REJ_NO_RESOURCES = 3, CM_REJ_TIMEOUT = 4, CM_REJ_UNSUPPORTED = 5,
	CM_REJ_INVALID_COMM_ID = 6, CM_REJ_INVALID_INSTANCE = 7, CM_REJ_INVALID_SERVICE_ID = 8,
	CM_REJ_INVALID_TRANSPORT = 9, CM_REJ_STALE = 10, CM_REJ_INVALID_GID = 12,
	CM_REJ_INVALID_MTU = 26, CM_REJ_CONSUMER = 28,
	CM_REJ_DUPLICATE_COMM_ID = 30, CM_REJ_CLASS_VERSION = 31,
	CM_REJ_VENDOR_OPTION = 35
};

/* Status of an APR, IBTA table 117 (12.8.2): what became of an alternate path. */
enum cm_apr {
	CM_APR_LOADED, CM_APR_INVALID_COMM_ID, CM_APR_UNSUPPORTED, CM_APR_REJECTED, CM_APR_REDIRECT, CM_APR_IS_CURRENT,
	CM_APR_INVALID_QPN, CM_APR_INVALID_LID, CM_APR_INVALID_GID, CM_APR_INVALID_FLOW_LABEL, CM_APR_INVALID_TCLASS,
	CM_APR_INVALID_HOP_LIMIT, CM_APR_INVALID_RATE, CM_APR_INVALID_SL
};

/*
 * A path record (IBTA volume 1, 15.2.5.16): how packets get from one end to the other. LIDs are in
 * host order, CM_LID_PERMISSIVE where the GIDs alone name the ends, as on RoCE (annex A17).
 */
#define CM_LID_PERMISSIVE 0xffffu

struct cm_path {
	uint16_t slid, dlid, pkey;
	uint8_t sl;
	uint8_t mtu_code; /* enum ibv_mtu */
	uint8_t rate;     /* enum ibv_rate; 0 = not known */
	uint8_t life;     /* packet life time: 4.096 us * 2^life */
	uint8_t traffic_class, hop_limit;
	uint32_t flow_label; /* 0 = the manager's choice */
};

/* A multicast group: as an identifier asks for it, and as its members have it (IBTA 15.2.5.17). */
struct cm_group {
	uint8_t addr[16];    /* asked for: an IP address, IPv4 mapped, or of zeros: a new group */
	enum cm_ps ps;
	bool send_only;
	union ibv_gid mgid;  /* as it is: */
	uint16_t mlid, pkey;
	uint32_t qkey, flow_label;
	uint8_t sl, traffic_class, hop_limit;
};

struct cm_ece { /* enhanced connection establishment: opaque to us */
	uint32_t vendor_id, options;
};

/* What an application asks for or was asked for; rdma_conn_param in engine terms. */
struct cm_param {
	const void *private_data;
	uint16_t private_len;
	uint8_t responder_resources; /* reads and atomics we can serve */
	uint8_t initiator_depth;     /* ... we want to issue */
	uint8_t retry_count, rnr_retry_count; /* 0..7 */
	bool flow_control;
	bool srq;
	enum ibv_qp_type qp_type;
	uint32_t qpn;       /* of our QP in this adapter */
	uint32_t qkey;      /* UD */
	struct cm_ece ece;
};

struct cm_options {
	int tos;            /* -1 = not set */
	bool reuse, afonly;
	uint8_t ack_timeout; /* local ACK timeout code 0..31; 0 = default (19) */
	uint8_t min_rnr_timer;
};

enum cm_event_type {
	CM_EV_REQUEST,       /* ep is new; `listener` heard it. For UD too (SIDR) */
	CM_EV_RESPONSE,      /* active, ops->confirms: move the QP, then establish or reject */
	CM_EV_ESTABLISHED,   /* for UD on the active side: with qpn, qkey, av */
	CM_EV_REJECTED,      /* status: reason (IB), -ECONNREFUSED / -ECONNRESET (iWARP) */
	CM_EV_UNREACHABLE,   /* status: -ETIMEDOUT, -EHOSTUNREACH ...; a SIDR status (> 0) as
			      * the kernel's rdma_cm reports it */
	CM_EV_ERROR,         /* status: negative errno */
	CM_EV_DISCONNECTED,
	CM_EV_TIMEWAIT_EXIT, /* only where ops->timewait */
	CM_EV_ALTERNATE      /* of load_path; status: 0, an enum cm_apr, or a negative errno: no path was loaded */
};

/* Valid during the up-call. private_data points at exactly private_len bytes, the
 * manager's own headers stripped, IB's fixed-size field kept whole. */
struct cm_event {
	enum cm_event_type type;
	int status;
	struct cm_ep *ep, *listener;
	bool said;              /* the manager knew more than the status, and has said it (cm_why) */
	struct cm_param param;  /* the peer's wishes seen from here: responder_resources is what
				 * we would have to serve, as rdma_cma(7) reports it */
	/* UD, ESTABLISHED */
	uint32_t remote_qpn, qkey;
	struct ibv_ah_attr ah;
};

struct cm_ep {
	struct cm_port *port;
	void *user;                   /* of the caller of bind() or create(), or of the event handler that took a REQUEST */
	struct link_end local, remote;
	uint64_t service;             /* service ID; port space in bits 31..16 for IP ones */
	struct cm_options opt;
	struct cm_path path;          /* active: set by the user before connect; passive: as the request says */
	struct cm_path alternate;     /* likewise; dlid 0: none. Afterwards: what load_path of either end has loaded */
};

struct cm_bind {
	uint64_t service;        /* with port 0 in the low 16 bits: choose one */
	struct link_end local;   /* addr: one of this port's own; port = that of service */
	struct cm_options opt;
};

struct cm_ops {
	const char *name;    /* "ibcm", "mpa" */
	bool confirms;       /* the active side's user sees RESPONSE and confirms */
	bool timewait;       /* TIMEWAIT_EXIT follows DISCONNECTED */
	bool moves_qp;       /* the manager itself moves the QP to RTS (iWARP) */
	uint32_t qp_types;   /* served, 1u << enum ibv_qp_type */
	uint32_t spaces;     /* port spaces served, 1u << (cm_ps & 31)... see cm_space_bit() */

	/* A bound endpoint; claims the port among all processes. 0, -EADDRINUSE,
	 * -EADDRNOTAVAIL, -EACCES (below ip_unprivileged_port_start), -ENOMEM. */
	int (*bind)(struct cm_port *p, const struct cm_bind *b, struct cm_ep **ret);
	/* Requests raise REQUEST on it, at most `backlog` (0: 1024) not yet accepted. */
	int (*listen)(struct cm_ep *ep, int backlog);
	/* An endpoint for the active side without a claimed port; ep->local.port is chosen. */
	int (*create)(struct cm_port *p, const struct cm_bind *b, struct cm_ep **ret);
	/* From bind or create. 0 = an event follows. -EINVAL: private data too long, ...;
	 * -EMSGSIZE is never used. */
	int (*connect)(struct cm_ep *ep, const struct link_end *remote,
		       const struct cm_param *param);
	int (*accept)(struct cm_ep *ep, const struct cm_param *param);
	int (*reject)(struct cm_ep *ep, enum cm_reject reason, const void *data, uint16_t len);
	/* Active side after RESPONSE: the QP is in RTS. */
	int (*establish)(struct cm_ep *ep);
	/* IBV_EVENT_COMM_EST arrived on the endpoint's QP: counts as the peer's confirmation. IBV_EVENT_PATH_MIG: the
	 * alternate path has become the path; -EINVAL without one. */
	int (*notify)(struct cm_ep *ep, enum ibv_event_type event);
	/*
	 * Gives a connection an alternate path in reserve, at both ends (IBTA 12.8, 17.2.8); the QPs are rearmed. 0: the event
	 * ALTERNATE follows unless the connection ends before. The peer's user hears nothing. -EINVAL: no connection, or a
	 * path that is none between the ends; -EBUSY: an earlier call has no answer yet; -EOPNOTSUPP: the link has one path.
	 */
	int (*load_path)(struct cm_ep *ep, const struct cm_path *path);
	/* 0, or -EINVAL when there is no connection. */
	int (*disconnect)(struct cm_ep *ep);
	/* Attributes that bring a caller's QP to attr->qp_state (INIT, RTR, RTS) of this
	 * endpoint, as ibv_modify_qp takes them; *mask 0 = nothing to do. -EINVAL. */
	int (*qp_attr)(struct cm_ep *ep, struct ibv_qp_attr *attr, int *mask);
	void (*destroy)(struct cm_ep *ep);
};

/* The user of a port. Its handler may call the ops of this port, destroy included. */
struct cm_user {
	/* For REQUEST: 0 takes the new endpoint (its user is set), nonzero refuses it and the
	 * manager rejects and destroys it. Otherwise ignored. */
	int (*event)(struct cm_port *p, const struct cm_event *ev);
};

struct cm_port {
	const struct cm_ops *ops;
	const struct cm_user *_Atomic user; /* set before the first endpoint */
	struct eng_dev *dev; /* set by the adapter as it opens: it has a name before it has a manager */
	void *manager;               /* struct ibcm, struct mpa */
	struct link_rules *rules;    /* NULL: none of connections (faults.h); dev->lock */
};

static inline uint32_t cm_space_bit(unsigned ps)
{
	return 1u << (ps >> 1 & 31); /* distinct for the five port spaces */
}

/* IP service IDs: 0x0000000001PPpppp, spec of the RDMA IP CM service (annex A11). */
static inline uint64_t cm_ip_service(enum cm_ps ps, uint16_t port)
{
	return (uint64_t)ps << 16 | port;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The RDMA connection manager: identifiers addressed by IP that find their
 * adapter, listen, connect and report events on a channel, over whichever
 * manager the adapter has. This is the part that the kernel plays under the
 * distribution's librdmacm; abi/rdmacm is the library part (QPs, synchronous
 * ids, structures) on top of it.
 *
 * All calls are safe from any thread, return 0 or a negative errno unless said
 * otherwise, and never block. Locks: taken inside; order in docs/locking.md.
 * Addresses are struct sockaddr of AF_INET, AF_INET6 or AF_IB (27, struct
 * sockaddr_ib of rdma/ib_user... see man rdma_bind_addr). A GID stands for the port that has it.
 */
#ifndef CM_CMA_H
#define CM_CMA_H

#include "cm/cm.h"
#include "engine/show.h"

#include <sys/socket.h>

struct cma;
struct cma_chan;
struct cma_id;

/* --- what the composition root provides; every slot is filled --- */

struct cma_host {
	/*
	 * Ports of this host's adapters in listing order (DAPPLE_ADAPTER order first).
	 * They are opened when needed and stay open. Writes at most max, returns how many
	 * there are. Called without locks.
	 */
	int (*ports)(struct cm_port **v, int max);
	/* Before the first endpoint of a port: addresses bound, manager made. Called without
	 * locks. 0 or negative errno (why is logged). */
	int (*attach)(struct cm_port *p);
	/* Is addr an address of this port's adapter (127/8 is lo's)? */
	bool (*has_addr)(struct cm_port *p, const uint8_t addr[16], uint32_t scope);
	/* The addresses of a port, at most max; returns how many there are. */
	int (*addrs)(struct cm_port *p, struct link_end *v, int max);
	/* The source address the host would use to reach dst (routing look-up, nothing is sent);
	 * *src is kept when it is not the any-address and only checked. 0, -ENETUNREACH,
	 * -EADDRNOTAVAIL ... */
	int (*route)(const struct link_end *dst, struct link_end *src);
	/*
	 * The path between two addresses, the first of which is this port's. 0: *ret is filled. -EINPROGRESS:
	 * cma_path_answer() brings it for this ticket, once, within timeout_ms. Other: why there is none.
	 * Called without locks.
	 */
	int (*path)(struct cm_port *p, const struct link_end *src, const struct link_end *dst,
		    int timeout_ms, uint64_t ticket, struct cm_path *ret);
	/*
	 * Makes the port a member of a group. 0: *ret is filled. -EINPROGRESS: cma_group_answer() brings it for this
	 * ticket, once. -EOPNOTSUPP: a group is its address, and no administrator is asked (Ethernet). Called with
	 * the identifier's call lock alone.
	 */
	int (*join)(struct cm_port *p, const struct cm_group *want, uint64_t ticket, struct cm_group *ret);
	/* Undoes a success. Called likewise. */
	void (*leave)(struct cm_port *p, const struct cm_group *g);
	/*
	 * Asks the subnet of p, or (NULL) of any port, which port has registered an address. -EINPROGRESS: cma_name_answer()
	 * brings the address by which the host knows that port, once, within timeout_ms. -EHOSTUNREACH: no subnet is asked.
	 * Called with the identifier's call lock alone.
	 */
	int (*name)(struct cm_port *p, const uint8_t addr[16], int timeout_ms, uint64_t ticket);
	/* The GID of the port that has an address, as this port's subnet knows it; on Ethernet the address itself. Called
	 * without locks. */
	void (*to_gid)(struct cm_port *p, const uint8_t addr[16], uint8_t ret[16]);
	/* The address of the port that has a GID, which is itself unless a subnet knows another. Called without locks. */
	void (*from_gid)(const uint8_t gid[16], uint8_t ret[16]);
};

/* The one RDMA CM of this process; made by the device room at first use. NULL: no memory. */
struct cma *cma_get(void);
struct cma *cma_new(const struct cma_host *host, uint64_t seed);
/* In a child of fork(): ids of the parent answer -EIO. */
void cma_forget(struct cma *c);
/* An adapter has gone / an address has changed: events for the ids on it. dev->lock not held. */
void cma_port_gone(struct cma *c, struct cm_port *p);
void cma_addr_changed(struct cma *c, struct cm_port *p, const uint8_t addr[16]);
/* The answer to cma_host.path: status 0 with a path, or a negative errno. An identifier that has gone
 * meanwhile is passed over. From any thread, no lock held. */
void cma_path_answer(struct cma *c, uint64_t ticket, int status, const struct cm_path *path);

/* The answer to cma_host.name: status 0 with an address, or a negative errno. As cma_path_answer(), by the background thread. */
void cma_name_answer(struct cma *c, uint64_t ticket, int status, const uint8_t addr[16]);

/* The answer to cma_host.join. Returns false if the identifier has left the group meanwhile: a success is to be undone.
 * Called by the background thread, no lock held. */
bool cma_group_answer(struct cma *c, uint64_t ticket, int status, const struct cm_group *g);

/* --- channels --- */

int cma_chan_create(struct cma *c, struct cma_chan **ret);
/* -EBUSY while ids use it. */
int cma_chan_destroy(struct cma_chan *ch);
/* Readable exactly while an event waits. */
int cma_chan_fd(const struct cma_chan *ch);

/* Values are those of enum rdma_cm_event_type. */
struct cma_event {
	int type;
	int status;
	struct cma_id *id;        /* what it is about; REQUEST: the new id */
	struct cma_id *listener;  /* REQUEST */
	void *user;               /* of id, now (REQUEST: of the listener) */
	void *context;            /* multicast: what cma_join was given */
	bool ud;                  /* the ud part counts, not conn */
	struct cm_param param;    /* private_data points into `data` */
	uint32_t qpn, qkey;       /* ud */
	struct ibv_ah_attr ah;    /* ud */
	uint64_t arg;             /* of cma_write_event() */
	uint8_t data[CM_PRIVATE_MAX];
};

/*
 * Takes the oldest event: 0, -EAGAIN: none, or -EBUSY: it is a REQUEST, which was not to be taken, and
 * stays where it is. The id named stays valid until its destroy.
 */
int cma_event_next(struct cma_chan *ch, bool requests_too, struct cma_event *ret);
/* Queues an event of the caller's own about id. Returns 0, -EIO (in a forked child) or -ENOMEM. */
int cma_write_event(struct cma_id *id, int type, int status, uint64_t arg);

/* --- identifiers --- */

int cma_id_create(struct cma_chan *ch, void *user, enum cm_ps ps, enum ibv_qp_type qp_type,
		  struct cma_id **ret);
void cma_id_set_user(struct cma_id *id, void *user);
/* Ends the id and drops its queued events; a REQUEST not yet taken is rejected. Waiting for
 * acknowledged events is the caller's. */
void cma_id_destroy(struct cma_id *id);
/* With its queued events. */
int cma_id_migrate(struct cma_id *id, struct cma_chan *to);

int cma_bind(struct cma_id *id, const struct sockaddr *addr);
/* src may be NULL. timeout_ms: of a question to a subnet (cma_host.name). Events ADDR_RESOLVED or ADDR_ERROR. */
int cma_resolve_addr(struct cma_id *id, const struct sockaddr *src, const struct sockaddr *dst,
		     int timeout_ms);
/* Events ROUTE_RESOLVED or ROUTE_ERROR. */
int cma_resolve_route(struct cma_id *id, int timeout_ms);
int cma_listen(struct cma_id *id, int backlog);
int cma_connect(struct cma_id *id, const struct cm_param *param);
int cma_accept(struct cma_id *id, const struct cm_param *param);
int cma_reject(struct cma_id *id, enum cm_reject reason, const void *data, uint16_t len);
int cma_establish(struct cma_id *id);
int cma_notify(struct cma_id *id, enum ibv_event_type event);
int cma_disconnect(struct cma_id *id);
int cma_qp_attr(struct cma_id *id, struct ibv_qp_attr *attr, int *mask);

/* rdma_set_option: level and name as in rdma_cma.h; -ENOSYS for unknown ones. The level
 * CMA_OPT_DAPPLE chooses a device by name (before bind or resolve). */
#define CMA_OPT_DAPPLE 0xdab
#define CMA_OPT_DEVICE 0
int cma_option(struct cma_id *id, int level, int name, const void *val, size_t len);
/* Returns true if it has chosen one. */
bool cma_has_device(const struct cma_id *id);

/* Event MULTICAST_JOIN or MULTICAST_ERROR. send_only: no reception. */
int cma_join(struct cma_id *id, const struct sockaddr *group, bool send_only, void *context);
int cma_leave(struct cma_id *id, const struct sockaddr *group);

/* What rdma_query_route and its kin show; copies. */
struct cma_info {
	struct sockaddr_storage local, remote; /* family 0: not known */
	const char *device;       /* NULL: not bound to an adapter */
	struct eng_dev *dev;
	uint8_t port_num;         /* ENG_PORT_NUM when bound */
	union ibv_gid sgid, dgid;
	bool routed;              /* path is known */
	bool moves_qp;            /* struct cm_ops */
	struct cm_path path;      /* before it is known: the default P_Key and hop limit */
	uint32_t qkey;            /* UD ids: 0x01234567 unless the group says otherwise */
	struct cm_ece peer_ece;
};
void cma_query(struct cma_id *id, struct cma_info *ret);

/* Writes a line for each identifier, in the words of `rdma resource show cm_id` (engine/show.h). */
void cma_show(struct cma *c, const struct eng_show_who *who, FILE *out);

#endif

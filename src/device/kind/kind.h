/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a kind of adapters is to the rest of device/: a row, a machine, and the engine's operations. Every
 * slot of the three has a default, so that a kind names only what is different and no caller tests a slot
 * for NULL. Only the files of this folder know a link, a protocol or a connection manager by name.
 */
#ifndef DEVICE_KIND_KIND_H
#define DEVICE_KIND_KIND_H

#include "device/device.h"
#include "device/gids.h"
#include "device/port.h"
#include "device/progress/fast.h"
#include "device/progress/wait.h"
#include "device/progress/yield.h"
#include "engine/dev.h"
#include "link/rules.h"
#include "proto/post.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

struct dev_adapter;
struct cm_group;
struct cm_path;
struct dev_nl_addr;
struct link_end;
struct obs_tap;

#define DEV_KINDS 3 /* in this build */

/*
 * Link, protocol and connection manager as progress sees them. All called with dev.lock held and the
 * adapter wired, but for sleep(). The first four slots have no default.
 */
struct dev_machine {
	/* Takes in what has come, bounded work. cheap: what the link's descriptor shows as well may stay
	 * there, and nothing is asked of the system. Returns how many things. */
	int (*receive)(struct dev_adapter *a, uint64_t now, bool cheap);
	/* Posted work, timers, sends. Returns how many things. */
	int (*transmit)(struct eng_dev *dev, uint64_t now, enum eng_acks acks);
	/* Takes in what this process has sent to itself, if anything, and answers it. Returns how many things.
	 * Default: 0. */
	int (*deliver)(struct dev_adapter *a, uint64_t now);
	/* Returns true if work is left that needs no event from outside. */
	bool (*busy)(struct eng_dev *dev);
	/* Returns when transmit() must run next, or UT_NEVER. */
	uint64_t (*deadline)(struct eng_dev *dev);
	/* Returns how long, in ns, a thread that could sleep leaves the work of busy() alone: a ring is full, and no event tells when it has
	 * room. Default: 0. */
	uint64_t (*held_up)(struct eng_dev *dev);

	/*
	 * Receptions without a look at the clock, a few times between two rounds: takes in what came the
	 * usual way. Returns how many things, or -EAGAIN if a round must look. *ret_whole: whatever came
	 * or not, a round is due now. Default: -EAGAIN.
	 */
	int (*fast)(struct eng_dev *dev, bool *ret_whole);
	/* Executes what the last fast() has counted and left, since it needs the time. Called before any other
	 * reception if *ret_whole was set. Default: nothing. */
	void (*finish)(struct eng_dev *dev, uint64_t now);
	/* What becomes of a post without a round. how: enum proto_post; now: the time, or 0 until the answer was
	 * PROTO_NEEDS_TIME. Default: PROTO_NEEDS_ROUND. */
	enum proto_posted (*post)(struct eng_qp *qp, unsigned how, uint64_t now);
	/* eng_dev_ops.post_now. how: PROTO_POST_SEND, PROTO_POST_BATCH; with the first, what the last round found out about pages holds.
	 * Returns PROTO_SENT, PROTO_EXECUTED or, with nothing done, PROTO_NEEDS_ROUND, which is the default. */
	enum proto_posted (*post_now)(struct eng_qp *qp, const struct ibv_send_wr *wr, unsigned how);
	/* Takes what the host reported about earlier sends. Returns how many. Default: 0. */
	int (*errors)(struct dev_adapter *a, uint64_t now);
	/* Returns true if what was posted last may wait a little, to leave together with more. batch: much
	 * was posted since the last poll. Default: false. */
	bool (*may_coalesce)(struct eng_dev *dev, bool batch);
	/* The same for what was posted to one queue pair since may_coalesce() said so. Default: false. */
	bool (*coalesce_more)(struct eng_qp *qp);
	/* Returns true if acknowledgements wait, or their receivers have not been woken. Default: false. */
	bool (*acks_pending)(struct eng_dev *dev);
	/* Sends them, as far as the link takes them, and no other packet. Not for ENG_ACKS_LATER. Default:
	 * nothing. */
	void (*acknowledge)(struct eng_dev *dev, enum eng_acks how);
	/* The adapter closes or the process ends: sends what waits, and holds nothing back for a better
	 * moment. Default: transmit() with ENG_ACKS_NOW. */
	void (*drain)(struct dev_adapter *a);
	/* From any thread, without dev.lock, while driver.link_fd is there: from here on a thread sleeps on
	 * the link's descriptor (on), or looks by itself. look: make it readable once now, for what may
	 * have come meanwhile. Default: nothing. */
	void (*sleep)(struct dev_adapter *a, bool on, bool look);
	/* The same of the background thread, which spins, or is about to sleep (neither): it looks by fast() from here on
	 * (rings), and by rounds while hides() says so (sockets). Returns false if there is nothing to look for so. Default:
	 * false. */
	bool (*attend)(struct dev_adapter *a, bool rings, bool sockets);
	/* Returns true if the link's descriptor does not show all that comes, since the thread attends. Without dev.lock.
	 * Default: false. */
	bool (*hides)(struct dev_adapter *a);
};

/* An adapter kind. dev.lock is held in every slot, unless stated otherwise. */
struct dev_kind_row {
	const char *word;   /* in DAPPLE_ADAPTER */
	const char *alias;  /* another word for it */
	const char *prefix; /* of device names */
	enum dev_kind kind;
	enum ibv_node_type node_type;
	enum ibv_gid_type gid_type;
	uint16_t n_gids; /* length of the GID table */
	bool is_found;   /* find() lists its adapters; else there is one on each network interface */
	const struct eng_dev_ops *ops;
	const struct dev_machine *machine;
	const struct eng_proto_ops *(*proto)(void);

	/* Writes the adapters that stand on no network interface, at most max. Returns their number; -EMFILE, -ENFILE or
	 * -ENOMEM if this process has no means to ask for them; another failure is logged, and none. No lock. Default: 0. */
	int (*find)(struct dev_info *ret, int max);
	/* The adapter opens: begins what it has until it closes, whether it is wired or not. dev_process_lock is held.
	 * Returns 0 or -errno. Default: 0. */
	int (*open)(struct dev_adapter *a);
	/* Ends that. Default: nothing. */
	void (*close)(struct dev_adapter *a);
	/* Makes GID table, addresses and port what they are now, with events for what changed. Only dev_process_lock
	 * may be held. Returns 0, or -errno and nothing changed. Default: dev_gids_refresh. */
	int (*refresh)(struct dev_adapter *a);
	/* Returns a descriptor that is readable when refresh() has something to do, or -1. dev_process_lock is held.
	 * Default: -1, and changes of interfaces are a reason. */
	int (*port_fd)(struct dev_adapter *a);
	/* In a child of fork() that takes over the adapter, which was never wired: makes what open() made anew.
	 * Default: nothing. */
	void (*forked)(struct dev_adapter *a);

	/* Makes link and protocol, without any address, and sets a->parts and a->stage. Returns 0 or -errno,
	 * and then nothing was made. */
	int (*wire)(struct dev_adapter *a);
	/* Binds the addresses that can be bound, before the first queue pair. Returns 0 or -errno; may be
	 * called again. Default: 0. */
	int (*bind)(struct dev_adapter *a);
	/* Returns the descriptor of the wired link. */
	int (*fd)(struct dev_adapter *a);
	/* The addresses are bound and the descriptor is watched: fills qpn_fixed and qpn_mask, and makes the
	 * connection manager unless wire() has. Returns 0 or -errno, and qpn_mask is 0 then. */
	int (*start)(struct dev_adapter *a);
	/* A GID has appeared after start(). Returns 0 or -errno; a failure is logged. Default: 0. */
	int (*add_addr)(struct dev_adapter *a, const struct eng_gid *g);
	/* An address has gone; the adapter is wired. Default: nothing. */
	void (*del_addr)(struct dev_adapter *a, const uint8_t addr[16]);
	/* In a child of fork(), without lock: closes the descriptors it inherited, sends nothing. */
	void (*forget)(struct dev_adapter *a);
	/* The process exits: messages that completed here must still reach the peers. Bounded in time; the adapter
	 * is not driven again. */
	void (*leave)(struct dev_adapter *a);
	/* Shows what the adapter does to this observer, or (NULL) to none from here on; the overlays of t are taken away
	 * by the caller. Default: nothing. */
	void (*observe)(struct dev_adapter *a, struct obs_tap *t);
	/* Has these faults from here on, as far as the kind knows them; they stay the caller's until the next call. rules->n
	 * 0: none. Default: nothing. */
	unsigned (*faults)(struct dev_adapter *a, struct link_rules *rules);
	uint32_t fault_acts; /* set of the acts (link/rules.h) that it knows. Default: those of calls */
	/* Ends manager, protocol and link; no context and no thread reaches them any more. */
	void (*unwire)(struct dev_adapter *a);

	/* The GIDs that follow from the interface and its addresses. Returns their number, at most DEV_ADDRS_MAX. No lock.
	 * Default: the addresses themselves. */
	int (*gids)(const struct dev_info *info, const struct dev_nl_addr *addrs, int n,
		    struct dev_nl_addr *ret);
	/* The RDMA CM asks for the source address towards dst, which is kept unless it is the any-address. Returns 0;
	 * -ENETUNREACH: the host's routes decide; or why it cannot be. No lock. Default: -ENETUNREACH. */
	int (*route)(struct dev_adapter *a, const struct link_end *dst, struct link_end *src);
	/* The path between two addresses. Returns 0 or why there is none; -EINPROGRESS: dev_cm_note_path() brings it for
	 * the ticket. No lock. Default: of Ethernet, where the port's state decides. */
	int (*path)(struct dev_adapter *a, const struct link_end *src, const struct link_end *dst, int timeout_ms,
		    uint64_t ticket, struct cm_path *ret);
	/* As of struct cma_host: membership of multicast groups that an administrator grants. No dev.lock. Default:
	 * -EOPNOTSUPP, and nothing. */
	int (*group_join)(struct dev_adapter *a, const struct cm_group *want, uint64_t ticket, struct cm_group *ret);
	void (*group_leave)(struct dev_adapter *a, const struct cm_group *g);

	/* The GID of the port that has an address in this adapter's subnet, and the address of the port that has a GID. No lock.
	 * Return false if they are the same, or there is none. Default: false. */
	bool (*gid_of)(struct dev_adapter *a, const uint8_t addr[16], uint8_t ret[16]);
	bool (*addr_of)(struct dev_adapter *a, const uint8_t gid[16], uint8_t ret[16]);

	/* The RDMA CM makes an endpoint: a subnet that keeps addresses is told of the adapter's. Again for each. dev.lock is held.
	 * Default: nothing. */
	void (*announce)(struct dev_adapter *a);
	/* As of struct cma_host.name; dev_cm_note_name() answers. No dev.lock. Default: -EHOSTUNREACH. */
	int (*ask_addr)(struct dev_adapter *a, const uint8_t addr[16], int timeout_ms, uint64_t ticket);

	/* IP addresses of an adapter that may not be open, for lists. Returns their number, at most DEV_ADDRS_MAX, or
	 * -errno. No lock. Default: dev_addrs_now. */
	int (*addrs)(const struct dev_info *info, struct dev_nl_addr *ret);

	/* Truth about the port now, of an adapter that may not be open. Returns 0 or -errno. No lock. Default: the
	 * interface's, as of RoCE. */
	int (*query_port)(const struct dev_info *info, struct ibv_port_attr *ret);
	/* Removes from the limits of a software adapter those that the kind does not have, and adds its own. Default: nothing. */
	void (*limit)(struct ibv_device_attr *attr);
};

/* The row of a kind that this build has, or NULL. */
const struct dev_kind_row *dev_kind_find(enum dev_kind kind);
/* The same by a word of DAPPLE_ADAPTER. */
const struct dev_kind_row *dev_kind_by_word(const char *word, size_t len);
/* The i-th row of this build, 0 <= i < DEV_KINDS. */
const struct dev_kind_row *dev_kind_at(int i);

/* Makes a->dev from a->info and a->kind. Returns 0 or -errno. */
int dev_kind_open(struct dev_adapter *a);
/* Ends what dev_kind_open() and dev_kind_attach() made; no context and no thread reaches it any more. */
void dev_kind_close(struct dev_adapter *a);
/* Makes link and protocol unless they exist. Returns 0 or -errno. dev.lock held. */
int dev_kind_wire(struct dev_adapter *a);
/* eng_dev_ops.attach: wires the adapter, binds its addresses, and has its descriptor watched; then it
 * has a connection manager, too. */
int dev_kind_attach(struct eng_dev *dev);

/* --- defaults --- */

int dev_kind_default_mcast_join(struct eng_dev *dev, const union ibv_gid *mgid); /* -EOPNOTSUPP */
void dev_kind_default_mcast_leave(struct eng_dev *dev, const union ibv_gid *mgid);
int dev_kind_default_query_port(struct eng_dev *dev, struct ibv_port_attr *ret);
void dev_kind_default_why(struct eng_dev *dev, enum ut_say level, const char *sentence);

/* Those of a machine say that it has nothing of the kind. They stand here so that a round, which asks them
 * all, does not pass through kind.c for them. */
static inline int dev_kind_default_fast(struct eng_dev *dev, bool *ret_whole)
{
	return -EAGAIN;
}

static inline void dev_kind_default_finish(struct eng_dev *dev, uint64_t now)
{
}

static inline enum proto_posted dev_kind_default_post(struct eng_qp *qp, unsigned how, uint64_t now)
{
	return PROTO_NEEDS_ROUND;
}

static inline enum proto_posted dev_kind_default_post_now(struct eng_qp *qp, const struct ibv_send_wr *wr, unsigned how)
{
	return PROTO_NEEDS_ROUND;
}

static inline bool dev_kind_default_coalesce_more(struct eng_qp *qp)
{
	return false;
}

static inline int dev_kind_default_errors(struct dev_adapter *a, uint64_t now)
{
	return 0;
}

static inline bool dev_kind_default_may_coalesce(struct eng_dev *dev, bool batch)
{
	return false;
}

static inline int dev_kind_default_deliver(struct dev_adapter *a, uint64_t now)
{
	return 0;
}

static inline uint64_t dev_kind_default_held_up(struct eng_dev *dev)
{
	return 0;
}

static inline bool dev_kind_default_acks_pending(struct eng_dev *dev)
{
	return false;
}

static inline void dev_kind_default_acknowledge(struct eng_dev *dev, enum eng_acks how)
{
}

static inline void dev_kind_default_sleep(struct dev_adapter *a, bool on, bool look)
{
}

static inline bool dev_kind_default_attend(struct dev_adapter *a, bool rings, bool sockets)
{
	return false;
}

static inline bool dev_kind_default_hides(struct dev_adapter *a)
{
	return false;
}

void dev_kind_default_drain(struct dev_adapter *a);

int dev_kind_default_bind(struct dev_adapter *a);
int dev_kind_default_add_addr(struct dev_adapter *a, const struct eng_gid *g);
void dev_kind_default_del_addr(struct dev_adapter *a, const uint8_t addr[16]);
int dev_kind_default_gids(const struct dev_info *info, const struct dev_nl_addr *addrs, int n,
			  struct dev_nl_addr *ret);
void dev_kind_default_limit(struct ibv_device_attr *attr);
int dev_kind_default_route(struct dev_adapter *a, const struct link_end *dst, struct link_end *src);
int dev_kind_default_path(struct dev_adapter *a, const struct link_end *src, const struct link_end *dst, int timeout_ms,
			  uint64_t ticket, struct cm_path *ret);
int dev_kind_default_group_join(struct dev_adapter *a, const struct cm_group *want, uint64_t ticket, struct cm_group *ret);
void dev_kind_default_group_leave(struct dev_adapter *a, const struct cm_group *g);
void dev_kind_default_announce(struct dev_adapter *a);
int dev_kind_default_ask_addr(struct dev_adapter *a, const uint8_t addr[16], int timeout_ms, uint64_t ticket);
bool dev_kind_default_gid_of(struct dev_adapter *a, const uint8_t from[16], uint8_t ret[16]);
void dev_kind_default_observe(struct dev_adapter *a, struct obs_tap *t);
int dev_kind_default_query(const struct dev_info *info, struct ibv_port_attr *ret);
int dev_kind_default_find(struct dev_info *ret, int max);
int dev_kind_default_open(struct dev_adapter *a);
void dev_kind_default_nothing(struct dev_adapter *a);
int dev_kind_default_port_fd(struct dev_adapter *a);
unsigned dev_kind_default_faults(struct dev_adapter *a, struct link_rules *rules);

#define DEV_DEFAULT_OPS                                                                            \
	.progress = dev_progress, .drive = dev_drive, .post_fast = dev_post_fast,                  \
	.post_now = dev_post_now, .poll = dev_poll, .wait = dev_wait, .wait_comp = dev_wait_comp,                        \
	.attach = dev_kind_attach, .mcast_join = dev_kind_default_mcast_join,                      \
	.mcast_leave = dev_kind_default_mcast_leave, .query_port = dev_kind_default_query_port,    \
	.why = dev_kind_default_why

#define DEV_DEFAULT_MACHINE                                                                        \
	.fast = dev_kind_default_fast, .finish = dev_kind_default_finish,                          \
	.post = dev_kind_default_post, .post_now = dev_kind_default_post_now, .deliver = dev_kind_default_deliver,                \
	.errors = dev_kind_default_errors,                                                         \
	.may_coalesce = dev_kind_default_may_coalesce,                                             \
	.coalesce_more = dev_kind_default_coalesce_more,                                           \
	.held_up = dev_kind_default_held_up, .acks_pending = dev_kind_default_acks_pending,        \
	.acknowledge = dev_kind_default_acknowledge, .drain = dev_kind_default_drain,              \
	.sleep = dev_kind_default_sleep, .attend = dev_kind_default_attend,                        \
	.hides = dev_kind_default_hides

#define DEV_DEFAULT_ROW                                                                            \
	.alias = "", .bind = dev_kind_default_bind, .add_addr = dev_kind_default_add_addr,         \
	.del_addr = dev_kind_default_del_addr, .gids = dev_kind_default_gids,                      \
	.query_port = dev_kind_default_query, .limit = dev_kind_default_limit,                     \
	.addrs = dev_addrs_now, .route = dev_kind_default_route, .path = dev_kind_default_path,       \
	.group_join = dev_kind_default_group_join, .group_leave = dev_kind_default_group_leave,    \
	.gid_of = dev_kind_default_gid_of, .addr_of = dev_kind_default_gid_of,                     \
	.announce = dev_kind_default_announce, .ask_addr = dev_kind_default_ask_addr,              \
	.find = dev_kind_default_find, .open = dev_kind_default_open,                              \
	.close = dev_kind_default_nothing, .refresh = dev_gids_refresh,                            \
	.port_fd = dev_kind_default_port_fd, .forked = dev_kind_default_nothing,             \
	.observe = dev_kind_default_observe, .faults = dev_kind_default_faults, .fault_acts = LINK_ACTS_CALL

/* `what` (a declaration) with one of the defaults above, and what lies over it: .slot = function, ... */
#define DEV_OVERLAY(what, defaults, ...)                                    \
	_Pragma("GCC diagnostic push")                                      \
	_Pragma("GCC diagnostic ignored \"-Woverride-init\"")               \
	what = { defaults, __VA_ARGS__ };                                   \
	_Pragma("GCC diagnostic pop")                                       \
	_Static_assert(1, "takes a semicolon")

#endif

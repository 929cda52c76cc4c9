/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Verbs of the InfiniBand Architecture (volume 1, chapters 10 and 11) that
 * libibverbs has no call for, and the causes of failures. They work on objects of
 * libibverbs; link with libdapple.so.0.
 *
 * Unless said otherwise a call returns 0 or a positive errno, or a pointer or
 * NULL with errno set. Common to all:
 *	EOPNOTSUPP	the object belongs to another libibverbs (real hardware)
 *	EIO		the object was made before fork() by the parent
 * All calls are safe from any thread; none is async-signal-safe; none but
 * dpl_wait_comp is a cancellation point.
 */
#ifndef DAPPLE_VERBS_H
#define DAPPLE_VERBS_H

#include <infiniband/verbs.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- memory regions (11.2.8) --- */

enum dpl_mr_kind {
	DPL_MR_VIRTUAL,  /* ibv_reg_mr and its kin, dpl_reg_shared_mr of one */
	DPL_MR_PHYSICAL, /* dpl_reg_phys_mr */
	DPL_MR_NULL,     /* ibv_alloc_null_mr */
	DPL_MR_FREE      /* dpl_alloc_lkey: a key without memory */
};

struct dpl_mr_attr {
	uint32_t lkey, rkey;
	struct ibv_pd *pd;
	enum dpl_mr_kind kind;
	uint64_t iova;        /* the address of the first byte in work requests and for peers */
	uint64_t length;      /* bytes */
	uint64_t page_size;   /* bytes; 0 unless physical */
	unsigned int access;  /* enum ibv_access_flags */
	unsigned int windows; /* memory windows bound to it now */
};

/* Query Memory Region (11.2.8.3). */
int dpl_query_mr(struct ibv_mr *mr, struct dpl_mr_attr *attr);

/*
 * Register Shared Memory Region (11.2.8.8): one more region on the memory of
 * mr, with its own domain, rights and address. iova: as with ibv_reg_mr_iova,
 * any value; 0 = the address of mr. Both regions are independent of each other. EINVAL for
 * illegal access flags or a region without memory; ENOMEM.
 */
struct ibv_mr *dpl_reg_shared_mr(struct ibv_mr *mr, struct ibv_pd *pd, uint64_t iova,
				 unsigned int access);

/*
 * A list of buffers of one size, in place of physical pages: bytes of the
 * region lie in pages[0] from first_offset on, then in pages[1] ...
 */
struct dpl_phys_list {
	const uint64_t *pages; /* addresses in this process, multiples of page_size */
	uint32_t n_pages;      /* 1 .. 2^20 */
	uint32_t page_size;    /* a power of two, 64 .. 2^30 bytes */
	uint32_t first_offset; /* below page_size */
	uint64_t length;       /* at least 1; must fit into the pages */
	uint64_t iova;         /* address of the first byte, congruent to first_offset */
};

/* Register Physical Memory Region (11.2.8.2). The list is copied. EINVAL for a
 * list against the rules above or illegal access flags; ENOMEM. */
struct ibv_mr *dpl_reg_phys_mr(struct ibv_pd *pd, const struct dpl_phys_list *list,
			       unsigned int access);

/*
 * Reregister Physical Memory Region (11.2.8.6): flags as in ibv_rereg_mr; list
 * is used with CHANGE_TRANSLATION, pd with CHANGE_PD, access with CHANGE_ACCESS.
 * Both keys change (read them from mr again). All or nothing: after a failure
 * the region is unchanged. EINVAL; EBUSY with windows bound; ENOMEM.
 */
int dpl_rereg_phys_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd,
		      const struct dpl_phys_list *list, unsigned int access);

/*
 * Allocate L_Key (11.2.8.1): a region without memory, in the "free" state: any
 * use of its key is refused until dpl_rereg_phys_mr() with all three flags gives
 * it memory; that call checks max_pages (1 .. 2^20). (The fast-register work
 * request of the specification has no opcode in libibverbs.)
 */
struct ibv_mr *dpl_alloc_lkey(struct ibv_pd *pd, uint32_t max_pages);

/*
 * Memory whose pages other processes of this user on this host may map. A Read,
 * Write or atomic of such a process in a region on it is plain loads and stores of the requester. The
 * memory is zeroed, page-aligned, and absent in children of fork(). NULL with errno EINVAL (length 0),
 * ENOMEM, EMFILE. (DAPPLE_SHARE=1 shares the memory of other regions, see dapple(1).)
 */
void *dpl_alloc_shared(size_t length);

/* Frees it; regions on it must be deregistered before. EINVAL: not from dpl_alloc_shared(). */
int dpl_free_shared(void *addr);

struct dpl_mw_attr {
	uint32_t rkey; /* the valid key, or the one before the first bind */
	struct ibv_pd *pd;
	enum ibv_mw_type type;
	int bound;      /* the next fields are valid only if set */
	uint64_t addr, length;
	unsigned int access;
	uint32_t mr_lkey; /* the region of the window */
	uint32_t qp_num;  /* type 2: the only QP that may use it */
};

/* Query Memory Window (11.2.8.10). */
int dpl_query_mw(struct ibv_mw *mw, struct dpl_mw_attr *attr);

/* --- completion queues (11.2.6) --- */

struct dpl_cq_attr {
	uint32_t size;   /* completions it can hold */
	uint32_t held;   /* completions in it now */
	int armed;       /* 0, 1 = next solicited, 2 = next of any kind */
	int overrun;     /* it lost a completion and is in error */
	uint16_t moderate_count, moderate_period; /* ibv_modify_cq */
	struct ibv_comp_channel *channel;
};

/* Query Completion Queue (11.2.6.2). */
int dpl_query_cq(struct ibv_cq *cq, struct dpl_cq_attr *attr);

/*
 * Sleep until the channel has an event, fd is readable or has failed (-1: no such descriptor), or
 * CLOCK_MONOTONIC shows `until` nanoseconds (UINT64_MAX: never). Like ibv_get_cq_event with a limit
 * and a second descriptor, but it takes no event: call ibv_get_cq_event next, on a channel with
 * O_NONBLOCK if several threads use it. Unlike poll() on channel->fd the caller drives the adapter
 * while it sleeps, so that a completion wakes one thread and not two. Returns 0 if the channel may
 * have an event, or fd something to read (call it in a loop); ETIMEDOUT; EINTR after a signal
 * handler ran, with SA_RESTART or without.
 */
int dpl_wait_comp(struct ibv_comp_channel *channel, int fd, uint64_t until);

/*
 * As poll(2) with n descriptors (at most DPL_POLL_FDS), and a limit as above, for a thread that waits for several: completion channels of
 * the adapter, whose queues are armed, event channels, and others. The caller drives the adapter while it sleeps. A thread that polls
 * its queues and then sleeps in poll(2) itself seems to poll still; until the background thread has missed its polls for a millisecond
 * no thread may look for messages. Returns 0 if a descriptor is ready (revents say which); ETIMEDOUT; EINTR after a signal handler ran, with
 * SA_RESTART or without; EINVAL: too many.
 */
#define DPL_POLL_FDS 16
int dpl_poll(struct ibv_context *context, struct pollfd *fds, unsigned n, uint64_t until);

/* --- address handles (11.2.2) --- */

/* Query Address Handle (11.2.2.3). */
int dpl_query_ah(struct ibv_ah *ah, struct ibv_ah_attr *attr);
/* Modify Address Handle (11.2.2.2), for work requests posted afterwards; not
 * while another thread posts with it. Errors as ibv_create_ah. */
int dpl_modify_ah(struct ibv_ah *ah, const struct ibv_ah_attr *attr);

/* --- special queue pairs (11.2.4.5) --- */

enum dpl_special_qp { DPL_QP_SMI, DPL_QP_GSI, DPL_QP_RAW_IPV6, DPL_QP_RAW_ETHERTYPE };

/* The Q_Key of queue pair 1 (IBTA 10.2.5), and the bytes of a management datagram (13.4.2). */
#define DPL_GSI_QKEY 0x80010000u
#define DPL_MAD_BYTES 256

/*
 * Get Special QP. DPL_QP_GSI on a RoCE adapter: the queue pair 1 of the port, a datagram queue pair
 * (qp_type reads IBV_QPT_UD, whatever attr->qp_type says) for which ibv_modify_qp, ibv_post_send
 * ... ibv_destroy_qp work as usual, with these differences.
 *
 * It receives management datagrams to QP1 of every class but 0x07, which the adapter's own
 * communication manager answers: 256 bytes behind the 40 of the GRH, with the Q_Key above.
 * Datagrams without a receive are dropped and counted (rx_no_wqe), as are those that arrive while
 * no process has QP1 (rx_no_qp). It sends IBV_WR_SEND (others EINVAL) of exactly 256 bytes (others
 * complete with IBV_WC_LOC_LEN_ERR), to any queue pair, always with that Q_Key; remote_qkey is
 * ignored. Answers to messages of class 0x07 go to the manager. Transaction IDs, retries and RMPP
 * are the program's.
 *
 * RESET to INIT needs IBV_QP_PKEY_INDEX and IBV_QP_QKEY (DPL_GSI_QKEY, others EINVAL; no privilege
 * is needed) and not IBV_QP_PORT, which was given here but may be given again. It cannot join a
 * multicast group (EINVAL).
 *
 * There is one QP1 per address of the adapter on this host: the process that created it keeps it
 * until it destroys it or exits. Any process of the address receives the datagrams and forwards
 * them to that process; while one of them is stopped (SIGSTOP), some datagrams are lost.
 *
 *	EBUSY		this process, or another one at an address of the
 *			adapter, has it
 *	EOPNOTSUPP	the adapter has no such queue pair. DPL_QP_SMI: subnet
 *			management is an InfiniBand link's, Ethernet has none.
 *			DPL_QP_RAW_ETHERTYPE, DPL_QP_RAW_IPV6: raw packets are
 *			not offered. iWARP has none of them. (Not EINVAL: the call is valid
 *			and may succeed on another adapter.)
 *	EINVAL		port_num; type; queue sizes; objects missing or of
 *			another device; then as ibv_create_qp
 */
struct ibv_qp *dpl_create_special_qp(struct ibv_pd *pd, uint8_t port_num,
				     enum dpl_special_qp type, struct ibv_qp_init_attr *attr);

/* --- the adapter (11.2.1) --- */

enum dpl_port_attr_mask {
	DPL_PORT_SET_CAPS = 1 << 0,    /* set_caps and clear_caps */
	DPL_PORT_RESET_QKEY = 1 << 1,  /* Q_Key violation counter to 0 */
	DPL_PORT_NODE_DESC = 1 << 2    /* node_desc */
};

/* Capability bits that Modify HCA may change (enum ibv_port_cap_flags). */
#define DPL_PORT_CAPS_MODIFIABLE                                                   \
	(IBV_PORT_SM | IBV_PORT_SNMP_TUNNEL_SUP | IBV_PORT_DEVICE_MGMT_SUP |       \
	 IBV_PORT_VENDOR_CLASS_SUP)

struct dpl_port_modify {
	uint32_t set_caps, clear_caps; /* within DPL_PORT_CAPS_MODIFIABLE, disjoint */
	char node_desc[64];            /* UTF-8, ends with a 0 unless all 64 are used */
};

/*
 * Modify HCA Attributes (11.2.1.3), as seen by this process. EINVAL: port, an
 * unknown mask bit, other capability bits; ENOMEM.
 */
int dpl_modify_port(struct ibv_context *context, uint8_t port_num,
		    const struct dpl_port_modify *attr, int mask);
/* The node description: what dpl_modify_port set, else the adapter's name. */
int dpl_query_node_desc(struct ibv_context *context, char node_desc[64]);

/* --- event handlers (11.2.7.2, 11.5.2) --- */

typedef void (*dpl_comp_handler)(struct ibv_cq *cq, void *cq_context, void *arg);
typedef void (*dpl_async_handler)(const struct ibv_async_event *event, void *arg);

/*
 * Set Completion Event Handler: handler is called for each event of a channel
 * (ibv_req_notify_cq arms as usual; poll the CQ in the handler). Set
 * Asynchronous Event Handler: the same for a context. NULL removes it.
 *
 * All handlers of a process are called by one thread, made at the first call
 * here, with all signals blocked; one at a time. A handler may use every verb,
 * but must not destroy the object that its event is about (events are
 * acknowledged after it returned), block for long, or end its thread. After a
 * call that replaces or removes a handler the old one no longer runs, except if
 * the call is made in that handler, where it takes effect on return.
 * Remove it before the channel or context is destroyed. Do not read the same
 * events with ibv_get_cq_event or ibv_get_async_event besides. EAGAIN, ENOMEM,
 * EMFILE when the thread cannot be made.
 */
int dpl_set_comp_handler(struct ibv_comp_channel *channel, dpl_comp_handler handler, void *arg);
int dpl_set_async_handler(struct ibv_context *context, dpl_async_handler handler, void *arg);

/* --- failures and counters --- */

/*
 * The last failure on a queue pair of this adapter (qp_num 0: on any), as one
 * English sentence that names both ends. At most n bytes with the final 0.
 * ENOENT: nothing failed; EINVAL: n is 0.
 */
int dpl_why(struct ibv_context *context, uint32_t qp_num, char *buf, size_t n);

/* Keeps a sentence for `dapple why`, as a failure of this process: for libraries above verbs. It says object, cause,
 * consequence and remedy. A process keeps ten a second, after a burst of 64. */
void dpl_say(const char *sentence);

struct dpl_counter {
	const char *name; /* as in a hw_counters folder; static */
	const char *text; /* what it counts; static */
	uint64_t value;
};

/* The counters of a port in this process: fills at most n, returns how many
 * there are, or -1 with errno EINVAL (port), EOPNOTSUPP, EIO. */
int dpl_query_counters(struct ibv_context *context, uint8_t port_num, struct dpl_counter *v,
		       size_t n);

/* --- Reliable Datagram (11.2.3, 11.2.5): names only, for a later release --- */

struct dpl_rdd;
struct dpl_eec;
struct dpl_eec_attr;

/* All refuse: NULL with errno, or the value, EOPNOTSUPP. */
struct dpl_rdd *dpl_alloc_rdd(struct ibv_context *context);
int dpl_dealloc_rdd(struct dpl_rdd *rdd);
struct dpl_eec *dpl_create_eec(struct dpl_rdd *rdd);
int dpl_modify_eec(struct dpl_eec *eec, const struct dpl_eec_attr *attr, int mask);
int dpl_query_eec(struct dpl_eec *eec, struct dpl_eec_attr *attr, int mask);
int dpl_destroy_eec(struct dpl_eec *eec);

#ifdef __cplusplus
}
#endif

#endif

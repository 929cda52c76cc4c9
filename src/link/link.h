/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A datagram link: how packets of a datagram protocol move. The real one is UDP; the simulator and
 * the decorators (capture, fault, delay) implement the same interface and stack on one another.
 * Addresses are 16 bytes, IPv4 as ::ffff:a.b.c.d, so that no layer above asks for the family.
 *
 * All slots are called by one thread at a time (the adapter's progress lock); none blocks. Every
 * link fills every slot; a decorator forwards what it does not change.
 */
#ifndef LINK_LINK_H
#define LINK_LINK_H

#include "link/count.h"
#include "util/flow.h"
#include "util/stage.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* One received datagram, BTH to ICRC. data lies in the link's receive stage at `off`. It is
 * valid until the next recv(). */
struct link_rx {
	const uint8_t *data;
	size_t off;
	uint32_t len;
	uint16_t sport;  /* sender's port, host order */
	uint8_t tos;     /* with the ECN bits */
	uint8_t ttl;
	uint16_t seg;    /* index in a coalesced receive: 0, 1, 2 ... */
	bool passed;     /* by another process, with pass_on() */
	/* InfiniBand links: tos and ttl are those of the GRH, and so are src and dst; all four are 0 without one. */
	bool lids, grh;  /* the packet has an LRH; and a GRH */
	uint8_t sl;
	uint16_t slid, dlid;
	uint32_t flow_label;
	uint8_t src[16], dst[16];
};

/* An ICMP error that the kernel reported about an earlier send. */
struct link_err {
	uint8_t dst[16];
	int error; /* ECONNREFUSED, EHOSTUNREACH, EMSGSIZE ... */
};

/* The process that has sent a datagram, as far as the kernel tells. */
enum link_sender {
	LINK_SENDER_UNKNOWN,  /* of another host, or the kernel does not tell */
	LINK_SENDER_PEER,     /* of the user who has the link's port on its source address */
	LINK_SENDER_STRANGER, /* of this host, and of another user or gone */
};

#define LINK_FIRST_LEFT 1

struct link;

struct link_ops {
	/*
	 * Sends data[0..len) as datagrams of seg bytes each to queue pairs of the process that has qpn, the last one may
	 * be shorter; at most link->train_bytes and link->train_packets. The
	 * IPv4 identification of packet i is i (0, 1, 2 ...). Returns 0,
	 * -EAGAIN (nothing was sent: the socket is full), or -errno (lost; the
	 * reliability above repairs).
	 */
	int (*send)(struct link *l, const struct ut_flow *f, uint32_t qpn, const uint8_t *data,
		    size_t len, size_t seg);
	/*
	 * Sends `first`, one datagram that is a response, and data behind it as send() does, in one system call if the link
	 * can. `first` waits for no better way. Returns 0; -EAGAIN: nothing was sent; LINK_FIRST_LEFT: the socket is full, and
	 * data is to be sent again without `first`; -errno: as send() of data. Default: link_default_send_after, by two sends.
	 */
	int (*send_after)(struct link *l, const struct iovec *first, const struct ut_flow *f, uint32_t qpn,
			  const uint8_t *data, size_t len, size_t seg);
	/*
	 * The source port that packets of this flow will carry, host order; the
	 * ICRC covers it. Opens what is needed for f->sport; falls back to the
	 * listening port. Holds until the next call for another flow.
	 */
	uint16_t (*source_port)(struct link *l, const struct ut_flow *f);
	/* Receives up to max datagrams into v. Returns their number, 0 if none waits. */
	int (*recv)(struct link *l, struct link_rx *v, int max);
	/*
	 * Receives the train that the last recv() left with the system (kept_len > 0) once more,
	 * into these pieces, in order. Returns 0: the same bytes as in the stage; -errno: some may
	 * have arrived. In both cases nothing is kept afterwards. Default: link_default_take, of
	 * links that keep nothing.
	 */
	int (*take)(struct link *l, const struct iovec *iov, int n);
	/* Returns whose socket a received datagram has come from. Makes system calls: for what is unusual. */
	enum link_sender (*sender)(struct link *l, const struct link_rx *rx);
	/* Takes the oldest error report. Returns 1, or 0 if there is none. */
	int (*error)(struct link *l, struct link_err *ret);
	/* Adds or removes a local address. Returns 0, -EADDRINUSE (another user or the kernel has
	 * the port), ... Removing an unknown one returns 0. */
	int (*add_addr)(struct link *l, const uint8_t addr[16], uint32_t scope);
	void (*del_addr)(struct link *l, const uint8_t addr[16]);
	int (*join)(struct link *l, const uint8_t group[16], uint32_t ifindex);
	void (*leave)(struct link *l, const uint8_t group[16], uint32_t ifindex);
	/*
	 * Claims and releases service IDs (IBTA 12.7.3), which are shared with the other processes
	 * on the same addresses: a request that names one reaches the process that claimed it. addr
	 * is a local address of this link; the claim stays when that address goes and comes again.
	 * Returns 0, -EADDRINUSE (another process or this link has it), -EADDRNOTAVAIL, -EMFILE ...
	 * Releasing an ID that is not claimed does nothing.
	 */
	int (*claim)(struct link *l, const uint8_t addr[16], uint64_t service);
	void (*unclaim)(struct link *l, const uint8_t addr[16], uint64_t service);
	/*
	 * Passes a received datagram to the claimant of (rx->dst, service). Returns 1 (passed, or
	 * lost for want of room there), or 0 if no other process has claimed the service. It comes
	 * out of the claimant's recv() with `passed` set and is never passed on again.
	 */
	int (*pass_on)(struct link *l, const struct link_rx *rx, uint64_t service);
	/* Other processes on the same addresses may read this sealed memory when this process dies
	 * without close(); the descriptor stays the caller's, and open. */
	void (*entrust)(struct link *l, int fd);
	/*
	 * Returns the memory of a process that died so, and the address that it shared with this
	 * one; valid until the next call. NULL: no (further) process has died. Its bytes were
	 * written by another process.
	 */
	const void *(*dead_peer)(struct link *l, uint8_t ret_addr[16], size_t *ret_len);
	/*
	 * Returns a descriptor that is readable (epoll) when recv or error may have something; it
	 * stays the same for life. -1: the owner drives virtual time. It is an epoll set, to which
	 * the owner may add a descriptor of its own with data 0; the link ignores that one.
	 */
	int (*fd)(struct link *l);
	/*
	 * on: no thread calls recv() from here on before the descriptor is readable, so it becomes
	 * readable for whatever comes; off: a thread does. look: it becomes readable once now, for
	 * what may have come meanwhile. Called from any thread.
	 */
	void (*sleep)(struct link *l, bool on, bool look);
	/*
	 * on, of a link that was told to sleep: the thread that has the descriptor calls recv() as well, at once where
	 * `hidden` is not 0, so the descriptor need not show all that comes; off: it shows all again. Called from any thread, as
	 * sleep(), which ends it either way. Default: link_default_attend, of links that always show all.
	 */
	void (*attend)(struct link *l, bool on);
	/*
	 * Names the ends of a flow as host/ knows them, for the shm channel, if packets of this P_Key with `mtu` bytes of
	 * payload pass from one to the other now. Returns 0; -EAGAIN: it is not known yet, ask again; -EHOSTUNREACH: they do
	 * not pass. An answer holds until l->routes moves. Default: link_default_ends, the flow itself.
	 */
	int (*ends)(struct link *l, const struct ut_flow *f, uint16_t pkey, uint32_t mtu, struct ut_flow *ret);
	/* Returns where packets of a flow between LIDs are counted that do not take this link, since messages of the shm channel
	 * stand for them (link/count.h); NULL: they are not counted. It stays until close(). Default: link_default_count. */
	struct link_count *(*count)(struct link *l, const struct ut_flow *f);
	/* In the child of a fork, whose only thread calls it, instead of close(): closes the descriptors that are not members of
	 * fd(); the parent may have been in the middle of any call. Default: link_default_forked, there are none. */
	void (*forked)(struct link *l);
	/* Closes the link: no more sends; frees it. */
	void (*close)(struct link *l);
};

struct link {
	const struct link_ops *ops;
	struct ut_stage *rx_stage;  /* where received data lies */
	size_t train_bytes;         /* largest len of one send */
	unsigned train_packets;     /* largest number of packets in one send */
	uint16_t port;              /* destination port of every packet, host order */
	/*
	 * keep: set by the owner while it places whole trains into the application's memory, which
	 * the system does faster from its own buffers than from the stage. Then recv() may hand out
	 * one train, in the stage at kept_off, that take() can receive again until the next recv().
	 */
	bool keep;
	/* Set by the owner around a recv(): datagrams that fd() shows as well may stay unread, and
	 * no system call is made. */
	bool cheap;
	/* Set by the owner around a recv(): this round has found messages by the shm channel, so sockets are
	 * asked only when their turn has come. */
	bool local_news;
	size_t kept_off, kept_len;
	size_t spare_off, spare_len; /* of the stage: for a decorator that receives in other ways */
	const _Atomic unsigned *hidden; /* sockets that fd() does not show now; NULL: it shows all (attend()) */
	uint32_t rx_window;         /* bytes a peer may have in flight to us safely */
	uint32_t routes;            /* moves when ends() may answer otherwise than before */
	/* Bits of every QPN of this link's owner: fixed & ~mask. Known after the first add_addr()
	 * that succeeded. */
	uint32_t qpn_fixed, qpn_mask;
	/* Set by the owner around its own last sends or those of a queue pair, and around responses: no
	 * datagram waits for a better way now. */
	bool leaving;
	/* Set by the owner: QPNs or IDs with these bits were given out, so they must not change any
	 * more (add_addr() refuses an address that would need others). */
	bool qpn_given;
	/* Set by a decorator for the same reason: datagrams were sent or received by another way
	 * under these bits. */
	bool in_use;
};

static inline int link_default_send_after(struct link *l, const struct iovec *first, const struct ut_flow *f,
					  uint32_t qpn, const uint8_t *data, size_t len, size_t seg)
{
	bool leaving = l->leaving;
	int r;

	l->leaving = true;
	r = l->ops->send(l, f, qpn, (const uint8_t *)first->iov_base, first->iov_len, first->iov_len);
	l->leaving = leaving;
	if (r == -EAGAIN)
		return r;
	r = l->ops->send(l, f, qpn, data, len, seg);
	return r == -EAGAIN ? LINK_FIRST_LEFT : r;
}

/* Returns -EAGAIN. */
static inline int link_default_take(struct link *l, const struct iovec *iov, int n)
{
	return -EAGAIN;
}

/* Links whose addresses are those of host/, and whose routes are the network's. Returns 0. */
static inline int link_default_ends(struct link *l, const struct ut_flow *f, uint16_t pkey, uint32_t mtu,
				    struct ut_flow *ret)
{
	*ret = *f;
	return 0;
}

static inline struct link_count *link_default_count(struct link *l, const struct ut_flow *f)
{
	return NULL;
}

static inline void link_default_attend(struct link *l, bool on)
{
}

static inline void link_default_forked(struct link *l)
{
}

#endif

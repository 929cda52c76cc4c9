/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A datagram link: how packets of a datagram protocol move. The real one is
 * UDP; the simulator and the decorators (capture, fault, delay) speak the same
 * interface and stack on one another. Addresses are 16 bytes, IPv4 as
 * ::ffff:a.b.c.d, so that nobody above ever asks for the family.
 *
 * All slots are called by one thread at a time (the adapter's progress lock);
 * none blocks. Every link fills every slot; a decorator forwards what it does not change.
 */
#ifndef LINK_LINK_H
#define LINK_LINK_H

#include "util/flow.h"
#include "util/stage.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One received datagram. data lies in the link's receive stage at `off`. It is
 * valid until the next recv(). */
struct link_rx {
	const uint8_t *data;
	size_t off;
	uint32_t len;
	uint16_t sport;  /* sender's port, host order */
	uint8_t tos;     /* with the ECN bits */
	uint8_t ttl;
	uint16_t seg;    /* place in a coalesced receive: 0, 1, 2 ... */
	bool passed;     /* by another process, pass_on() */
	uint8_t src[16], dst[16];
};

/* What the kernel reported about an earlier send (ICMP). */
struct link_err {
	uint8_t dst[16];
	int error; /* ECONNREFUSED, EHOSTUNREACH, EMSGSIZE ... */
};

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
	 * The source port that packets of this flow will carry, host order; the
	 * ICRC covers it. Opens what is needed for f->sport; falls back to the
	 * listening port. Holds until the next call for another flow.
	 */
	uint16_t (*source_port)(struct link *l, const struct ut_flow *f);
	/* Up to max datagrams into v. Returns how many, 0 = none waiting. */
	int (*recv)(struct link *l, struct link_rx *v, int max);
	/*
	 * The train that the last recv() left with the system (kept_len > 0) goes once more, this
	 * time into these pieces, in order. 0: the same bytes as in the stage; -errno: some may
	 * have arrived. Whatever the result, nothing is kept after it. Default: link_default_take, of links
	 * that keep nothing.
	 */
	int (*take)(struct link *l, const struct iovec *iov, int n);
	/* Takes the oldest report: 1, or 0 if there is none. */
	int (*error)(struct link *l, struct link_err *ret);
	/* Local addresses: 0, -EADDRINUSE (another user or the kernel has the
	 * port), ... del of an unknown one is 0. */
	int (*add_addr)(struct link *l, const uint8_t addr[16], uint32_t scope);
	void (*del_addr)(struct link *l, const uint8_t addr[16]);
	int (*join)(struct link *l, const uint8_t group[16], uint32_t ifindex);
	void (*leave)(struct link *l, const uint8_t group[16], uint32_t ifindex);
	/*
	 * Service IDs (IBTA 12.7.3) shared with the other processes on the same
	 * addresses: a request that names one reaches whoever claimed it. addr is a
	 * local address of this link; the claim stays when that address goes and comes
	 * again. 0, -EADDRINUSE (another process or this link has it), -EADDRNOTAVAIL,
	 * -EMFILE ... unclaim of what is not claimed is nothing.
	 */
	int (*claim)(struct link *l, const uint8_t addr[16], uint64_t service);
	void (*unclaim)(struct link *l, const uint8_t addr[16], uint64_t service);
	/* Hands a received datagram to the claimant of (rx->dst, service): 1 (it was taken, or
	 * is lost for want of room there), or 0 if no other process has claimed the service.
	 * It comes out of the claimant's recv() with `passed` set and is never passed on again. */
	int (*pass_on)(struct link *l, const struct link_rx *rx, uint64_t service);
	/*
	 * Other processes on the same addresses shall see what is in this sealed memory
	 * when this one dies without close(); the descriptor stays the caller's, and open.
	 */
	void (*entrust)(struct link *l, int fd);
	/* What such a process left, and the address that it shared with us; valid until the next
	 * call. NULL: no (further) one has died. Its bytes are those of another process. */
	const void *(*dead_peer)(struct link *l, uint8_t ret_addr[16], size_t *ret_len);
	/* A descriptor that is readable (epoll) when recv or error may have
	 * something; stays the same for life. -1: the owner drives virtual time. An epoll
	 * set, to which the owner may add a descriptor of its own with data 0; the link
	 * passes over that. */
	int (*fd)(struct link *l);
	/*
	 * on: nobody calls recv() from here on before the descriptor is readable, so make it
	 * readable for whatever comes; off: somebody does. look: make it readable once now, for
	 * what may have come meanwhile. From any thread.
	 */
	void (*sleep)(struct link *l, bool on, bool look);
	/* Close: no more sends; frees. */
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
	 * the system does faster from where they are than from the stage. Then recv() may hand out
	 * one train, in the stage at kept_off, that take() can have again until the next recv().
	 */
	bool keep;
	/* Set by the owner around a recv(): what fd() shows as well may be left there, and nothing is
	 * asked of the system. */
	bool cheap;
	/* Set by the owner around a recv(): this round has found messages by the shm channel, so sockets are
	 * asked only when their turn has come. */
	bool local_news;
	size_t kept_off, kept_len;
	size_t spare_off, spare_len; /* of the stage: for a decorator that receives in other ways */
	uint32_t rx_window;         /* bytes a peer may have in flight to us safely */
	/* Bits of every QPN of this link's owner: fixed & ~mask. Known after the
	 * first add_addr that succeeded. */
	uint32_t qpn_fixed, qpn_mask;
	/* Set by the owner around the last sends of its own or of a QP: nothing is held back for a
	 * better way now. */
	bool leaving;
	/* Set by the owner: QPNs or IDs with these bits were given out, they must not change
	 * any more (add_addr refuses an address that would need others). */
	bool qpn_given;
	/* Set by a decorator: datagrams went or came in another way under these bits, likewise. */
	bool in_use;
};

/* Returns -EAGAIN. */
static inline int link_default_take(struct link *l, const struct iovec *iov, int n)
{
	return -EAGAIN;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Probes of silent connections. Silence says nothing about the peer: an end that only awaits
 * messages would wait for a dead peer for ever. A request that was acknowledged already may always
 * be sent again: the responder acknowledges a duplicate and does nothing else (IBTA 9.7.5.1.1,
 * C9-105). So any adapter answers, and a host without one refuses the datagram.
 */
#ifndef PROTO_IB_PROBE_H
#define PROTO_IB_PROBE_H

#include <stdint.h>

#include <stdbool.h>

struct eng_dev;
struct ibp_port;
struct ibp_qp;

/*
 * For the watch of a connection of `qpn` to `peer`. Returns 1 if a packet of the peer has come
 * after `since`; 0: a probe leaves with the next transmit; -ENOENT, -EOPNOTSUPP (type or state),
 * -EAGAIN: no probe can be sent. Called with dev->lock held.
 */
int ibp_probe(struct eng_dev *dev, uint32_t qpn, uint32_t peer, uint64_t since);
/* Returns true if the queue pair can ask its peer on the wire: its type and state allow requests. */
bool ibp_probe_may_ask(const struct ibp_qp *q);
/* Sends a probe, whatever is outstanding. Returns 0, or -EAGAIN: there is no room. */
int ibp_probe_ask(struct ibp_qp *q);
/* Processes of this host have died (shm_channel_ops.next_died): the connected queue pairs whose requests they would have
 * answered go to ERR together, at once, or repeat them where another process has the slot by now. On the wire only a
 * timeout can tell. Called with dev->lock held. */
void ibp_processes_gone(struct ibp_port *port);
/* The peer process is dead: a connected queue pair goes to ERR, its requests complete. */
void ibp_peer_gone(struct eng_dev *dev, uint32_t qpn, uint32_t peer);

#endif

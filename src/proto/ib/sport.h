/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The UDP source ports of a connection's peer (annex A17.4.2: entropy, which an adapter may choose and change). A
 * packet from another port than the peer's is not the peer's for all we know:
 *
 *     first packet in order         its port is the peer's
 *     that port, or the one before  admitted; one word is compared
 *     another port, local sender    the kernel names the owner of the socket: the peer's user is admitted at once,
 *                                   another user never (link_ops.sender)
 *     another port, else            dropped, and the peer is asked for an acknowledgement (probe.h). Its answer comes
 *                                   from the new port: that is the proof. A request in order that was dropped
 *                                   meanwhile is asked for by a NAK.
 *
 * A forger that guesses the PSN of that answer has a few tries for each question. A duplicate that asks for an
 * acknowledgement gets one whatever its port, IBP_SPORT_PAUSE apart: where both ports change at once, both ends drop
 * what comes and ask, and each question is such a duplicate. The acknowledgement goes to the peer, and tells a
 * forger nothing.
 *
 * An end that cannot ask (state RTR, XRC target) takes a request in order for the proof. Ports change, and peers are
 * asked, IBP_SPORT_PAUSE apart at least. UC has no acknowledgements: another port is taken for the peer's if the PSN is
 * near the next one, or if nothing has come from the peer for a while, but not if it is another user's of this host.
 * Not for UD. Congestion notifications, which adapters send from ports of their own, come from any port but another
 * user's of this host.
 */
#ifndef PROTO_IB_SPORT_H
#define PROTO_IB_SPORT_H

#include <stdbool.h>
#include <stdint.h>

struct ibp_qp;
struct link_rx;
struct wire_ib_packet;

#define IBP_SPORT_NONE 0x10000u               /* no port */
#define IBP_SPORT_PAUSE (100 * 1000000ull)    /* ns */
#define IBP_SPORT_ANSWER (1000 * 1000000ull)  /* ns: answers later than that prove nothing */
#define IBP_SPORT_REACH 4096                   /* packets: fewer get lost in a row, or are in flight */
#define IBP_SPORT_GUESSES 16                  /* wrong answers to one question, then no answer proves anything */

struct ibp_sport {
	uint32_t known;  /* the port of the peer's newest packet; IBP_SPORT_NONE: none has come */
	uint32_t before; /* another one that it has used */
	bool asked, answered, changed, missed; /* asked_at, ... are valid; a request in order was dropped */
	uint8_t guesses;             /* wrong answers that are left to the last question */
	uint64_t asked_at, answered_at, changed_at;
};

/* Nothing is known of the peer. */
void ibp_sport_reset(struct ibp_sport *s);
/* Returns true if a packet on the wire from a port that is not `known` is admitted; else it is counted. It lies
 * between the addresses of the connection; its ICRC is checked here. */
bool ibp_sport_admits(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stream of octets moves to another connection (IBTA volume 1, annex A4: SuspComm), as for a socket that becomes another process's.
 *
 *   the end that moves                            its peer
 *     (its advertisements have ended)
 *     SuspComm, a service ID ------------------->   advertises no more; what it has advertised is void
 *     answers, Data of the peer <----------------
 *     <------------------------------ SuspCommAck   the last message of this connection
 *     disconnects
 *     the new owner listens at that service <----   Hello, from the same address
 *     HelloAck --------------------------------->
 *
 * No octet is lost: a message leaves before SuspCommAck, or on the new connection. Advertisements of the peer that have not ended when
 * SuspComm leaves, or cross with it, are void, and so are their cancellations; what they name and has not been read is sent again there,
 * which is in Combined mode with numbers and credits of its own. A DisConn is sent again too, by either end. If SuspComms cross, that of
 * the end that had connected is in force, and the other one is sent again there. One that crosses with the end of the connection has no effect.
 * Annex A4 is not public, and OpenIB's and OFED's ends take SuspComm without any effect: the order above is this library's.
 */
#ifndef ULP_SDP_SUSPEND_H
#define ULP_SDP_SUSPEND_H

#include <stdbool.h>
#include <stdint.h>

struct sdp_conn;
struct sdp_msg;

/*
 *   GOES_ON -> WANTED -> SENT -> MOVED       the end that moves
 *   GOES_ON -> ASKED -> ANSWERED -> GOES_ON  its peer; or from WANTED or SENT; and to WANTED, if it wants to move, too
 */
enum sdp_suspension { SDP_GOES_ON, SDP_SUSPEND_WANTED, SDP_SUSPEND_SENT, SDP_MOVED, SDP_SUSPEND_ASKED, SDP_SUSPEND_ANSWERED };

struct sdp_suspend {
	enum sdp_suspension state;
	uint64_t own, service;          /* to which this end moves the stream, if it wants to; and the peer */
	bool crossed;                   /* SENT: a SuspComm of the peer has come that is not in force */
	int64_t until;                  /* SENT, ANSWERED: for the peer's part */
};

/* SuspComm, SuspCommAck have come. */
int sdp_suspend_asked(struct sdp_conn *c, uint64_t service);
int sdp_suspend_answered(struct sdp_conn *c);
/* True if SuspComm waits only for answers of this end, which therefore reads nothing more. */
bool sdp_suspend_is_next(const struct sdp_conn *c);
/* Sends the message that is due, or ends the connection if the peer does not go on. */
int sdp_suspend_progress(struct sdp_conn *c);
/* The connection has ended in its order: the stream goes on by another one, if this end is the one that stays. Returns 0 or a negative errno. */
int sdp_suspend_disconnected(struct sdp_conn *c);

#endif

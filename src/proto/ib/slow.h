/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The conditions that make a direction of a connection slow, each said once: it is one bit of
 * req.slow or resp.slow, and most have no other home: the bit is the condition. A shortcut - fast
 * path, direct access, coalescing - tests whether the word is zero, and leaves everything else to
 * the full rules of requester and responder. The framing is no condition: req.framing and
 * resp.framing name it.
 *
 * All of this is guarded by the adapter's progress lock.
 */
#ifndef PROTO_IB_SLOW_H
#define PROTO_IB_SLOW_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Of a requester. Each bit closes all shortcuts, although some could do without one or the other:
 * direct access uses no end-to-end credits, but no responder grants them on the local path. Only
 * coalescing ignores two (coalesce.c). A requester that recovers may have sent again all that it
 * sent before; its next packet still follows the rules of a retry (one packet beyond a shrunken
 * window, and an acknowledgement asked for at once).
 */
enum ibp_req_slow {
	IBP_REQ_SERVICE = 1 << 0,     /* the service is not RC */
	IBP_REQ_STATE = 1 << 1,       /* the queue pair is not in RTS: also while SQD drains */
	IBP_REQ_UNCHOSEN = 1 << 2,    /* the framing is not known yet */
	IBP_REQ_IN_MESSAGE = 1 << 3,  /* the cursor is inside a message */
	IBP_REQ_BEHIND = 1 << 4,      /* the cursor is on a packet that was sent before */
	IBP_REQ_RNR_WAIT = 1 << 5,    /* the responder had no receive; the timer ends this */
	IBP_REQ_RECOVERING = 1 << 6,  /* the cursor went back, and no packet was acknowledged since */
	IBP_REQ_HALTED = 1 << 7,      /* a local error waits for its turn at the head of the queue */
	IBP_REQ_LIMITED = 1 << 8,     /* end-to-end credits count (IBTA 9.7.7.2), with ssn and lsn */
	IBP_REQ_ROUTE = 1 << 9,      /* messages have no route now, or the next one shows its P_Key (route.h) */
	IBP_REQ_MIGRATION = 1 << 10, /* an alternate path is armed, or to be (migrate.h) */
};

/* Of a responder. */
enum ibp_resp_slow {
	IBP_RESP_SERVICE = 1 << 0,    /* the service is not RC */
	IBP_RESP_STATE = 1 << 1,      /* neither RTS, nor RTR after its first message */
	IBP_RESP_UNCHOSEN = 1 << 2,   /* the framing is not known yet */
	IBP_RESP_IN_MESSAGE = 1 << 3, /* recv.message is not IBP_NONE */
	IBP_RESP_GAP = 1 << 4,        /* requests ahead of epsn get no further NAK */
	IBP_RESP_DEAD = 1 << 5,       /* a fatal NAK is owed or was sent */
	IBP_RESP_ROUTE = 1 << 6,      /* messages have no route now (route.h) */
	IBP_RESP_MIGRATION = 1 << 7,  /* as of a requester */
	IBP_RESP_RULES = 1 << 8,      /* the port has rules of faults for requests */
};

static inline void ibp_slow_put(uint32_t *slow, uint32_t bit, bool on)
{
	*slow = on ? *slow | bit : *slow & ~bit;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reliable multi-packet protocol (IBTA vol 1, 13.6) in both roles, as Linux does it (ib_core): messages longer
 * than a MAD travel as segments of 256 bytes, each with the headers of the class. Pure: MADs, addresses and time come
 * in, MADs go out by transmit().
 *
 *	sender                                     receiver
 *	DATA 1 (first, length of all)        ->
 *	                                     <-    ACK 1, window up to 65
 *	DATA 2 ... 65                        ->
 *	                                     <-    ACK 65, window up to 129
 *	DATA n (last, length of this one)    ->
 *	                                     <-    ACK n; the message is complete
 *	without ACK for 2 s: again from the       segments ahead of a lost one are kept;
 *	last one that was acknowledged            duplicates are acknowledged again
 *	                                           40 s without an end: ABORT; 10 s after the end: forgotten
 *
 * If the message is a request whose answer has segments too (GetMulti), the sender acknowledges the last ACK with
 * segment 0 and a window, which opens the answer.
 */
#ifndef MGMT_RMPP_H
#define MGMT_RMPP_H

#include "link/fabric/attach.h"
#include "util/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RMPP_WINDOW 64            /* segments that a receiver takes ahead: 1/8 of a receive queue of 512 in the kernel */
#define RMPP_ACK_MS 2000          /* longest wait for an ACK */
#define RMPP_RECEIVE_S 40         /* longest time of a message at its receiver */
#define RMPP_FINISHED_S 10        /* for which a finished one is remembered */
#define RMPP_OPEN_MAX 1024        /* unfinished messages of a receiver: more are not begun */
#define RMPP_FINISHED_MAX 4096    /* finished ones: the oldest is forgotten first */
#define RMPP_BYTES_MAX (1u << 30) /* of all unfinished messages of a receiver: more are stopped (status 1) */

/* Where a machine sends its MADs. */
struct rmpp_out {
	void (*transmit)(void *ctx, const struct att_addr *to, const uint8_t mad[ATT_MAD_LENGTH]);
	void *ctx;
};

/* True if the MAD is a part of a message: its class may have them, and the flag ACTIVE is set. */
bool rmpp_is_active(const uint8_t *mad);

/* --- sender --- */

struct rmpp_send {
	const uint8_t *message;   /* headers of the class, then data; the caller's, until the end */
	size_t length;
	struct att_addr to;
	uint32_t segments;
	uint32_t sent, acked;     /* highest segment */
	uint32_t window;          /* highest segment that may be sent */
};

/* length: of message, at least the headers of its class. window: highest segment that may be sent at first: 1, or
 * what rmpp_receive_window() says. */
void rmpp_send_init(struct rmpp_send *s, const uint8_t *message, size_t length, const struct att_addr *to,
		    uint32_t window);
/* Sends what the window permits. */
void rmpp_send_more(struct rmpp_send *s, const struct rmpp_out *out);
/* Sends again from the first segment that is not acknowledged. */
void rmpp_send_again(struct rmpp_send *s, const struct rmpp_out *out);
static inline bool rmpp_send_done(const struct rmpp_send *s)
{
	return s->acked == s->segments;
}

enum rmpp_verdict {
	RMPP_NOTHING,     /* old, or nothing new */
	RMPP_PROGRESS,    /* more is acknowledged: retries begin anew */
	RMPP_DONE,        /* all is acknowledged */
	RMPP_REPEATED,    /* all was acknowledged before */
	RMPP_ENDED        /* the receiver has ended it, or broke the protocol (then an ABORT has left) */
};

/*
 * Takes an ACK, STOP or ABORT for this message. need_answer: the message is a request: its last ACK is acknowledged.
 * After RMPP_PROGRESS the caller calls rmpp_send_more().
 */
enum rmpp_verdict rmpp_send_reply(struct rmpp_send *s, const struct att_addr *from, const uint8_t *mad, bool need_answer,
				  const struct rmpp_out *out);
/* Answers a reply that belongs to no message: aborts what is malformed. */
void rmpp_send_stray(const struct att_addr *from, const uint8_t *mad, const struct rmpp_out *out);

/* --- receiver --- */

#define RMPP_BUCKETS 64

struct rmpp_receiver {
	struct ut_list buckets[RMPP_BUCKETS]; /* of struct rmpp_receive, by transaction ID */
	struct ut_list open, finished;        /* the oldest first */
	unsigned n_open, n_finished;
	size_t bytes;
};

/* A complete message. */
struct rmpp_message {
	uint8_t *bytes;           /* headers of the first segment, then data; for free() */
	size_t length;
	struct att_addr from;
};

void rmpp_receiver_init(struct rmpp_receiver *r);
void rmpp_receiver_fini(struct rmpp_receiver *r);
/* Takes an active MAD of type DATA, or one of a version or type that is none. now in ns. Returns true with a message. */
bool rmpp_receive(struct rmpp_receiver *r, const struct att_addr *from, const uint8_t *mad, uint64_t now,
		  const struct rmpp_out *out, struct rmpp_message *ret);
/* Takes an ACK with segment 0 for a message that has been received: the window of its answer. */
void rmpp_receive_opening(struct rmpp_receiver *r, const struct att_addr *from, const uint8_t *mad);
/* The window of an answer to this address: of the request that it answers, else 1. */
uint32_t rmpp_receive_window(const struct rmpp_receiver *r, const struct att_addr *to, const uint8_t *mad);
/* Ends what is too old. */
void rmpp_receive_expire(struct rmpp_receiver *r, uint64_t now, const struct rmpp_out *out);
/* The next time to call it, in ns; UINT64_MAX: none. Finished messages are forgotten at any later call. */
uint64_t rmpp_receive_next(const struct rmpp_receiver *r);

#endif

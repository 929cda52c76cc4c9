/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What becomes of a post without a round of progress: the question that a thread which has posted asks of
 * the protocol, and the answers.
 */
#ifndef PROTO_POST_H
#define PROTO_POST_H

/* How the protocol may execute what was posted to a queue pair. Bits. */
enum proto_post {
	PROTO_POST_BY_APP = 1, /* a thread of the application calls: plain loads and stores reach its memory */
	PROTO_POST_SEND = 2,   /* messages may leave without a round */
	PROTO_POST_BATCH = 4,  /* much was posted since the last poll: the next one cannot be far, and messages
				* may wait for it where the reader shares memory */
	PROTO_POST_MANY = 16,  /* much was posted before the last poll, too: what is posted now may coalesce, which a round
				* decides */
	PROTO_POST_ACKS = 8,   /* PROTO_AFTER_ACKS is a useful answer */
};

enum proto_posted {
	PROTO_NEEDS_ROUND, /* some of it waits for eng_proto_ops.qp_kick() and a round */
	PROTO_EXECUTED,    /* all of it is complete, without any help of the peer */
	PROTO_SENT,        /* all of it is on its way */
	PROTO_SENT_SELF,   /* the same, and part of it to this process: a round takes that in */
	/* Only unprocessed acknowledgements may prevent execution: ask again when what has come is taken in. */
	PROTO_AFTER_ACKS,
	PROTO_NEEDS_TIME,  /* it can be executed by a thread that knows the time: ask again with it */
};

#endif

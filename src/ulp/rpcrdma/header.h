/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The transport header of RPC over RDMA version 1 (RFC 8166, 4): read with bounds, checked, and written.
 * Neither memory of the peer nor verbs are touched here.
 *
 *    xid  version  credits  procedure
 *    read list:    position, segment    a chunk is what has one position
 *    write list:   chunks of segments
 *    reply chunk:  segments, or none
 *    [RPC message, if the procedure is RDMA_MSG]
 */
#ifndef ULP_RPCRDMA_HEADER_H
#define ULP_RPCRDMA_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ulp/rpcrdma/fields.h"

#define RPR_READS_MAX 128	/* segments of the read list */
#define RPR_SEGMENTS_MAX 256	/* of write list and reply chunk together */
#define RPR_WRITES_MAX 16	/* chunks of the write list */
#define RPR_CREDITS_MAX 1024	/* a larger number of a peer is cut to it */

struct rpr_segment {
	uint32_t handle;
	uint32_t length;
	uint64_t offset;
};

struct rpr_read {
	uint32_t position;
	struct rpr_segment segment;
};

/* Segments [first, first + nr) of the header. */
struct rpr_chunk {
	uint16_t first, nr;
};

struct rpr_header {
	uint32_t xid;
	uint32_t vers;
	uint32_t credits;
	uint32_t proc;                 /* enum rpr_proc */
	uint16_t nr_reads, nr_writes, nr_segments;
	bool has_reply;
	struct rpr_chunk writes[RPR_WRITES_MAX];
	struct rpr_chunk reply;
	uint32_t error, low, high;     /* of RPR_ERROR; low and high with RPR_ERR_VERS */
	struct rpr_read reads[RPR_READS_MAX];
	struct rpr_segment segments[RPR_SEGMENTS_MAX];
};

/*
 * What is wrong with a received message. RPR_GOOD is 0. Each has one row: what is answered, and a sentence.
 */
enum rpr_verdict {
	RPR_GOOD,
	RPR_SHORT,             /* no xid: nothing can be answered */
	RPR_BAD_VERSION,
	RPR_BAD_PROC,
	RPR_CUT,
	RPR_BAD_WORD,
	RPR_MANY_READS,
	RPR_MANY_SEGMENTS,
	RPR_MANY_WRITES,
	RPR_BAD_SEGMENT,
	RPR_BAD_POSITION,
	RPR_BAD_ORDER,
	RPR_NO_BODY,
	RPR_TWO_BODIES,
	RPR_TOO_LONG,
	RPR_BAD_RPC,
	RPR_OTHER_XID,
	RPR_CREDITS,
	RPR_CHUNK_SHORT,
	RPR_REPLY_SHORT,
	RPR_BAD_REPLY,
	RPR_NR_VERDICTS,
};

struct rpr_rule {
	uint32_t answer;       /* enum rpr_err; 0: the connection ends */
	const char *sentence;  /* the rule that was broken, without the name of the peer */
};
extern const struct rpr_rule rpr_rules[RPR_NR_VERDICTS];

/* Reads a transport header. Returns RPR_GOOD, and *ret_len bytes were the header; the RPC message, if
 * RPR_MSG, lies behind. xid, vers and credits are filled whenever the first 16 bytes are there. */
enum rpr_verdict rpr_header_get(struct rpr_header *h, const void *data, size_t len, size_t *ret_len);

/* The length of the header when written. */
size_t rpr_header_len(const struct rpr_header *h);

/* Writes the header. Returns its length, or 0 if it does not fit. */
size_t rpr_header_put(const struct rpr_header *h, void *out, size_t size);

/* The bytes that the segments of a chunk hold. */
uint64_t rpr_chunk_len(const struct rpr_header *h, struct rpr_chunk c);

/* Begins a header without chunks. */
void rpr_header_init(struct rpr_header *h, uint32_t xid, uint32_t credits, enum rpr_proc proc);

/* Adds a segment to the reply chunk, or to the last chunk of the write list. Returns false if there is
 * no room. A chunk must be complete before the next one begins. */
bool rpr_header_add_reply(struct rpr_header *h, struct rpr_segment s);
bool rpr_header_add_write(struct rpr_header *h, struct rpr_segment s, bool begins_chunk);
bool rpr_header_add_read(struct rpr_header *h, uint32_t position, struct rpr_segment s);

/*
 * Gives the segments of a chunk the lengths that `used` bytes in them make, as a responder returns them.
 * Returns false if they do not fit.
 */
bool rpr_chunk_use(struct rpr_header *h, struct rpr_chunk c, uint64_t used);

#endif

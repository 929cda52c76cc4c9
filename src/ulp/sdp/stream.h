/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection of SDP as a blocking stream in the program's own process: send and receive as of a socket, without a carrier
 * in between. One thread at a time. Octets from conf.advertise on move without a copy: the sender's memory is advertised by
 * SrcAvail, that of a receiver that waits by SinkAvail.
 *
 * A call that has to wait polls for spin_us, and for as long as the octets take that one of the ends fetches; then it sleeps.
 */
#ifndef ULP_SDP_STREAM_H
#define ULP_SDP_STREAM_H

#include "ulp/sdp/conn.h"

#include <sys/types.h>

/* Longer sends are of the program's memory, unless the peer is local (sdp_send_is_local()). Others are copied to the stage, while the peer
 * fetches those before. */
#define SDP_STREAM_STAGED 65536

/* True if the next octets of a send of which len are left may go from the program's memory now. */
static inline bool sdp_stream_goes_direct(const struct sdp_conn *c, size_t len)
{
	return len > SDP_STREAM_STAGED && !sdp_send_is_local(c) && sdp_send_may_begin(c);
}

/*
 * As sdp_conf_default, with receives of 16 KiB of octets and advertisements of what takes more than one: without a carrier a copy
 * more at each end costs more than two messages.
 */
extern const struct sdp_conf sdp_conf_stream;

struct sdp_stream {
	struct sdp_conn *c;
	uint32_t zero_copy;     /* octets from which on memory is registered; 0: never */
	int64_t spin_ns;
	uint32_t under_way;     /* octets that the peer is fetching: a wait for them polls for longer */
	int64_t idle_since;     /* 0: something came at the last look */
	unsigned looks;         /* without anything */
	bool armed;             /* the descriptors tell what comes */
};

/* The connection stays the caller's. */
void sdp_stream_begin(struct sdp_stream *s, struct sdp_conn *c, const struct sdp_conf *conf, unsigned spin_us);
/* Sends all octets. Returns len, or a negative errno; the memory is the caller's again. */
ssize_t sdp_stream_send(struct sdp_stream *s, const void *at, size_t len);
/* Receives at least one octet, or len of them with `all`. Returns how many, fewer at the end of the peer's, or a negative errno. */
ssize_t sdp_stream_receive(struct sdp_stream *s, void *at, size_t len, bool all);
/* Sends DisConn and waits until both ends have ended. Returns 0 or a negative errno. */
int sdp_stream_end(struct sdp_stream *s);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The iWARP connection manager: MPA Request and Reply frames (RFC 5044 section 7,
 * RFC 6581) on TCP streams, until the stream is handed to its QP. A pure
 * machine over link/stream.h. dev->lock is held around every call.
 */
#ifndef CM_MPA_MPA_H
#define CM_MPA_MPA_H

#include "cm/cm.h"
#include "link/tap.h"
#include "proto/stream.h"

struct mpa_config {
	struct link_streams *streams;
	const struct proto_stream_ops *proto;
	uint64_t seed;
	bool crc;                /* ask for CRC32C (default on) */
	bool markers;            /* ask for markers in what we receive (default off) */
	unsigned revision;       /* 1 or 2 (default) */
	unsigned rtr;            /* offered, 1u << enum proto_rtr; default WRITE and READ; 0 = no peer-to-peer */
	uint16_t rd_max;         /* most reads a QP serves or issues */
};

/* Half-open handshakes: most of one listener / of one peer address. */
#define MPA_HALF_OPEN_MAX 1024
#define MPA_HALF_OPEN_PEER 256
#define MPA_REQUEST_WAIT_S 5 /* from accept to a whole Request */
#define MPA_REPLY_WAIT_S 10  /* from the Request sent to a whole Reply */

int mpa_init(struct cm_port *ret, struct eng_dev *dev, const struct mpa_config *cfg);
/* Ends all streams gracefully and frees all endpoints. */
void mpa_fini(struct cm_port *p);
/* Timers. Returns the number of things done. */
int mpa_run(struct cm_port *p, uint64_t now);
uint64_t mpa_deadline(struct cm_port *p);
/* Shows Requests and Replies to this observer from here on; NULL: to none. */
void mpa_observe(struct cm_port *p, struct link_tap *tap);

#endif

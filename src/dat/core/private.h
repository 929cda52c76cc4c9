/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Conventions between the ends of a connection beyond rdma_cm: the port of a 64-bit qualifier, and
 * the frame of a reject. Both follow Debian's rdma_cm provider, which may be the peer.
 */
#ifndef DAT_CORE_PRIVATE_H
#define DAT_CORE_PRIVATE_H

#include "dat/core/core.h"

/* Private data as it travels. The length argument of rdma_cm has 8 bits. */
struct dpr_private {
	uint8_t len;
	uint8_t data[255];
};

enum {
	/* InfiniBand and RoCE: the fields of REQ (behind the IP CM's header), REP and REJ */
	DPR_IB_REQ = 56, DPR_IB_REP = 196, DPR_IB_REJ = 148,
	/* datagrams: the fields of SIDR_REQ and SIDR_REP, behind the header of ud_peer.h */
	DPR_UD_REQ = 144, DPR_UD_REP = 132,
	DPR_IW_PRIVATE = 251,
	DPR_REJ_HEADER = 4, /* in front of the consumer's data in each reject */
};

/* Returns the port of a qualifier: itself up to 65535, above that (q mod 32001) + 33534. */
uint16_t dpr_qual_port(DAT_CONN_QUAL q);
/* Returns false if size is larger than max, or not 0 without data. */
bool dpr_private_set(struct dpr_private *p, DAT_COUNT size, const void *data, unsigned int max);
/* Frames a reject as libdaplofa does. `ours`: the provider refuses, and not the consumer. */
void dpr_private_reject(struct dpr_private *p, bool ours);
/* Returns the event of a received reject; strips the frame. */
DAT_EVENT_NUMBER dpr_private_rejected(struct dpr_private *p, int status, bool iwarp);

#endif

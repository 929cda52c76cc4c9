/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagram endpoints of the IB extension. rdma_cm's SIDR tells the asking side everything about the
 * other, and the other nothing: so a request carries, before the consumer's data, who asks.
 * Only this provider does datagrams over rdma_cm, so both ends know the header.
 */
#ifndef DAT_PROVIDER_UD_H
#define DAT_PROVIDER_UD_H

#include "dat/provider/conn.h"

/* Who asks. */
struct dpr_ud_peer {
	uint32_t qpn;
	uint16_t lid;
	uint8_t gid[16];
};

/* Takes the header off; false: there is none. */
bool dpr_ud_unwrap(struct dpr_private *p, struct dpr_ud_peer *peer);

#endif

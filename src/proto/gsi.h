/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The general service interface: management datagrams over QP1 (IBTA 13.5).
 * The transport takes UD packets for QPN 1 with the well-known Q_Key out of its
 * stream. One management class per adapter is a manager's of ours, for which it
 * also sends MADs from QP1; all others are for the application that has QP1.
 */
#ifndef PROTO_GSI_H
#define PROTO_GSI_H

#include "engine/wqe.h"
#include "link/link.h"
#include "wire/cm_fields.h"

#include <stdint.h>

struct eng_dev;

/* One received MAD; valid during the call. */
struct gsi_rx {
	const uint8_t *mad;      /* WIRE_MAD_BYTES, base version not checked */
	uint8_t src[16], dst[16]; /* GIDs = addresses */
	uint16_t pkey;
	uint8_t traffic_class;
	const struct link_rx *raw; /* the datagram, to pass it on to another process */
};

struct gsi_user {
	uint8_t mgmt_class; /* what is for it */
	/* dev->lock held. Everything in it is the stranger's. */
	void (*received)(struct eng_dev *dev, const struct gsi_rx *rx, uint64_t now);
};

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a node has if it is a switch: SwitchInfo, the linear and the multicast forwarding table (IBTA 14.2.5.4,
 * 14.2.5.10, 14.2.5.12, 18.2.4). Tables grow with the blocks that the SM writes; an entry that was never written
 * forwards nothing.
 */
#ifndef MGMT_SWITCH_H
#define MGMT_SWITCH_H

#include "mgmt/fabric.h"

#define FAB_LINEAR_CAP 0xbfffu		/* LIDs that a linear table can have: all unicast ones */
#define FAB_MCAST_CAP 4096u
#define FAB_PORT_NONE 0xffu		/* linear table: no port; the packet is dropped */

#define FAB_LFT_BLOCK 64u		/* LIDs of a LinearForwardingTable block */
#define FAB_MFT_BLOCK 32u		/* MLIDs of a MulticastForwardingTable block */
#define FAB_MFT_POSITIONS 16u		/* of 16 ports each */

struct fab_switch {
	uint8_t info[WIRE_SWITCH_INFO_LEN];
	uint32_t n_lft, n_mft;		/* entries that exist */
	uint8_t *lft;
	uint16_t (*mft)[FAB_MFT_POSITIONS];
};

/* Returns a switch with empty tables, or NULL if there is no memory. */
struct fab_switch *fab_switch_new(void);
void fab_switch_free(struct fab_switch *sw);

/* The port number for a unicast LID, FAB_PORT_NONE if there is none. */
unsigned fab_switch_port(const struct fab_switch *sw, uint16_t lid);
/* True if multicast packets to this LID leave by the port. */
bool fab_switch_spreads(const struct fab_switch *sw, uint16_t mlid, unsigned port);

/* One block of the linear table, 64 bytes. set: returns 0 or -ENOMEM. */
void fab_switch_lft_get(const struct fab_switch *sw, unsigned block, uint8_t *ret);
int fab_switch_lft_set(struct fab_switch *sw, unsigned block, const uint8_t *data);
/* One block of 32 MLIDs for the 16 ports of a position, 64 bytes on the wire. */
void fab_switch_mft_get(const struct fab_switch *sw, unsigned block, unsigned position, uint8_t *ret);
int fab_switch_mft_set(struct fab_switch *sw, unsigned block, unsigned position, const uint8_t *data);

#endif

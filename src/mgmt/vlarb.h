/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * VL arbitration of a port (IBTA 7.6.9): two tables of 64 pairs of VL and weight, each served by weighted round robin.
 * The table of high priority is served first, until it has sent as much as VLHighLimit allows without an opportunity
 * for the one of low priority. A weight counts units of 64 bytes; an entry of weight 0 is skipped, and a VL that no
 * entry names is never served.
 */
#ifndef MGMT_VLARB_H
#define MGMT_VLARB_H

#include <stdint.h>

#define VLARB_ENTRIES 64u
#define VLARB_BYTES (2 * VLARB_ENTRIES)	/* of one table */
#define VLARB_UNBOUNDED 255u		/* VLHighLimit: the table of low priority has no right */

enum vlarb_table { VLARB_LOW, VLARB_HIGH };

struct vlarb {
	uint8_t at[2];		/* entry of each table that is being served */
	uint8_t left[2];	/* of its weight */
	uint32_t high_bytes;	/* sent by high priority since low priority had an opportunity */
};

/*
 * Chooses the VL whose packet leaves next. tables: low priority, then high priority, as VLArbitration has them; NULL:
 * all VLs with equal weights. limit: VLHighLimit. ready: bit v is set if VL v has a packet and credits for it. Returns
 * the VL, or -1: no entry names one that is ready.
 */
int vlarb_next(struct vlarb *a, const uint8_t *tables, unsigned limit, unsigned ready, enum vlarb_table *ret_table);
/* The packet of that choice has `bytes`. */
void vlarb_sent(struct vlarb *a, enum vlarb_table table, uint32_t bytes);

#endif

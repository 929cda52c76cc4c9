/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The counters of a port (IBTA 16.1.3, 16.1.4). What a packet moves is in pma.h. */
#ifndef MGMT_PMA_COUNTERS_H
#define MGMT_PMA_COUNTERS_H

#include <stdint.h>

/* Running counters that never go back; attributes show their distance from a base, cut to their width (pma.c). */
enum fab_counter {
	FAB_C_XMIT_DATA,	/* words of 4 bytes */
	FAB_C_RCV_DATA,
	FAB_C_XMIT_PKTS,
	FAB_C_RCV_PKTS,
	FAB_C_UCAST_XMIT,
	FAB_C_UCAST_RCV,
	FAB_C_MCAST_XMIT,
	FAB_C_MCAST_RCV,
	FAB_C_SYMBOL_ERROR,
	FAB_C_LINK_RECOVERY,
	FAB_C_LINK_DOWNED,
	FAB_C_RCV_ERRORS,
	FAB_C_RCV_REMOTE_PHYS,
	FAB_C_RCV_SWITCH_RELAY,
	FAB_C_XMIT_DISCARDS,
	FAB_C_XMIT_CONSTRAINT,
	FAB_C_RCV_CONSTRAINT,
	FAB_C_LOCAL_INTEGRITY,
	FAB_C_OVERRUN,
	FAB_C_VL15_DROPPED,
	FAB_C_XMIT_WAIT,
	FAB_C_LOCAL_PHYSICAL,	/* PortRcvErrorDetails */
	FAB_C_MALFORMED,
	FAB_C_BUFFER_OVERRUN,
	FAB_C_DLID_MAPPING,
	FAB_C_VL_MAPPING,
	FAB_C_LOOPING,
	FAB_C_INACTIVE_DISCARD,	/* PortXmitDiscardDetails */
	FAB_C_MTU_DISCARD,
	FAB_C_HOQ_DISCARD,
	FAB_C_SW_LIFETIME,
	FAB_NR_COUNTERS,
};

/* By service level or virtual lane. They stick at their maximum, as the attributes say, and Set makes them 0. */
struct fab_lanes {
	uint32_t xmit_data_sl[16], rcv_data_sl[16];
	uint32_t rcv_fecn_sl[16], rcv_becn_sl[16];
	uint32_t vl_data[16];
	uint16_t vl_pkts[16], vl_wait[16], vl_congested[16];
};

struct fab_counters {
	uint64_t c[FAB_NR_COUNTERS];
	struct fab_lanes *lanes;	/* of data; NULL: all 0 */
	uint32_t vl15_data;		/* of subnet management, which every port has: vl_data[15] and vl_pkts[15] */
	uint16_t vl15_pkts;
	uint64_t (*base)[2];	/* [0] of PortCounters and the details, [1] of PortCountersExtended; NULL: all 0 */
};

#endif

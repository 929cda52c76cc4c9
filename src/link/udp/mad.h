/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fields of a management datagram that name the process it is for. Offsets count from the BTH,
 * for the packet filter.
 *
 * The upper 8 bits of a communication ID or SIDR request ID are the slot of the process that drew
 * it, and every message but the two requests carries one.
 */
#ifndef LINK_UDP_MAD_H
#define LINK_UDP_MAD_H

#include "wire/cm_fields.h"
#include "wire/ib_fields.h"

enum {
	UDP_MAD_AT = WIRE_BTH_LEN + WIRE_DETH_LEN,
	UDP_MAD_CLASS = UDP_MAD_AT + WIRE_MAD_mgmt_class_OFFSET,
	UDP_MAD_ATTR = UDP_MAD_AT + WIRE_MAD_attr_id_OFFSET, /* 16 bits */
	UDP_CM_AT = UDP_MAD_AT + WIRE_MAD_LEN,
	UDP_CM_REQUEST_ID = UDP_CM_AT + WIRE_CM_SIDR_REP_request_id_OFFSET,
	UDP_CM_REMOTE_ID = UDP_CM_AT + WIRE_CM_REP_remote_comm_id_OFFSET,
	UDP_MAD_READ = UDP_CM_REMOTE_ID + 4, /* all of the above */
	UDP_CM_SLOT_SHIFT = 24,
};

#define SAME_PLACE(message) \
	((int)WIRE_CM_##message##_remote_comm_id_OFFSET == (int)WIRE_CM_REP_remote_comm_id_OFFSET)
_Static_assert(SAME_PLACE(MRA) && SAME_PLACE(REJ) && SAME_PLACE(RTU) && SAME_PLACE(DREQ) &&
	       SAME_PLACE(DREP) && SAME_PLACE(LAP) && SAME_PLACE(APR), "one load for all of them");
#undef SAME_PLACE

#endif

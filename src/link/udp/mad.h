/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * As much of a management datagram as must be known to find the process it is
 * for. Offsets count from the BTH (IBTA 9.2, 9.3.2, 13.4.2, 12.6): BTH and DETH
 * take 20 bytes, the common MAD header 24 more.
 *
 * Our communication IDs and SIDR request IDs have our slot in their upper 8
 * bits, and every message but the two requests names one of them.
 */
#ifndef LINK_UDP_MAD_H
#define LINK_UDP_MAD_H

#define UDP_GSI_QPN 1u
#define UDP_MAD_AT 20u
#define UDP_MAD_CLASS (UDP_MAD_AT + 1)
#define UDP_MAD_ATTR (UDP_MAD_AT + 16)      /* 16 bits */
#define UDP_CM_REQUEST_ID (UDP_MAD_AT + 24) /* of a SIDR_REP */
#define UDP_CM_REMOTE_ID (UDP_MAD_AT + 28)  /* of the others */
#define UDP_MAD_READ (UDP_CM_REMOTE_ID + 4) /* all of the above */

#define UDP_CLASS_CM 0x07u
#define UDP_CM_REQ 0x10u
#define UDP_CM_SIDR_REQ 0x17u
#define UDP_CM_SIDR_REP 0x18u

#endif

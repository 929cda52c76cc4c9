/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A management datagram (MAD) as it travels through the fabric: its 256 bytes, and what the headers of its
 * packet say (IBTA 13.4). Fields of the datagram itself are rows of wire/cm_fields.h (MAD), wire/smp_fields.h
 * and wire/pma_fields.h.
 */
#ifndef MGMT_MAD_H
#define MGMT_MAD_H

#include <stdbool.h>
#include <stdint.h>

#define MAD_LEN 256u
#define MAD_DATA 64		/* where the attribute of an SMP or of performance management begins */
#define MAD_LID_PERMISSIVE 0xffffu
#define MAD_LID_MCAST 0xc000u	/* first multicast LID; 0xbfff is the last unicast one (IBTA 4.1.3) */
#define MAD_QKEY_GSI 0x80010000u

/* Management classes (IBTA 13.4.4, table 112). */
enum {
	MAD_CLASS_SMP = 0x01,
	MAD_CLASS_SMP_DR = 0x81,
	MAD_CLASS_SA = 0x03,
	MAD_CLASS_PERF = 0x04,
	MAD_CLASS_BM = 0x05,
	MAD_CLASS_DEV_MGT = 0x06,
	MAD_CLASS_CM = 0x07,
	MAD_CLASS_CC = 0x21,
};

/* Methods (IBTA 13.4.5, table 113), with the bit R of responses. */
enum {
	MAD_GET = 0x01,
	MAD_SET = 0x02,
	MAD_SEND = 0x03,
	MAD_TRAP = 0x05,
	MAD_REPORT = 0x06,
	MAD_TRAP_REPRESS = 0x07,
	MAD_GET_RESP = 0x81,
	MAD_REPORT_RESP = 0x86,
};

/* Status of a response (IBTA 13.4.7, table 115). */
enum {
	MAD_OK = 0,
	MAD_BUSY = 0x0001,
	MAD_BAD_VERSION = 0x0004,	/* class or class version is not supported */
	MAD_BAD_METHOD = 0x0008,
	MAD_BAD_ATTRIBUTE = 0x000c,	/* the combination of method and attribute is not supported */
	MAD_BAD_FIELD = 0x001c,
};

/* One datagram with its addressing, in host order. */
struct mad {
	uint8_t bytes[MAD_LEN];
	uint16_t slid, dlid;	/* MAD_LID_PERMISSIVE in directed-route SMPs */
	uint8_t sl;
	bool has_grh;
	uint8_t hops;		/* switches passed */
	uint16_t pkey;		/* of the packet; QP0 ignores it */
	uint32_t sqpn, dqpn;	/* dqpn 0: on VL15 */
	uint32_t qkey;
	uint8_t grh[40];
};

/* Returns true for subnet management, directed or LID routed: QP0 and VL15. */
bool mad_is_smp(const struct mad *m);

/* Returns true if the method is a response (IBTA 13.4.5): the bit R is set, or it is TrapRepress. */
bool mad_is_response(const struct mad *m);

/* Turns a request of performance management or of a general class into its response, with the addresses of both
 * ends exchanged: method GetResp (ReportResp after Report), the same transaction ID. The data stays. */
void mad_answer(struct mad *m, uint16_t status);

/* Length of its packet as port counters have it: four-byte words between LRH and VCRC, both not counted in full
 * (IBTA 16.1.3.5 PortXmitData): LRH, GRH if any, BTH, DETH, the datagram, ICRC. */
unsigned mad_words(const struct mad *m);

#endif

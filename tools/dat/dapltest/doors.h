/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_DOORS_H
#define DTT_DOORS_H

/*
 * Where the lanes of one test meet: one public service point at which each lane says its number,
 * or (-r) a reserved one for each lane.
 */

#include "lane.h"

struct dtt_doors {
	struct dtl_ia *ia;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE *rsp;
	uint32_t n_rsp;
	uint64_t quals[DTT_LANES_MAX];
	uint32_t n_quals;
};

/* Takes free qualifiers behind BASE. */
int dtt_doors_open(struct dtt_doors *d, struct dtl_ia *ia, DAT_CONN_QUAL base,
		   struct dtt_lane **lanes, uint32_t n, bool rsp);
/* Until every lane is connected. */
int dtt_doors_accept(struct dtt_doors *d, struct dtt_lane **lanes, uint32_t n);
int dtt_doors_close(struct dtt_doors *d);

/* The client's share. */
int dtt_doors_enter(struct dtt_lane **lanes, uint32_t n, const struct sockaddr_storage *to,
		    const uint64_t *quals, uint32_t n_quals);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_POINTS_H
#define DTT_POINTS_H

/*
 * The service points at which the lanes of a test connect: a public one, to which each lane sends
 * its number, or (-r) a reserved one per lane. For a peer of version 6 (six.h) one of either kind per lane, whose
 * qualifiers follow one another; lanes connect and exchange their memory in their order.
 */

#include "lane.h"

struct dtt_points {
	struct dtl_ia *ia;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE *psp;
	uint32_t n_psp;
	DAT_RSP_HANDLE *rsp;
	uint32_t n_rsp;
	uint64_t quals[DTT_LANES_MAX];
	uint32_t n_quals;
};

/* Takes free qualifiers above BASE. */
int dtt_points_open(struct dtt_points *d, struct dtl_ia *ia, DAT_CONN_QUAL base,
		   struct dtt_lane **lanes, uint32_t n, bool rsp);
/* The same for version 6. */
int dtt_points_open_row(struct dtt_points *d, struct dtl_ia *ia, DAT_CONN_QUAL base,
			struct dtt_lane **lanes, uint32_t n, bool rsp);
/* Returns when every lane is connected. */
int dtt_points_accept(struct dtt_points *d, struct dtt_lane **lanes, uint32_t n);
int dtt_points_close(struct dtt_points *d);

/* The client's side. */
int dtt_points_enter(struct dtt_lane **lanes, uint32_t n, const struct sockaddr_storage *to,
		    const uint64_t *quals, uint32_t n_quals);
int dtt_points_enter_row(struct dtt_lane **lanes, uint32_t n, const struct sockaddr_storage *to, uint64_t first);

#endif

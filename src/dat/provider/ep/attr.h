/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoint attributes: what is asked for against what the device has. A zero size or count means
 * "no opinion", since programs clear the struct and fill in what they care for (no RDMA Reads at all
 * is an opinion, though). What cannot be given is refused, never silently lowered; only the
 * defaults bend to the device.
 */
#ifndef DAT_PROVIDER_EP_ATTR_H
#define DAT_PROVIDER_EP_ATTR_H

#include <dat2/udat.h>

struct dpr_ia;

/* attr NULL: the defaults. Checks against the adapter and fills *to; `arg` is the subtype of a
 * bad attribute. */
DAT_RETURN dpr_ep_attr(struct dpr_ia *ia, const DAT_EP_ATTR *attr, DAT_RETURN_SUBTYPE arg,
		       DAT_EP_ATTR *to);

#endif

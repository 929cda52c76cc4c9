/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoint attributes: what the consumer asks for against what the device has. A size or count of 0
 * means "no opinion", since programs clear the structure and fill in what they need; no RDMA Reads
 * at all is an opinion, though. A value that the device cannot give is refused and never lowered;
 * only the defaults follow the device.
 */
#ifndef DAT_PROVIDER_EP_ATTR_H
#define DAT_PROVIDER_EP_ATTR_H

#include <dat2/udat.h>

struct dpr_ia;

/* Checks `attr` (NULL: the defaults) against the adapter and fills *to. A bad attribute is refused
 * with INVALID_PARAMETER and subtype `arg`. */
DAT_RETURN dpr_ep_attr(struct dpr_ia *ia, const DAT_EP_ATTR *attr, DAT_RETURN_SUBTYPE arg,
		       DAT_EP_ATTR *to);

#endif

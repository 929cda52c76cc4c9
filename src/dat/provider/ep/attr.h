/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoint attributes: the consumer's values against the limits of the device. A size or count of 0
 * leaves the choice to the provider, since programs clear the structure and set only the members
 * that they need; but 0 RDMA Reads are none. What was asked for is a minimum: sizes are granted up to
 * the limit of the device. A value beyond that limit is refused and never lowered.
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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The limits of an adapter for the attributes of its endpoints (core/attr.h has the rules). */
#ifndef DAT_PROVIDER_EP_ATTR_H
#define DAT_PROVIDER_EP_ATTR_H

#include <dat2/udat.h>

struct dpr_ia;

/* Checks `attr` (NULL: the defaults) against the adapter and fills *to. A bad attribute is refused
 * with INVALID_PARAMETER and subtype `arg`. */
DAT_RETURN dpr_ep_attr(struct dpr_ia *ia, const DAT_EP_ATTR *attr, DAT_RETURN_SUBTYPE arg,
		       DAT_EP_ATTR *to);

#endif

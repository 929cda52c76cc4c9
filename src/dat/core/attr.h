/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoint attributes: the consumer's values against the limits of the device. A size or count of 0
 * leaves the choice to the provider, since programs clear the structure and set only the members
 * that they need; but 0 RDMA Reads are none. What was asked for is a minimum: sizes are granted up to
 * the limit of the device. A value beyond that limit is refused and never lowered.
 */
#ifndef DAT_CORE_ATTR_H
#define DAT_CORE_ATTR_H

#include "dat/core/core.h"

/* DAT_IB_SERVICE_TYPE_UD of the IB extensions. */
#define DPR_SERVICE_UD DAT_SERVICE_TYPE_EXTENSION_BASE

/* Checks `attr` (NULL: the defaults) against `most` and fills *to. A bad attribute is refused
 * with INVALID_PARAMETER and subtype `arg`. ud: the device has datagrams. */
DAT_RETURN dpr_attr_grant(const DAT_EP_ATTR *most, bool ud, const DAT_EP_ATTR *attr, DAT_RETURN_SUBTYPE arg,
			  DAT_EP_ATTR *to);

/* Returns the segments that an endpoint of these attributes grants to a Write, a Read and another request. Programs
 * of DAT 1.1 leave the limits of RDMA 0. */
DAT_COUNT dpr_attr_write_iov(const DAT_EP_ATTR *a);
DAT_COUNT dpr_attr_read_iov(const DAT_EP_ATTR *a);

#endif

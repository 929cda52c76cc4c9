/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attributes of an adapter and its provider. A query fills in all of them, whatever the mask. */
#ifndef DAT_PROVIDER_IA_QUERY_H
#define DAT_PROVIDER_IA_QUERY_H

#include <dat2/udat.h>

struct dpr_ia;

/* Segments of a request or receive, and of a Read: the values that dat_ia_query returns and
 * endpoints are granted. */
DAT_COUNT dpr_ia_max_iov(const struct dpr_ia *ia);
DAT_COUNT dpr_ia_max_read_iov(const struct dpr_ia *ia);

DAT_RETURN dpr_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async, DAT_IA_ATTR_MASK ia_mask,
			DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask, DAT_PROVIDER_ATTR *attr);
DAT_RETURN dpr_ia_ha_related(DAT_IA_HANDLE ia, const DAT_NAME_PTR name, DAT_BOOLEAN *related);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attributes of an adapter and of this provider. A query fills in all of them, whatever the mask. */
#ifndef KDAPL_QUERY_H
#define KDAPL_QUERY_H

#include "kdapl/ia.h"

DAT_RETURN kdp_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async, DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK mask, DAT_PROVIDER_ATTR *attr);
DAT_RETURN kdp_ia_ha_related(DAT_IA_HANDLE ia, const DAT_NAME_PTR name, DAT_BOOLEAN *related);

#endif

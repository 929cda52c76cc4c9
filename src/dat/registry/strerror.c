/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <dat2/udat.h>

#include "dat/core/text.h"
#include "dat/registry/dreg.h"

DREG_EXPORT DAT_RETURN dat_strerror(DAT_RETURN value, const char **major, const char **minor)
{
	return dpr_text(value, major, minor);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The version comes from the build's project line and is written nowhere else. */
#include "device/version.h"

#include "dapple/version.h"
#include "util/export.h"

UT_EXPORT const char *dev_version(void)
{
	return DAPPLE_VERSION;
}

UT_EXPORT const char *dpl_version(void)
{
	return dev_version();
}

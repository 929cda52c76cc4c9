/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * IB extensions (dat_ib_extensions.h, version 2.0.9) by dat_extension_op: atomics, immediate data,
 * unreliable datagrams, counters. Collectives are refused. The arguments of each operation are
 * taken from the list in the order of the macros in dat_ib_extensions.h; transfers are then posted
 * as any request (request.h).
 */
#ifndef DAT_PROVIDER_DTO_EXT_H
#define DAT_PROVIDER_DTO_EXT_H

#include <dat2/dat_ib_extensions.h>
#include <dat2/udat.h>
#include <errno.h>
#include <stdarg.h>

DAT_RETURN dpr_extension(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls that take a handle of any kind: the consumer's context and the type. */
#ifndef DAT_PROVIDER_IA_CONTEXT_H
#define DAT_PROVIDER_IA_CONTEXT_H

#include <dat2/udat.h>

DAT_RETURN dpr_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context);
DAT_RETURN dpr_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context);
DAT_RETURN dpr_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Return values as text: the names in dat2/dat_error.h. */
#ifndef DAT_CORE_TEXT_H
#define DAT_CORE_TEXT_H

#include "dat/core/core.h"

/* dat_strerror. The texts are set also when the call fails, for programs that ignore its result. */
DAT_RETURN dpr_text(DAT_RETURN value, const char **major, const char **minor);

#endif

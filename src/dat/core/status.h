/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion statuses of verbs as DAT names them. The kernel's enum ib_wc_status has the numbers of ibv_wc_status. */
#ifndef DAT_CORE_STATUS_H
#define DAT_CORE_STATUS_H

#include "dat/core/core.h"

DAT_DTO_COMPLETION_STATUS dpr_status_of(unsigned int wc_status);

#endif

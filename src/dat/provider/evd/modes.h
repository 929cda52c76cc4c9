/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The switches of an EVD: its CNO, enabled or not, waitable or not; and the query that reads them.
 */
#ifndef DAT_PROVIDER_EVD_MODES_H
#define DAT_PROVIDER_EVD_MODES_H

#include <dat2/udat.h>

DAT_RETURN dpr_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param);
DAT_RETURN dpr_evd_modify_cno(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno);
DAT_RETURN dpr_evd_enable(DAT_EVD_HANDLE evd);
DAT_RETURN dpr_evd_disable(DAT_EVD_HANDLE evd);
DAT_RETURN dpr_evd_set_unwaitable(DAT_EVD_HANDLE evd);
DAT_RETURN dpr_evd_clear_unwaitable(DAT_EVD_HANDLE evd);

#endif

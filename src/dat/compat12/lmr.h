/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory for DAT 1.2. dat_rmr_bind names its LMR by the context in the triplet, in 2.0 by the
 * handle as well. So every LMR created here is recorded: by IA and context for a bind, and by
 * handle for its end.
 */
#ifndef DAT_COMPAT12_LMR_H
#define DAT_COMPAT12_LMR_H

#include <dat/udat.h>

/* Drops the records of an IA that was closed with its LMRs. */
void c12_lmr_forget_ia(DAT_IA_HANDLE ia);

#endif

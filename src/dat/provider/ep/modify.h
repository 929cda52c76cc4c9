/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_ep_modify: everything named in the mask changes, or nothing does. Which state admits what is
 * in the table of states; what the endpoint stands on is taken anew and the old let go, so
 * that counts follow.
 */
#ifndef DAT_PROVIDER_EP_MODIFY_H
#define DAT_PROVIDER_EP_MODIFY_H

#include <dat2/udat.h>

DAT_RETURN dpr_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param);

#endif

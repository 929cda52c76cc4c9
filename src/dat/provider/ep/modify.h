/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat_ep_modify: everything named in the mask changes, or nothing does. The table of states says
 * which state admits what. The endpoint's parts are taken anew and the old ones dropped, so that
 * counts follow.
 */
#ifndef DAT_PROVIDER_EP_MODIFY_H
#define DAT_PROVIDER_EP_MODIFY_H

#include <dat2/udat.h>

DAT_RETURN dpr_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param);

#endif

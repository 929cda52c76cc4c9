/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_RDMACM_WAIT_H
#define ABI_RDMACM_WAIT_H

#include "abi/rdmacm/rcm.h"

/* Events will come from this adapter (NULL: from any). A thread that waits for them drives it meanwhile,
 * which spares a wake-up. */
void rcm_chan_hears(struct rdma_event_channel *ch, struct eng_dev *dev);
/* As rcm_event_try(), blocking as the descriptor says. A cancellation point; no lock may be held. */
int rcm_event_get(struct rcm_chan *ch, struct rcm_event **ret);

#endif

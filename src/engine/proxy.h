/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Proxy queue pairs: each is in place of an XRC target of another process, for the completions in the
 * shared receive queues of this process that name it. No packet and no program reaches it. It keeps the
 * state RTS.
 */
#ifndef ENGINE_PROXY_H
#define ENGINE_PROXY_H

#include "engine/qp.h"

/*
 * Returns a queue pair whose number the protocol sets, or NULL if there is no memory. Completions
 * refer to it, so it is freed with the port and not before. These are called with dev->lock held.
 */
struct eng_qp *eng_proxy_new(struct eng_dev *dev);
void eng_proxy_free(struct eng_qp *qp);
/* Returns true if a completion queue had overrun and the queue pair was in ERR; it is in RTS again. */
bool eng_proxy_revive(struct eng_qp *qp);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HOST_SHM_HANDSHAKE_H
#define HOST_SHM_HANDSHAKE_H

#include "host/shm/peer.h"

/* HELLO to the owner of t's slot; t is ASKED then, or WIRE. */
void shm_handshake_ask(struct shm_chan *ch, struct shm_peer_tx *t, const struct ut_flow *f);
/* Messages of other processes are heard from now on. */
void shm_handshake_handle(struct shm_chan *ch);
/* EXPORT: an area for the writer of this ring. 0 or -errno. */
int shm_handshake_export(struct shm_chan *ch, const struct shm_peer_rx *r, uint32_t id, int fd);
/* An answer is awaited: the mailbox is read by the next round. */
void shm_handshake_await(struct shm_chan *ch, const struct ut_flow *f);

#endif

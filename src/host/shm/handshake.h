/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How two processes join a channel: the messages HELLO, READY, OPEN and EXPORT that peer.h draws. */
#ifndef HOST_SHM_HANDSHAKE_H
#define HOST_SHM_HANDSHAKE_H

#include "host/shm/peer.h"

/* HELLO to the owner of t's slot; t is ASKED then, or WIRE. */
void shm_handshake_ask(struct shm_chan *ch, struct shm_peer_tx *t, const struct ut_flow *f);
/* Handles messages of other processes from now on. */
void shm_handshake_handle(struct shm_chan *ch);
/* For a host without a channel: peers that ask are refused at once, and take the wire. */
void shm_handshake_refuse_all(struct host *h);
/* Sends EXPORT: passes an area to the writer of this ring. Returns 0 or -errno. */
int shm_handshake_export(struct shm_chan *ch, const struct shm_peer_rx *r, uint32_t id, int fd);
/* A response is awaited: the next receive reads the mailbox without being told of it. */
void shm_handshake_await(struct shm_chan *ch, const struct ut_flow *f);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HOST_SHM_ACCESS_H
#define HOST_SHM_ACCESS_H

#include "host/shm/peer.h"

/* access.c: slots of shm_channel_ops */
const struct shm_export *shm_access_begin(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn,
					struct shm_access *ret);
ssize_t shm_access_copy(const struct shm_access *v, uint64_t addr, const struct iovec *iov,
			  int n, bool write);
uint8_t *shm_access_attached(const struct shm_access *v, uint32_t id, uint64_t off, uint64_t len);
void shm_access_end(struct shm_channel *c);
void shm_export_area(struct shm_channel *c, const struct shm_message *m, uint32_t id);
void shm_export_quiesce(struct shm_channel *c);
void shm_chan_forget(struct shm_channel *c);
/* Only this one's visit. Nothing that it could enter by is left. */
void shm_export_quiesce_one(struct shm_chan *ch, const struct shm_peer_rx *r);
/* A message with something that this one lends; all of it is given up with the ring. */
void shm_access_attach(struct shm_peer_tx *t, uint32_t id, int fd);
void shm_access_detach(struct shm_peer_tx *t);
/* Ours, to be given away and closed; or -1. */
int shm_access_memory(struct shm_chan *ch);
/* It is the memory in which the token lies there. */
bool shm_access_memory_is(int fd, uint64_t at, uint64_t token);
/* The token lies at `at` in the memory of process pid, and process_vm_readv() may read it. */
bool shm_access_probe(int pid, uint64_t at, uint64_t token);

#endif

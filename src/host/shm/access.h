/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Direct access: the way of a requester process into the memory of an exporter (export.h), and the exporter's
 * waiting for accesses to end. The exporter's memory is reached by
 *
 *   a mapping      of an area that the exporter has passed (area.h): plain loads and stores;
 *   a descriptor   of its /proc/self/mem, passed with READY. It is bound to the address space, so that it
 *                  reaches nothing any more after an exec or under the same process number, and needs no
 *                  permission to trace (sibling user namespaces, Yama, seccomp). It copies by way of a page of
 *                  the kernel;
 *   process_vm_*   for long pieces, where permitted. It knows a process by its number alone, so before each
 *                  piece the word of liveness (host/liveness.h), or else the descriptor, must show that the
 *                  process is the same.
 *
 * Progress lock held in all of it. Only shm_export_quiesce() blocks: until accesses that have begun end.
 */
#ifndef HOST_SHM_ACCESS_H
#define HOST_SHM_ACCESS_H

#include "host/shm/peer.h"

/* Slots of shm_channel_ops, and forget(). */
const struct shm_export *shm_access_begin(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn,
					struct shm_access *ret);
ssize_t shm_access_copy(const struct shm_access *v, uint64_t addr, const struct iovec *iov,
			  int n, bool write);
uint8_t *shm_access_attached(const struct shm_access *v, uint32_t id, uint64_t off, uint64_t len);
void shm_access_end(struct shm_channel *c);
void shm_export_area(struct shm_channel *c, const struct shm_message *m, uint32_t id);
void shm_export_end_grants(struct shm_channel *c);
void shm_export_quiesce(struct shm_channel *c);
void shm_chan_forget(struct shm_channel *c);
/* Waits for the access of this peer alone. All it could begin another by has been revoked. */
void shm_export_quiesce_one(struct shm_chan *ch, const struct shm_peer_rx *r);
/* EXPORT of a peer: attaches the area, in place of the oldest if there are many. shm_access_detach(): all of them. */
void shm_access_attach(struct shm_peer_tx *t, uint32_t id, int fd);
void shm_access_detach(struct shm_peer_tx *t);
/* Returns a descriptor of our memory, to be passed and then closed; or -1. */
int shm_access_memory(struct shm_chan *ch);
/* Returns true if fd is the memory in which the token lies at `at`. */
bool shm_access_memory_is(int fd, uint64_t at, uint64_t token);
/* Returns true if process_vm_readv() reads the token at `at` in process pid. */
bool shm_access_probe(int pid, uint64_t at, uint64_t token);

#endif

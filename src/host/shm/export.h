/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Exported tables: what the exporter, a responder process, states of its registered memory, so that requesters
 * of its host can read and write it without its help: a table of keys and one of connected queue pairs. The
 * exporter alone writes them.
 *
 * Direct access (shm_channel_ops.access_begin ... access_end) and the end of a registration meet like this:
 *
 *     requester process                      exporter
 *     access = the exporter's id, a number   key = 0, `revoked` moves
 *     full fence                             full fence
 *     reads key and what it stands for,      reads `access` of all requester processes, and waits until
 *     or `revoked` alone                     none of them names the exporter with the same number
 *     the access                             gives the memory back
 *     access = 0
 *
 * With a full fence on both sides, either the requester finds the key revoked, or the exporter finds the access
 * and waits for its end. So the fields of a key that was found do not change during the access, since they
 * change only while the key is 0, and memory that was given back is not accessed any more. They are the same in
 * later accesses, too, while `revoked` is (grant.h). An exporter that says so in `fences` executes the requester's fence
 * as well, by ut_barrier_host(): an access by loads and stores is frequent, and the end of an area's registration rare
 * (tests/speed/access_model.c).
 *
 * A key without an area is used by a system call, and programs may register such memory for each transfer. There
 * `revoked` stays, both execute their own fences, and the requester reads the key again behind its own.
 *
 * Both tables are caches that map by the low bits of a number: what they do not have goes through the ring.
 */
#ifndef HOST_SHM_EXPORT_H
#define HOST_SHM_EXPORT_H

#include <stdatomic.h>
#include <stdint.h>

#define SHM_EXPORTS 1024u /* keys, and queue pairs; a power of two */

struct shm_export_key {
	_Atomic uint32_t key; /* 0: nothing */
	uint32_t access;      /* enum ibv_access_flags */
	uint64_t pd;          /* names the protection domain: only equality counts */
	uint64_t iova, length, addr;
	/* What of it lies in memory that was exported (shm_channel_ops.export_area); id 0: nothing. */
	uint32_t area, pad;
	uint64_t area_addr, area_length;
};

struct shm_export_qp {
	_Atomic uint32_t qpn; /* of a queue pair that receives; 0: nothing */
	uint32_t peer;        /* the QPN that it is connected to, */
	uint8_t addr[16];     /* and that one's address */
	uint32_t access;      /* what it serves: enum ibv_access_flags */
	uint64_t pd;
};

struct shm_export {
	_Alignas(64) _Atomic uint64_t revoked; /* how often something was */
	_Atomic uint32_t fences; /* not 0: the exporter executes the fences of requester processes */
	struct shm_export_key keys[SHM_EXPORTS];
	struct shm_export_qp qps[SHM_EXPORTS];
};

#endif

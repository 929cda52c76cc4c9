/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a process shows of itself, so that others of its host can read and write its registered
 * memory by themselves while it does something else: a table of keys, one of connected queue
 * pairs, and the word in which it says whom it is visiting itself. One writer each, the owner.
 *
 * A visit (shm_channel_ops.enter, reach, leave) and the end of a registration meet like this:
 *
 *     visitor                              owner
 *     visit = whom, and a number           key = 0
 *     full fence                           full fence
 *     reads key and what it stands for     reads `visit` of all who may come, and waits for those
 *     the access                           who are with him until they have left
 *     visit = 0                            gives the memory back
 *
 * So a visitor who found the key has its fields to himself, for they change only while it is 0,
 * and memory that was given back is not touched any more. Both tables are caches that map by the
 * low bits of a number: what is not found there is asked for through the ring.
 */
#ifndef HOST_SHM_EXPORT_H
#define HOST_SHM_EXPORT_H

#include <stdatomic.h>
#include <stdint.h>

#define SHM_EXPORTS 1024u /* keys, and queue pairs; a power of two */

struct shm_export_key {
	_Atomic uint32_t key; /* 0: nothing */
	uint32_t access;      /* enum ibv_access_flags */
	uint64_t pd;          /* alike for what belongs together; no more than that */
	uint64_t iova, length, addr;
	/* What of it lies in memory that was exported (shm_channel_ops.export_area); id 0: nothing. */
	uint32_t area, pad;
	uint64_t area_addr, area_length;
};

struct shm_export_qp {
	_Atomic uint32_t qpn; /* 0: nothing. It receives, */
	uint32_t peer;        /* connected to this QPN */
	uint8_t addr[16];     /* at this address; */
	uint32_t access;      /* it serves these */
	uint64_t pd;
};

struct shm_export {
	struct shm_export_key keys[SHM_EXPORTS];
	struct shm_export_qp qps[SHM_EXPORTS];
};

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls, events and flags of librdmacm that are younger than the headers this library may be built with
 * (rdma-core 60, node RDMACM_1.4). A function is written under a name of its own, so that no declaration of a
 * newer header is in the way.
 */
#ifndef ABI_RDMACM_NEWER_H
#define ABI_RDMACM_NEWER_H

#include "abi/rdmacm/rcm.h"

/* RCM_NEWER(int, rdma_call, (struct rdma_cm_id *id)) { ... } defines and exports rdma_call(). */
#define RCM_NEWER(type, name, args)                   \
	extern type newer_##name args __asm__(#name); \
	UT_EXPORT type newer_##name args

/* enum rdma_cm_event_type */
#define RCM_EVENT_ADDRINFO_RESOLVED 16
#define RCM_EVENT_ADDRINFO_ERROR 17
#define RCM_EVENT_USER 18
/* rdma_addrinfo.ai_flags */
#define RCM_RAI_SA 0x10
#define RCM_RAI_DNS 0x20

/* Returns what rdma_resolve_addrinfo() has found and the program has not taken, or NULL; the caller's to free. */
struct rdma_addrinfo *rcm_info_take(struct rcm_id *id);

#endif

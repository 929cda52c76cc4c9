/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of verbs that are younger than the headers this library may be built with: rdma-core 59 (node
 * IBVERBS_1.15) to 65 (1.18). Their structures are declared here, by the layout of those releases, and a function
 * is written under a name of its own, so that no declaration of a newer header is in the way.
 */
#ifndef ABI_VERBS_NEWER_H
#define ABI_VERBS_NEWER_H

#include "util/export.h"

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

/* VRB_NEWER(int, ibv_call, (struct ibv_pd *pd)) { ... } defines and exports ibv_call(). */
#define VRB_NEWER(type, name, args)                   \
	extern type newer_##name args __asm__(#name); \
	UT_EXPORT type newer_##name args

struct vrb_buf; /* struct ibv_buf; buf.c */

/* enum ibv_parent_domain_init_attr_mask, since rdma-core 65 */
#define VRB_PARENT_ALLOW_CC_UNPROTECTED (1u << 2)

/* struct ibv_mr_init_attr */
struct vrb_mr_init_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	void *dmah;          /* struct ibv_dmah */
	struct vrb_buf *buf; /* read only with its bit: older callers have no such member */
};

/* enum ibv_mr_init_attr_mask */
#define VRB_MR_IOVA (1u << 0)
#define VRB_MR_ADDR (1u << 1)
#define VRB_MR_FD (1u << 2)
#define VRB_MR_FD_OFFSET (1u << 3)
#define VRB_MR_DMAH (1u << 4)
#define VRB_MR_BUF (1u << 5)

#endif

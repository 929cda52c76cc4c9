/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions that exist in two versions: today's (node 1.1) and the twin from
 * before 2007 (node 1.0, compat10.c). A symbol in two nodes of a version
 * script must be named by both definitions, so today's is written
 *	VRB_NOW(alloc_pd) struct ibv_pd *vrb_alloc_pd(...)
 * and leaves as ibv_alloc_pd@@IBVERBS_1.1. The declaration takes its type from
 * the distribution's header: a wrong signature does not compile.
 */
#ifndef ABI_VERBS_EXPORT_H
#define ABI_VERBS_EXPORT_H

#include "util/export.h"

#include <infiniband/verbs.h>

#define VRB_NOW(name)                            \
	extern __typeof__(ibv_##name) vrb_##name; \
	UT_EXPORT UT_SYMVER("ibv_" #name "@@IBVERBS_1.1")

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of abi/verbs (Dapple's libibverbs.so.1) that the calls of include/dapple need, in one table
 * that abi/verbs/context.c fills. The two lie in libraries of their own, and a program may have libdapple.so.0
 * together with the distribution's libibverbs: each context of Dapple's carries the address of the table, by which
 * dpl_dev() recognises it.
 */
#ifndef ABI_DAPPLE_VERBS_OPS_H
#define ABI_DAPPLE_VERBS_OPS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

struct eng_dev;
struct eng_mkey;
struct vrb_mr;
struct vrb_pd;

struct dpl_verbs_ops {
	/* Takes an event without waiting, and counts it as delivered. Returns 0, or -EAGAIN if there is
	 * none. */
	int (*take_async)(struct ibv_context *c, struct ibv_async_event *ret);
	int (*take_comp)(struct ibv_comp_channel *ch, struct ibv_cq **ret);
	void (*ack_async)(struct ibv_async_event *e);
	void (*ack_comp)(struct ibv_cq *cq, unsigned n);
	/* Makes a public region around the engine's. Returns NULL with errno on failure. */
	struct vrb_mr *(*wrap_mr)(struct vrb_pd *pd, struct eng_mkey *mk, void *addr,
				  size_t length);
	/* As ibv_create_qp(): queue pair 1. In abi/verbs/qp.c. */
	struct ibv_qp *(*create_gsi)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
};

/* The one table; abi/verbs/context.c fills it before it gives out its first context. */
struct dpl_verbs_ops *dpl_verbs_ops(void);

/*
 * Returns the adapter of a context of Dapple's libibverbs; NULL with errno EOPNOTSUPP for a context of another
 * libibverbs, EIO for one inherited over a fork.
 */
struct eng_dev *dpl_dev(const struct ibv_context *c);

#endif

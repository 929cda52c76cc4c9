/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface between the calls of include/dapple and the libibverbs shell. Each lies in a
 * library of its own, and a program may have libdapple.so.0 together with the distribution's
 * libibverbs: so each context of the shell carries the address of one table, by which dpl_dev()
 * recognises it, and the table has the functions that only the shell can implement.
 */
#ifndef ABI_DAPPLE_SHELL_H
#define ABI_DAPPLE_SHELL_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

struct eng_dev;
struct eng_mkey;
struct vrb_mr;
struct vrb_pd;

struct dpl_shell {
	/* Takes an event without waiting, and counts it as delivered. Returns 0, or -EAGAIN if there is
	 * none. */
	int (*take_async)(struct ibv_context *c, struct ibv_async_event *ret);
	int (*take_comp)(struct ibv_comp_channel *ch, struct ibv_cq **ret);
	void (*ack_async)(struct ibv_async_event *e);
	void (*ack_comp)(struct ibv_cq *cq, unsigned n);
	/* Makes a public region around the engine's. Returns NULL with errno on failure. */
	struct vrb_mr *(*wrap_mr)(struct vrb_pd *pd, struct eng_mkey *mk, void *addr,
				  size_t length);
	/* As ibv_create_qp(): queue pair 1. */
	struct ibv_qp *(*create_gsi)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
};

/* The one table; filled by the shell before its first context is given out. */
struct dpl_shell *dpl_shell(void);

/*
 * Returns the adapter of a context of the shell; NULL with errno EOPNOTSUPP for a context of another
 * libibverbs, EIO for one inherited over a fork.
 */
struct eng_dev *dpl_dev(const struct ibv_context *c);

#endif

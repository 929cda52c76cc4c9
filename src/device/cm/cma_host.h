/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The host of the RDMA CM (struct cma_host): this process's adapters and the changes of their addresses. */
#ifndef DEVICE_CM_CMA_HOST_H
#define DEVICE_CM_CMA_HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct cm_group;
struct cm_path;
struct cm_port;
struct dev_adapter;
struct eng_show_who;
struct link_end;

/*
 * An address has come or gone (NULL: the adapter has gone). Called where that is
 * found out, dev.lock held; the RDMA CM is told of it later, by dev_cm_deliver().
 */
void dev_cm_note(struct dev_adapter *a, const uint8_t addr[16]);
/* An answer of subnet administration has come (cma_path_answer(), cma_group_answer(), cma_name_answer()). Called with dev.lock held or not;
 * the RDMA CM is told later likewise, and a group that its identifier has left is left by the kind. */
void dev_cm_note_path(struct dev_adapter *a, uint64_t ticket, int status, const struct cm_path *path);
void dev_cm_note_name(struct dev_adapter *a, uint64_t ticket, int status, const uint8_t addr[16]);
void dev_cm_note_group(struct dev_adapter *a, uint64_t ticket, int status, const struct cm_group *g);
/* Interfaces may have changed. Any lock of this room may be held. */
void dev_cm_look(void);
extern atomic_bool dev_cm_noted;
/* Returns true if dev_cm_deliver() has something to do. */
static inline bool dev_cm_has_news(void)
{
	return atomic_load(&dev_cm_noted);
}
/* Tells the RDMA CM what was noted. Called by the background thread, without locks. */
void dev_cm_deliver(void);
/* Lines of the RDMA CM's identifiers, if there is an RDMA CM (cma_show()). */
void dev_cm_show(const struct eng_show_who *who, FILE *out);
/* In a child of fork(): the RDMA CM and its adapters are the parent's. */
void dev_cm_forget(void);
/* The addresses of lo's adapter, which is opened if it is not open yet. Returns their number. */
int dev_cm_lo_addrs(struct link_end *v, int max);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One connection, or one attempt, seen from rdma_cm: the object behind id->context. It outlives
 * endpoint and request, since events may be on their way: the loop copies an event, acknowledges it,
 * and only then handles it, so that nobody waits in rdma_destroy_id for a handler that wants a
 * lock. An id is destroyed with no lock held, by whoever puts the last reference.
 */
#ifndef DAT_PROVIDER_CONN_H
#define DAT_PROVIDER_CONN_H

#include "dat/provider/ia.h"

struct dpr_cr;
struct dpr_ep;
struct dpr_sp;

/* Private data as it travels: libdaplofa's reject header and the folding of qualifiers to ports are
 * in conn.c (spec of the interop: docs/dat.md). */
struct dpr_private {
	uint8_t len;
	uint8_t data[255];
};

struct dpr_conn {
	_Atomic uint32_t refs; /* the id, the endpoint or request, the loop while it handles */
	struct dpr_ia *ia;
	struct ut_mutex lock;
	struct rdma_cm_id *id;
	struct dpr_ep *ep UT_GUARDED_BY(lock); /* held; NULL before accept and after the end */
	struct dpr_cr *cr UT_GUARDED_BY(lock);
	bool active, gone UT_GUARDED_BY(lock);
	struct dpr_timer timer; /* the consumer's timeout over the whole establishment */
	struct dpr_private out; /* to send with the request */
	struct dpr_private in UT_GUARDED_BY(lock); /* stays valid until ep_free or ep_reset */
	struct sockaddr_storage remote;
	uint64_t qual;
};

/* The loop: something is readable on ia->channel. */
void dpr_conn_ready(struct dpr_ia *ia);

/* Qualifier to port as Debian's provider folds it: up to 65535 itself, above that
 * (q mod 32001) + 33534. */
uint16_t dpr_qual_port(DAT_CONN_QUAL q);

#endif

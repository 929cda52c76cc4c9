/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two endpoints of one process, connected over loopback, for tests of transfers and memory: each
 * end has an adapter of its own, a zone, EVDs and one registered buffer.
 */
#ifndef TESTS_DAT_MEM_PAIR_H
#define TESTS_DAT_MEM_PAIR_H

#include "support/check.h"

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

enum { MP_BUF = 1 << 20, MP_TIMEOUT = 20000000 /* us */ };

struct mp_end {
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR prov;
	DAT_EVD_HANDLE async, recv, req, conn, cr;
	DAT_PZ_HANDLE pz;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	char *buf;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lctx;
	DAT_RMR_CONTEXT rctx;
};

struct mp {
	struct mp_end a, b; /* a connects to b */
	DAT_EP_ATTR ep;     /* asked for; memset to 0 for defaults */
	DAT_COUNT qlen;     /* of DTO EVDs; 0: 256 */
	DAT_COUNT srq;      /* b takes receives from an SRQ of this size */
	unsigned int priv;  /* of the buffers; 0: all rights */
};

/* Fails by the names of both values unless a call returns this. */
#define WANT(call, expected) mp_want(__FILE__, __LINE__, #call, (call), (expected))
#define OK(call) WANT(call, DAT_SUCCESS)
void mp_want(const char *file, int line, const char *what, DAT_RETURN got, DAT_RETURN expected);
#define ERR(type, sub) ((DAT_RETURN)DAT_ERROR((type), (sub)))

/* The adapter of the environment (DAPPLE_DAT_IA); skips the test if there is none. */
const char *mp_ia_name(void);
bool mp_is_iwarp(void);
void mp_open_end(struct mp *p, struct mp_end *e);
void mp_open(struct mp *p); /* both ends, not connected */
void mp_connect(struct mp *p);
void mp_join(struct mp *p); /* open and connect */
void mp_close(struct mp *p);
/* A new pair of endpoints on the same objects, after a connection broke. */
void mp_again(struct mp *p);

/* Returns true if this named attribute of the provider is TRUE. */
bool mp_has(const struct mp_end *e, const char *name);

DAT_LMR_TRIPLET mp_at(const struct mp_end *e, uint64_t off, uint32_t len);
DAT_RMR_TRIPLET mp_rmt(const struct mp_end *e, uint64_t off, uint32_t len);
DAT_DTO_COOKIE mp_cookie(uint64_t n);

/* The next event; fails the test when none comes. */
DAT_EVENT mp_next(DAT_EVD_HANDLE evd);
/* As above, of a DTO of this operation, cookie and status. */
#define DTO(evd, op, cookie, status) mp_dto(__FILE__, __LINE__, evd, op, cookie, status)
DAT_DTO_COMPLETION_EVENT_DATA mp_dto(const char *file, int line, DAT_EVD_HANDLE evd,
				     unsigned int op, uint64_t cookie,
				     DAT_DTO_COMPLETION_STATUS status);
#define BOUND(evd, rmr, cookie, status) mp_bound(__FILE__, __LINE__, evd, rmr, cookie, status)
void mp_bound(const char *file, int line, DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t cookie,
	      DAT_DTO_COMPLETION_STATUS status);
/* Nothing is queued. */
void mp_none(DAT_EVD_HANDLE evd);
/* Waits for this event, the end of e's connection. */
void mp_ended(struct mp_end *e, DAT_EVENT_NUMBER how);

/* Returns when a's Writes are in b's memory, which over iWARP a completion does not imply. */
void mp_settle(struct mp *p);

/* Fill and compare by a seed. */
void mp_paint(char *at, size_t n, uint32_t seed);
bool mp_painted(const char *at, size_t n, uint32_t seed);

/* Posts with the usual arguments. */
DAT_RETURN mp_send(struct mp_end *e, uint64_t off, uint32_t len, uint64_t cookie, int flags);
DAT_RETURN mp_recv(struct mp_end *e, uint64_t off, uint32_t len, uint64_t cookie);
DAT_RETURN mp_write(struct mp_end *e, uint64_t off, const struct mp_end *to, uint64_t there,
		    uint32_t len, uint64_t cookie, int flags);
DAT_RETURN mp_read(struct mp_end *e, uint64_t off, const struct mp_end *from, uint64_t there,
		   uint32_t len, uint64_t cookie, int flags);

#endif

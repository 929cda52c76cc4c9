/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTL_DTL_H
#define DTL_DTL_H

/*
 * What both DAT tools stand on: adapters, connected endpoints, and waiting for events with an
 * end to patience.  Functions give 0, or -1 after having said on stderr what went wrong, unless
 * they say otherwise.
 */

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>

#include "compat.h"

/* How an event is waited for: dat_evd_wait, dat_evd_dequeue in a loop, dat_cno_wait. */
enum dtl_how { DTL_WAIT, DTL_POLL, DTL_CNO };

#define DTL_PATIENCE_MS 60000

struct dtl_ia {
	const char *name;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_PZ_HANDLE pz;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR prov;
};

struct dtl_end_wish {
	int recvs, requests;	/* outstanding at most */
	int iov;
	int reads;		/* RDMA Reads outstanding at most; 0: as the provider likes */
	enum dtl_how how;
	DAT_CNO_HANDLE cno;	/* of the DTO EVDs, or DAT_HANDLE_NULL; DTL_CNO needs one */
	DAT_SRQ_HANDLE srq;	/* or DAT_HANDLE_NULL */
	DAT_QOS qos;
	bool datagrams;		/* the IB extension */
};

struct dtl_end {
	struct dtl_ia *ia;
	enum dtl_how how;
	DAT_CNO_HANDLE cno;
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE recv, request, conn;
	DAT_QOS qos;
	bool connected;
};

struct dtl_mem {
	char *start;
	uint64_t size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
};

/* --- words --- */

/* "DAT_X DAT_Y" in a buffer of the thread. */
const char *dtl_strerror(DAT_RETURN r);
const char *dtl_event_name(DAT_EVENT_NUMBER nr);
const char *dtl_status_name(DAT_DTO_COMPLETION_STATUS status);
void dtl_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says what failed when R is not success; -1 then. */
int dtl_check(DAT_RETURN r, const char *what);
uint64_t dtl_now_ns(void);

/* --- adapters and memory --- */

int dtl_ia_open(struct dtl_ia *ia, const char *name);
int dtl_ia_close(struct dtl_ia *ia);
int dtl_mem_make(struct dtl_mem *m, struct dtl_ia *ia, uint64_t size, DAT_MEM_PRIV_FLAGS rights);
int dtl_mem_drop(struct dtl_mem *m);
/* Of a host's name or address; the port is left 0. */
int dtl_resolve(const char *host, struct sockaddr_storage *ret);

/* --- events --- */

/* One event of EVD. 1 when none came within MS. */
int dtl_next(enum dtl_how how, DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd, long ms, DAT_EVENT *ret);
/* The next completion of the endpoint, which must be a success with this cookie. */
int dtl_reap(struct dtl_end *e, DAT_EVD_HANDLE evd, uint64_t cookie, uint64_t *ret_length);

/* --- connections --- */

int dtl_end_make(struct dtl_end *e, struct dtl_ia *ia, const struct dtl_end_wish *wish);
/* Disconnects first when connected. */
int dtl_end_drop(struct dtl_end *e);
/* Sends the request, */
int dtl_ask(struct dtl_end *e, const struct sockaddr_storage *to, DAT_CONN_QUAL qual,
	    const void *data, int size);
/* and waits for the answer: the event is given back, whatever it is. */
int dtl_connect(struct dtl_end *e, const struct sockaddr_storage *to, DAT_CONN_QUAL qual,
		const void *data, int size, DAT_EVENT *ret);
int dtl_accept(struct dtl_end *e, DAT_CR_HANDLE cr, const void *data, int size);
/* Waits until the connection of this end is made, by whoever asked for it. */
int dtl_established(struct dtl_end *e, DAT_EVENT *ret);
int dtl_disconnect(struct dtl_end *e);
/* Waits for the peer to do so. */
int dtl_disconnected(struct dtl_end *e);

int dtl_post_recv(struct dtl_end *e, DAT_LMR_TRIPLET *segs, int n, uint64_t cookie);
int dtl_post_send(struct dtl_end *e, DAT_LMR_TRIPLET *segs, int n, uint64_t cookie);

/* --- patterns --- */

/* Bytes that say whose they are: any seed and offset give another 64-bit word. */
void dtl_fill(void *start, uint64_t size, uint64_t seed);
/* Offset of the first byte that differs, or -1. */
int64_t dtl_differs(const void *start, uint64_t size, uint64_t seed);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTL_DTL_H
#define DTL_DTL_H

/*
 * Common to both DAT tools: adapters, connected endpoints, and waiting for events with a timeout.
 * Functions return 0, or -1 after a message on standard error, unless they say otherwise.
 */

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>

#include "compat.h"

/* How an event is waited for: dat_evd_wait, dat_evd_dequeue in a loop, dat_cno_wait. */
enum dtl_how { DTL_WAIT, DTL_POLL, DTL_CNO };

#define DTL_TIMEOUT_MS 60000

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
	int reads;		/* RDMA Reads outstanding at most; 0: the provider's default */
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

/* --- messages --- */

/* Returns "DAT_X DAT_Y" in a buffer of the thread. */
const char *dtl_strerror(DAT_RETURN r);
const char *dtl_event_name(DAT_EVENT_NUMBER nr);
const char *dtl_status_name(DAT_DTO_COMPLETION_STATUS status);
void dtl_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns 0 if R is DAT_SUCCESS, else -1 after a message. */
int dtl_check(DAT_RETURN r, const char *what);
uint64_t dtl_now_ns(void);

/* --- adapters and memory --- */

int dtl_ia_open(struct dtl_ia *ia, const char *name);
int dtl_ia_close(struct dtl_ia *ia);
int dtl_mem_make(struct dtl_mem *m, struct dtl_ia *ia, uint64_t size, DAT_MEM_PRIV_FLAGS rights);
int dtl_mem_drop(struct dtl_mem *m);
/* Resolves a host's name or address; the port stays 0. */
int dtl_resolve(const char *host, struct sockaddr_storage *ret);

/* --- events --- */

/* Waits for an event of EVD. Returns 1 if none came within MS. */
int dtl_next(enum dtl_how how, DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd, long ms, DAT_EVENT *ret);
/* Waits for the next completion of the endpoint, which must be a success with this cookie. */
int dtl_reap(struct dtl_end *e, DAT_EVD_HANDLE evd, uint64_t cookie, uint64_t *ret_length);
/* The same without a timeout, for what the peer does when it has finished. */
int dtl_reap_late(struct dtl_end *e, DAT_EVD_HANDLE evd, uint64_t cookie, uint64_t *ret_length);
/*
 * That of a request upon which the peer ends the connection: then it need not be a success, for the end may be there before the
 * completion is.
 */
int dtl_reap_parting(struct dtl_end *e, uint64_t cookie);

/* --- connections --- */

int dtl_end_make(struct dtl_end *e, struct dtl_ia *ia, const struct dtl_end_wish *wish);
/* Disconnects first if connected. */
int dtl_end_drop(struct dtl_end *e);
/* Sends the request. */
int dtl_ask(struct dtl_end *e, const struct sockaddr_storage *to, DAT_CONN_QUAL qual,
	    const void *data, int size);
/* Waits for the answer; *ev is the event, whatever it is. */
int dtl_connect(struct dtl_end *e, const struct sockaddr_storage *to, DAT_CONN_QUAL qual,
		const void *data, int size, DAT_EVENT *ret);
int dtl_accept(struct dtl_end *e, DAT_CR_HANDLE cr, const void *data, int size);
/* Waits until this end is connected, on the active or the passive side. */
int dtl_established(struct dtl_end *e, DAT_EVENT *ret);
int dtl_disconnect(struct dtl_end *e);
/* Waits for the peer's disconnect. */
int dtl_disconnected(struct dtl_end *e);

int dtl_post_recv(struct dtl_end *e, DAT_LMR_TRIPLET *segs, int n, uint64_t cookie);
int dtl_post_send(struct dtl_end *e, DAT_LMR_TRIPLET *segs, int n, uint64_t cookie);

/* --- patterns --- */

/* Bytes that identify their place: each seed and offset yields another 64-bit word. */
void dtl_fill(void *start, uint64_t size, uint64_t seed);
/* Returns the offset of the first byte that differs, or -1. */
int64_t dtl_differs(const void *start, uint64_t size, uint64_t seed);

#endif

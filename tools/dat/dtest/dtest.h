/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTD_DTEST_H
#define DTD_DTEST_H

/*
 * dapple-dtest: two processes walk one list of checks in step.  What is said between them goes
 * over DAT: there is no port of TCP, so any number of pairs runs on one host (-n).
 *
 * The memory of an end, of which the other knows context and address:
 *
 *   0       notes: one that I send, four that I receive into    5 x 64 bytes
 *   4096    what others read and I send                         size x burst
 *   then    what others write and I receive into                size x burst
 */

#include "common/dtl.h"

#define DTD_QUAL 45248		/* where the old tool listens */
#define DTD_BACKLOG 8		/* requests that the server keeps */
#define DTD_PRIVATE 48		/* bytes of private data in request, answer and rejection */

enum dtd_result { DTD_PASS, DTD_FAIL, DTD_UNSUPP };

/* What an end can do; both say it while connecting, and what both can is tested. */
enum { DTD_CAN_ATOMICS = 1, DTD_CAN_IMMEDIATE = 2, DTD_CAN_SRQ = 4, DTD_CAN_DATAGRAMS = 8 };

struct dtd_options {
	const char *ia, *host;		/* host NULL: the server */
	DAT_CONN_QUAL qual;
	uint64_t size;
	int burst;
	bool only_how;			/* -p or -c given: that way alone */
	enum dtl_how how;
	const char *skip;		/* names, separated by commas */
	bool verbose;
};

struct dtd {
	const struct dtd_options *o;
	struct dtl_ia ia;
	struct sockaddr_storage peer;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE cr_evd;		/* of the server */
	DAT_PSP_HANDLE psp;
	struct dtl_end end;
	struct dtl_mem mem;
	char *source, *target;
	DAT_RMR_CONTEXT peer_context;
	uint64_t peer_source, peer_target;
	uint64_t posted, received, recv_posted, notes_posted, notes_read;
	uint32_t common;		/* DTD_CAN_ that both have */
	bool met;			/* the two ends have found each other */
};

static inline bool dtd_is_server(const struct dtd *d)
{
	return !d->o->host;
}

/* A failed condition ends the check. */
#define DTD_NEED(condition)						\
	do {								\
		if (!(condition)) {					\
			dtl_complain("%s:%d: not so: %s", __FILE__, __LINE__, #condition); \
			return DTD_FAIL;				\
		}							\
	} while (0)

/* --- meet.c --- */

/* Connects an endpoint of the list's check NR: the server takes requests in any order of
 * arrival, and refuses one of another check. */
enum dtd_result dtd_meet(struct dtd *d, struct dtl_end *e, uint32_t nr);
/* N of them at once, N being DTD_BACKLOG at most. */
enum dtd_result dtd_meet_many(struct dtd *d, struct dtl_end *e, int n, uint32_t nr);
/* The same for datagram endpoints; the event has the peer's address. Not in DAT 1.2. */
enum dtd_result dtd_meet_ud(struct dtd *d, struct dtl_end *e, uint32_t nr, DAT_EVENT *ret);
enum dtd_result dtd_check_reject(struct dtd *d);

/* --- session.c --- */

int dtd_open(struct dtd *d, const struct dtd_options *o);
int dtd_close(struct dtd *d);
/* What an endpoint for burst messages needs. */
struct dtl_end_wish dtd_wish(const struct dtd *d);
enum dtd_result dtd_check_connect(struct dtd *d);
enum dtd_result dtd_check_reconnect(struct dtd *d);
/* Both ends have come here, and tell each other of their memory the first time. */
int dtd_step(struct dtd *d, uint32_t nr);
/* And each tells the other a number. */
int dtd_step_saying(struct dtd *d, uint32_t nr, uint64_t saying, uint64_t *ret);
/* Ends the connection behind the last step. */
int dtd_part(struct dtd *d);
int dtd_reap_request(struct dtd *d, uint64_t cookie);
/* One more receive of a note's size. */
int dtd_post_note(struct dtd *d);

/* --- checks.c, many.c, extension.c, datagrams.c --- */

enum dtd_result dtd_check_messages(struct dtd *d);
enum dtd_result dtd_check_write(struct dtd *d);
enum dtd_result dtd_check_read(struct dtd *d);
enum dtd_result dtd_check_suppress(struct dtd *d);
enum dtd_result dtd_check_srq(struct dtd *d);
enum dtd_result dtd_check_many(struct dtd *d);
enum dtd_result dtd_check_immediate(struct dtd *d);
enum dtd_result dtd_check_atomics(struct dtd *d);
enum dtd_result dtd_check_datagrams(struct dtd *d);
/* DTD_CAN_ of this IA. */
uint32_t dtd_abilities(struct dtl_ia *ia);
DAT_MEM_PRIV_FLAGS dtd_rights(struct dtl_ia *ia);
/* The longest datagram. */
unsigned dtd_mtu(const struct dtl_ia *ia);

#endif

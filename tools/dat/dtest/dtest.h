/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTD_DTEST_H
#define DTD_DTEST_H

/*
 * dapple-dtest: two processes walk one list of checks in step.  All their messages go over DAT: no
 * TCP port is used, so any number of pairs runs on one host (-n).
 *
 * The memory of an end, whose context and address it advertises:
 *
 *   0       step messages: one to send, four to receive    5 x 64 bytes
 *   4096    source: this end sends, the peer reads         size x burst
 *   then    target: this end receives, the peer writes     size x burst
 */

#include "common/dtl.h"

#define DTD_QUAL 45248		/* where the old tool listens */
#define DTD_BACKLOG 8		/* requests that the server queues */
#define DTD_PRIVATE 48		/* bytes of private data in request, answer and rejection */

enum dtd_result { DTD_PASS, DTD_FAIL, DTD_UNSUPP };

/* Abilities of an end. Both exchange them while connecting; those of both are tested. */
enum { DTD_CAN_ATOMICS = 1, DTD_CAN_IMMEDIATE = 2, DTD_CAN_SRQ = 4, DTD_CAN_DATAGRAMS = 8 };

struct dtd_options {
	const char *ia, *host;		/* host NULL: the server */
	DAT_CONN_QUAL qual;
	uint64_t size;
	int burst;
	bool only_how;			/* -p or -c given: this mode only */
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
	uint64_t posted, received, recv_posted, steps_posted, steps_read;
	uint32_t common;		/* DTD_CAN_ of both ends */
	bool met;			/* both ends have connected once */
};

static inline bool dtd_is_server(const struct dtd *d)
{
	return !d->o->host;
}

/* A failed condition ends the check. */
#define DTD_NEED(condition)						\
	do {								\
		if (!(condition)) {					\
			dtl_complain("%s:%d: failed: %s", __FILE__, __LINE__, #condition); \
			return DTD_FAIL;				\
		}							\
	} while (0)

/* --- meet.c --- */

/* Connects an endpoint of check NR of the list. The server accepts requests in any order and
 * rejects one of another check. */
enum dtd_result dtd_meet(struct dtd *d, struct dtl_end *e, uint32_t nr);
/* N of them at once, N being DTD_BACKLOG at most. */
enum dtd_result dtd_meet_many(struct dtd *d, struct dtl_end *e, int n, uint32_t nr);
/* As dtd_meet, for datagram endpoints; the event has the peer's address. Not in DAT 1.2. */
enum dtd_result dtd_meet_ud(struct dtd *d, struct dtl_end *e, uint32_t nr, DAT_EVENT *ret);
enum dtd_result dtd_check_reject(struct dtd *d);

/* --- session.c --- */

int dtd_open(struct dtd *d, const struct dtd_options *o);
int dtd_close(struct dtd *d);
/* Returns the attributes of an endpoint for burst messages. */
struct dtl_end_wish dtd_wish(const struct dtd *d);
enum dtd_result dtd_check_connect(struct dtd *d);
enum dtd_result dtd_check_reconnect(struct dtd *d);
/*
 * Returns when both ends are at this step. They exchange advertisements of memory the first time.
 */
int dtd_step(struct dtd *d, uint32_t nr);
/* The same with a number of each end. */
int dtd_step_saying(struct dtd *d, uint32_t nr, uint64_t saying, uint64_t *ret);
/* Ends the connection behind the last step. */
int dtd_part(struct dtd *d);
int dtd_reap_request(struct dtd *d, uint64_t cookie);
/* Posts one more receive of a step message. */
int dtd_post_step_recv(struct dtd *d);

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

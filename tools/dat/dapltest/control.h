/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_CONTROL_H
#define DTT_CONTROL_H

/*
 * The messages of client and server, over a DAT connection of their own:
 *
 *   connect          private data: magic, version; that of the accept or of a reject is the server's
 *   REQUEST   c->s   the plan
 *   READY     s->c   the qualifiers to which the data endpoints connect
 *   ...              the test itself
 *   DONE      c->s   the client's verdict
 *   RESULT    s->c   the server's verdict, with a sentence; also instead of READY
 *
 * A message is magic, version, type, length of the body, body; all numbers in network order. An end whose private data
 * has no magic speaks version 6 of the DAPL project's dapltest (six.h).
 */

#include "plan.h"

#define CTL_MAGIC 0x44504c54u		/* "DPLT" */
#define CTL_VERSION 3
#define CTL_TEXT 256

enum ctl_type { CTL_REQUEST = 1, CTL_READY, CTL_DONE, CTL_RESULT };

struct ctl_ready {
	uint32_t n_quals;
	uint64_t quals[DTT_LANES_MAX];
};

struct ctl_result {
	bool ok;
	char text[CTL_TEXT];
};

struct ctl {
	struct dtl_end end;
	struct dtl_mem mem;
	uint64_t received, sent;
};

/* The private data of a connect. */
struct ctl_hello {
	uint32_t magic, version;	/* network order */
};
void ctl_hello_set(struct ctl_hello *h);
bool ctl_hello_ok(const void *data, int size);
/* Whether it is this protocol, of whatever version. */
bool ctl_hello_there(const void *data, int size);

/* Creates an endpoint with posted receives, not connected yet. */
int ctl_make(struct ctl *c, struct dtl_ia *ia, DAT_QOS qos);
int ctl_drop(struct ctl *c);

int ctl_send_request(struct ctl *c, const struct dtt_plan *plan);
int ctl_send_ready(struct ctl *c, const struct ctl_ready *ready);
int ctl_send_result(struct ctl *c, enum ctl_type type, bool ok, const char *text);

union ctl_body {
	struct dtt_plan plan;
	struct ctl_ready ready;
	struct ctl_result result;	/* of DONE and RESULT */
};
/* Returns the type of the next message, or -1. */
int ctl_recv(struct ctl *c, union ctl_body *ret);

/* The same connection for bytes of another protocol: the place of the next message, and its Send. */
unsigned char *ctl_room(struct ctl *c);
int ctl_send(struct ctl *c, uint32_t bytes);
/* The last one: the peer answers and ends the connection. */
int ctl_send_last(struct ctl *c, uint32_t bytes);
/* Returns the length of the next message, whose bytes stay until ctl_taken, or -1. */
int64_t ctl_next(struct ctl *c, unsigned char **ret);
int ctl_taken(struct ctl *c);

#endif

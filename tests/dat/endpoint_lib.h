/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For the tests of endpoints and connections, on the pair of mem_pair.h: a connects, b accepts. */
#ifndef TESTS_DAT_ENDPOINT_LIB_H
#define TESTS_DAT_ENDPOINT_LIB_H

#include "mem_pair.h"

#define STATE(sub) ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_##sub)
#define HANDLE(sub) ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_##sub)
#define ARG(n) ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

struct el {
	struct mp p;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
};

/* Both ends, and a listener at b. */
void el_open(struct el *t);
void el_close(struct el *t);

/* A fresh endpoint like e's own. */
DAT_EP_HANDLE el_ep(struct mp_end *e);
DAT_EP_STATE el_state(DAT_EP_HANDLE ep);
void el_connect(struct el *t, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, DAT_COUNT n, const void *data);
/* The next request at b. */
DAT_CR_HANDLE el_request(struct el *t);
/* Waits for this event of e's connection EVD, about that endpoint. */
DAT_CONNECTION_EVENT_DATA el_event(struct mp_end *e, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number);
/* Connects ep of a with peer of b, and takes both events. */
void el_join(struct el *t, DAT_EP_HANDLE ep, DAT_EP_HANDLE peer);
/* Ends the connection from a's side, takes both events. */
void el_part(struct el *t, DAT_EP_HANDLE ep, DAT_EP_HANDLE peer);
/* No event is queued, and nothing under way causes one. */
void el_quiet(struct el *t);
/* Drops all events, those under way included. */
void el_settle(struct el *t);

#endif

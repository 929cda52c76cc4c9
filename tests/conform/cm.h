/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections for the conformance suite, over public rdma_cm calls. Both ends
 * are in one process unless a check says otherwise; addresses are cm_host()'s,
 * and ports are chosen by the adapter.
 */
#ifndef CONFORM_CM_H
#define CONFORM_CM_H

#include "conf.h"

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

/* The adapter connects streams itself: no RESPONSE to confirm, no UD. */
bool cm_is_iwarp(void);

/* The adapter's address: loopback's, or the IPv4 address that CONFORM_ADDRESS names, where IPv6 is skipped. */
const char *cm_host(int family);
bool cm_has_v6(void);
/* It with this port; family AF_INET or AF_INET6. */
struct sockaddr_storage cm_here(int family, uint16_t port);
struct sockaddr_storage cm_any(int family, uint16_t port);
#define cm_sa(s) ((struct sockaddr *)(void *)(s))
uint16_t cm_port(struct rdma_cm_id *id); /* of its own end, host order */

/* All are kept, and undone at the end. */
struct rdma_event_channel *cm_channel(void);
struct rdma_cm_id *cm_id(struct rdma_event_channel *ch, enum rdma_port_space ps);
struct rdma_cm_id *cm_keep(struct rdma_cm_id *id);
void cm_qp(struct rdma_cm_id *id);

/* The next event within CF_WAIT_MS is of this type; not acknowledged. */
struct rdma_cm_event *cm_take_at(const char *file, int line, struct rdma_event_channel *ch,
				 enum rdma_cm_event_type want);
#define cm_take(ch, type) cm_take_at(__FILE__, __LINE__, ch, RDMA_CM_EVENT_##type)
/* The same, acknowledged; returns its status. */
int cm_event_at(const char *file, int line, struct rdma_event_channel *ch,
		enum rdma_cm_event_type want);
#define cm_event(ch, type) cm_event_at(__FILE__, __LINE__, ch, RDMA_CM_EVENT_##type)
/* No event for CF_QUIET_MS. */
void cm_silent(struct rdma_event_channel *ch);

/* A listener at an address (NULL: loopback IPv4, any port). */
struct rdma_cm_id *cm_listen(struct rdma_event_channel *ch, enum rdma_port_space ps,
			     struct sockaddr_storage *at);
/* An active end with its route to port on loopback; no queue pair yet. */
struct rdma_cm_id *cm_towards(struct rdma_event_channel *ch, enum rdma_port_space ps,
			      struct sockaddr_storage *to);

/* Connects with a queue pair of its own, hears that it is established, and leaves. */
void cm_visit(struct rdma_event_channel *ch, uint16_t port);

struct cm_pair {
	struct rdma_event_channel *ach, *pch; /* active, passive */
	struct rdma_cm_id *listener, *a, *p;
};
/* A listener and an id with a route to it. */
void cm_open(struct cm_pair *c, int family);
/* Up to a request that waits for its answer; req is not acknowledged. */
void cm_request(struct cm_pair *c, int family, struct rdma_conn_param *param,
		struct rdma_cm_event **req);
/* The same over IPv4 with a step between the route and the connect, which may bring the queue pair;
 * and on from the request, which may have one too. */
void cm_request_after(struct cm_pair *c, void (*step)(struct rdma_cm_id *id),
		      struct rdma_cm_event **req);
void cm_accept(struct cm_pair *c, struct rdma_cm_event *req);
/* An established connection. */
void cm_connect(struct cm_pair *c, int family);
/* One message from one end to the other. */
void cm_say(struct rdma_cm_id *from, struct rdma_cm_id *to, uint64_t seed);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A host with two adapters of unlike kinds and managers that record their calls: the RDMA CM's own
 * rules can be tested alone. "alpha" serves every QP type and port space and has the addresses
 * 10.0.0.1 and fd00::1; "beta" is like iWARP, RC and TCP only, with 10.0.0.1 too and 10.0.0.2
 * alone.
 */
#ifndef TESTS_UNIT_CMA_FAKE_H
#define TESTS_UNIT_CMA_FAKE_H

#include "cm/cma.h"
#include "support/check.h"
#include "util/list.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#define FAKE_ADDRS 4

struct fake_ep {
	struct cm_ep ep;
	struct ut_list node;
	bool bound, listening;
	unsigned loads;
	int load_result;
	unsigned connects, accepts, rejects, disconnects, establishes, notifies;
	int backlog;
	struct cm_param param;
};

/* Fields but the dev are under dev.lock where threads are tested. */
struct fake_port {
	struct cm_port cm; /* first */
	struct eng_dev dev;
	struct link_end addrs[FAKE_ADDRS];
	int n_addrs;
	struct ut_list eps;
	unsigned attaches, drives;
	int groups;        /* the link is in */
	int attach_result, connect_result, accept_result;
	uint16_t next_port; /* given for port 0, then the next */
};

struct fake_host {
	struct cma *c;
	struct fake_port alpha, beta;
	int path_result;   /* of the next path questions */
	int join_result;   /* of the next joins; 0: as on Ethernet */
	int name_result;   /* of the next questions for an address; 0: no subnet is asked */
	int leaves;        /* of groups of the host */
	uint64_t asked;
	char said[256];    /* the last sentence; the test empties it */
};

extern struct fake_host fh;

void fh_open(void);
/* All endpoints gone, no group left. */
void fh_check_empty(void);

struct sockaddr *fh_v4(const char *ip, uint16_t port);
struct sockaddr *fh_v6(const char *ip, uint16_t port);
struct cma_chan *fh_chan(void);
struct cma_id *fh_id(struct cma_chan *ch, enum cm_ps ps, enum ibv_qp_type t);
/* Resolved and routed to 10.0.0.9:7, events taken. */
struct cma_id *fh_routed(struct cma_chan *ch);
/* Connected: ESTABLISHED taken. */
struct cma_id *fh_connected(struct cma_chan *ch);
/* The next event must be this one; returns it in static storage. */
struct cma_event *fh_expect(struct cma_chan *ch, int type, int status);
void fh_expect_none(struct cma_chan *ch);

/* How many endpoints a port has; how many listen. */
int fh_eps(struct fake_port *p);
int fh_listening(struct fake_port *p);
/* The only endpoint. */
struct fake_ep *fh_ep(struct fake_port *p);
/* The listening one on this address. */
struct fake_ep *fh_listener(struct fake_port *p, const char *ip);
/* Up-calls. */
void fh_raise(struct fake_port *p, struct fake_ep *e, enum cm_event_type type, int status);
/* A request on a listener: the user's arguments; the endpoint is destroyed when refused. */
int fh_request(struct fake_port *p, struct fake_ep *listener, enum ibv_qp_type t,
	       struct fake_ep **ret);
/* Another process has this port on the adapter. */
void fh_occupy(struct fake_port *p, const char *ip, uint16_t port);
struct cm_param fh_param(void);

#endif

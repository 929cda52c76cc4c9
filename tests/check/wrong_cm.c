/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Mistakes with the connection manager. Both ends are in this process, over the loopback adapter. */
#include "world.h"

#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct rdma_event_channel *at_server, *at_client;
static struct rdma_cm_id *listener, *client, *server;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	_exit(99);
}

/* Takes the next event of a channel, which must be that one. */
static struct rdma_cm_id *expect(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *e;
	struct rdma_cm_id *id;

	must(rdma_get_cm_event(ch, &e) == 0, "rdma_get_cm_event");
	id = e->id;
	if (e->event != type) {
		fprintf(stderr, "event %s\n", rdma_event_str(e->event));
		_exit(99);
	}
	rdma_ack_cm_event(e);
	return id;
}

static void resolve(enum rdma_port_space ps, uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	at_client = rdma_create_event_channel();
	must(at_client && rdma_create_id(at_client, &client, NULL, ps) == 0, "rdma_create_id");
	must(rdma_resolve_addr(client, NULL, (struct sockaddr *)&to, 60000) == 0, "rdma_resolve_addr");
	expect(at_client, RDMA_CM_EVENT_ADDR_RESOLVED);
	must(rdma_resolve_route(client, 60000) == 0, "rdma_resolve_route");
	expect(at_client, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static void listen_here(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	at_server = rdma_create_event_channel();
	must(at_server && rdma_create_id(at_server, &listener, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	must(rdma_bind_addr(listener, (struct sockaddr *)&any) == 0 && rdma_listen(listener, 4) == 0, "rdma_listen");
}

static struct ibv_qp *make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr a = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };

	a.send_cq = a.recv_cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
	must(rdma_create_qp(id, NULL, &a) == 0, "rdma_create_qp");
	return id->qp;
}

/* Until the server has the request; both ends have queue pairs. */
static void meet(void)
{
	struct rdma_conn_param p = { .responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7 };

	listen_here();
	resolve(RDMA_PS_TCP, rdma_get_src_port(listener));
	make_qp(client);
	must(rdma_connect(client, &p) == 0, "rdma_connect");
	server = expect(at_server, RDMA_CM_EVENT_CONNECT_REQUEST);
	make_qp(server);
}

BARE(receive_after_accept)
{
	struct rdma_conn_param p = { .responder_resources = 1, .initiator_depth = 1 };
	static char b[64];
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_sge s = { (uintptr_t)b, sizeof(b), 0 };

	meet();
	s.lkey = ibv_reg_mr(server->pd, b, sizeof(b), IBV_ACCESS_LOCAL_WRITE)->lkey;
	wr.sg_list = &s;
	rdma_accept(server, &p);
	ibv_post_recv(server->qp, &wr, &bad); /* wrong: receive-after-accept */
}

BARE(much_private_data_in_connect)
{
	static char b[200];
	struct rdma_conn_param p = { .private_data = b, .private_data_len = 100 };

	resolve(RDMA_PS_TCP, htons(1));
	make_qp(client);
	rdma_connect(client, &p); /* wrong: private-data-too-long */
}

BARE(much_private_data_in_accept)
{
	static char b[250];
	struct rdma_conn_param p = { .private_data = b, .private_data_len = 250 };

	meet();
	rdma_accept(server, &p); /* wrong: private-data-too-long */
}

BARE(much_private_data_in_reject)
{
	static char b[200];

	meet();
	rdma_reject(server, b, 200); /* wrong: private-data-too-long */
}

BARE(much_private_data_in_datagram)
{
	static char b[200];
	struct rdma_conn_param p = { .private_data = b, .private_data_len = 190 };

	resolve(RDMA_PS_UDP, htons(1));
	rdma_connect(client, &p); /* wrong: private-data-too-long */
}

BARE(identifier_twice)
{
	listen_here();
	rdma_destroy_id(listener);
	rdma_destroy_id(listener); /* wrong: destroyed-twice */
}

BARE(event_channel_twice)
{
	at_client = rdma_create_event_channel();
	rdma_destroy_event_channel(at_client);
	rdma_destroy_event_channel(at_client); /* wrong: destroyed-twice */
}

static void acknowledge(void *arg)
{
	rdma_ack_cm_event(arg);
}

BARE(cm_event_not_acknowledged)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_cm_event *e;

	at_client = rdma_create_event_channel();
	must(rdma_create_id(at_client, &client, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	must(rdma_resolve_addr(client, NULL, (struct sockaddr *)&to, 60000) == 0, "rdma_resolve_addr");
	must(rdma_get_cm_event(at_client, &e) == 0, "rdma_get_cm_event");
	world_rescue(acknowledge, e);
	rdma_destroy_id(client); /* wrong: cm-events-not-acknowledged */
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Identifiers: addresses and ports, channels, synchronous calls, datagrams, groups. */
#include "cm.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void ports(void)
{
	struct rdma_event_channel *ch = cm_channel();
	struct rdma_cm_id *l = cm_listen(ch, RDMA_PS_TCP, NULL), *other = cm_id(ch, RDMA_PS_TCP);
	struct sockaddr_storage same = cm_here(AF_INET, cm_port(l));
	struct sockaddr_storage any = cm_any(AF_INET, cm_port(l));
	struct sockaddr_storage foreign = { .ss_family = AF_INET };

	CF_ERR(rdma_bind_addr(other, cm_sa(&same)), EADDRINUSE);
	CF_ERR(rdma_bind_addr(other, cm_sa(&any)), EADDRINUSE);
	((struct sockaddr_in *)(void *)&foreign)->sin_addr.s_addr = htonl(0xc0000201);
	CF_TRUE(rdma_bind_addr(other, cm_sa(&foreign)) == -1 &&
		(errno == EADDRNOTAVAIL || errno == ENODEV));
	cf_drop(l);
	CF_OK(rdma_bind_addr(other, cm_sa(&same)));
	CF_TRUE(rdma_bind_addr(other, cm_sa(&same)) == -1 && errno == EINVAL); /* bound already */
}

/* Any address, any port: it gets one, and is reached on each of the host's addresses. */
static void wildcard(void)
{
	struct rdma_event_channel *ch = cm_channel(), *ach = cm_channel();
	struct sockaddr_storage any = cm_any(AF_INET6, 0), to;
	struct rdma_cm_id *l = cm_listen(ch, RDMA_PS_TCP, &any), *id;
	struct rdma_cm_event *e;

	CF_TRUE(!l->verbs);
	for (int i = 0; i < 2; i++) {
		to = cm_here(i ? AF_INET6 : AF_INET, cm_port(l));
		id = cm_towards(ach, RDMA_PS_TCP, &to);
		cm_qp(id);
		CF_OK(rdma_connect(id, NULL));
		e = cm_take(ch, CONNECT_REQUEST);
		CF_TRUE(e->id->verbs == id->verbs);
		cm_keep(e->id);
		CF_OK(rdma_ack_cm_event(e));
	}
}

static void unreachable(void)
{
	struct rdma_event_channel *ch = cm_channel();
	struct sockaddr_storage nowhere = { .ss_family = AF_INET };
	struct rdma_cm_id *id = cm_id(ch, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };

	CF_ERR(rdma_create_qp(id, NULL, &attr), EINVAL); /* no device yet */
	CF_ERR(rdma_connect(id, NULL), EINVAL);
	CF_ERR(rdma_resolve_route(id, 10), EINVAL);
	((struct sockaddr_in *)(void *)&nowhere)->sin_addr.s_addr = htonl(0xf0000001); /* class E */
	if (rdma_resolve_addr(id, NULL, cm_sa(&nowhere), 1000) == 0)
		CF_TRUE(cm_event(ch, ADDR_ERROR) < 0);
	cm_silent(ch);
}

static void would_block(void)
{
	struct rdma_event_channel *ch = cm_channel();
	struct sockaddr_storage to = cm_here(AF_INET, 9);
	struct rdma_cm_id *id = cm_id(ch, RDMA_PS_TCP);
	struct rdma_cm_event *e;

	CF_OK(fcntl(ch->fd, F_SETFL, O_NONBLOCK));
	CF_TRUE(fcntl(ch->fd, F_GETFD) & FD_CLOEXEC);
	CF_ERR(rdma_get_cm_event(ch, &e), EAGAIN);
	CF_TRUE(!cf_readable(ch->fd, 0));
	CF_OK(rdma_resolve_addr(id, NULL, cm_sa(&to), 1000));
	CF_EQ(cm_event(ch, ADDR_RESOLVED), 0);
	CF_TRUE(!cf_readable(ch->fd, 0));
	CF_ERR(rdma_get_cm_event(ch, &e), EAGAIN);
}

/* The events of an identifier go along; those of others stay. */
#define REMOVALS 2000

static atomic_bool removals_end;

/* A thread that takes events while another one destroys their identifiers. */
static void *take_events(void *channel)
{
	struct rdma_cm_event *e;

	while (!atomic_load(&removals_end))
		if (rdma_get_cm_event(channel, &e) == 0)
			rdma_ack_cm_event(e);
	return NULL;
}

/* An event that has been taken and an identifier that goes do not meet half-way. */
static void removed(void)
{
	struct rdma_event_channel *ch = cm_channel();
	struct sockaddr_storage to = cm_here(AF_INET, 1);
	struct rdma_cm_id *id;
	pthread_t t;

	CF_OK(fcntl(ch->fd, F_SETFL, O_NONBLOCK));
	atomic_store(&removals_end, false);
	CF_OK(pthread_create(&t, NULL, take_events, ch));
	for (int i = 0; i < REMOVALS; i++) {
		CF_OK(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
		CF_OK(rdma_resolve_addr(id, NULL, cm_sa(&to), 1000));
		for (volatile int k = 0; k < i % 64 * 20; k++)
			;
		CF_OK(rdma_destroy_id(id));
	}
	atomic_store(&removals_end, true);
	CF_OK(pthread_join(t, NULL));
}

static void migrated(void)
{
	struct rdma_event_channel *one = cm_channel(), *two = cm_channel();
	struct sockaddr_storage to = cm_here(AF_INET, 9);
	struct rdma_cm_id *a = cm_id(one, RDMA_PS_TCP), *b = cm_id(one, RDMA_PS_TCP);
	struct rdma_cm_event *e;

	CF_OK(rdma_resolve_addr(a, NULL, cm_sa(&to), 1000));
	CF_TRUE(cf_readable(one->fd, CF_WAIT_MS));
	CF_OK(rdma_migrate_id(a, two));
	CF_TRUE(a->channel == two);
	cm_silent(one);
	e = cm_take(two, ADDR_RESOLVED);
	CF_TRUE(e->id == a);
	CF_OK(rdma_ack_cm_event(e));
	CF_OK(rdma_resolve_addr(b, NULL, cm_sa(&to), 1000));
	CF_EQ(cm_event(one, ADDR_RESOLVED), 0);
	CF_OK(rdma_migrate_id(a, NULL)); /* from now on calls wait */
	CF_OK(rdma_resolve_route(a, 1000));
	CF_EQ(a->event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
	CF_TRUE(a->route.num_paths == (cm_is_iwarp() ? 0 : 1));
}

/* --- synchronous ends --- */

static struct ibv_qp_init_attr ep_attr(void)
{
	return (struct ibv_qp_init_attr){
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};
}

static void destroy_ep(void *id)
{
	rdma_destroy_ep(id);
}

static void serve(struct cf_party *p)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = ep_attr();
	struct rdma_cm_id *l, *id;
	struct rdma_addrinfo *res;
	uint16_t port, unused;
	struct ibv_wc wc;
	char buf[64] = "";
	struct ibv_mr *mr;

	CF_OK(rdma_getaddrinfo(cm_host(AF_INET), NULL, &hints, &res));
	CF_OK(rdma_create_ep(&l, res, NULL, &attr));
	rdma_freeaddrinfo(res);
	CF_OK(rdma_listen(l, 0));
	port = cm_port(l);
	cf_swap(p, &port, &unused, sizeof(port));
	CF_OK(rdma_get_request(l, &id));
	mr = rdma_reg_msgs(id, buf, sizeof(buf));
	CF_TRUE(mr != NULL);
	CF_OK(rdma_post_recv(id, NULL, buf, sizeof(buf), mr));
	CF_OK(rdma_accept(id, NULL));
	CF_EQ(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	CF_EQ(rdma_get_recv_comp(id, &wc), 1);
	CF_EQ(wc.status, IBV_WC_SUCCESS);
	CF_TRUE(!strcmp(buf, "a word"));
	CF_OK(rdma_post_send(id, NULL, buf, sizeof(buf), mr, 0));
	CF_EQ(rdma_get_send_comp(id, &wc), 1);
	CF_OK(rdma_disconnect(id));
	CF_OK(rdma_dereg_mr(mr));
	destroy_ep(id);
	destroy_ep(l);
}

static void ask(struct cf_party *p)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = ep_attr();
	struct rdma_addrinfo *res;
	uint16_t port = 0, peer;
	struct rdma_cm_id *id;
	char word[64] = "a word", service[8];
	struct ibv_mr *mr;
	struct ibv_wc wc;

	cf_swap(p, &port, &peer, sizeof(port));
	snprintf(service, sizeof(service), "%u", peer);
	CF_OK(rdma_getaddrinfo(cm_host(AF_INET), service, &hints, &res));
	CF_OK(rdma_create_ep(&id, res, NULL, &attr));
	rdma_freeaddrinfo(res);
	mr = rdma_reg_msgs(id, word, sizeof(word));
	CF_TRUE(mr != NULL);
	CF_OK(rdma_post_recv(id, NULL, word, sizeof(word), mr));
	CF_OK(rdma_connect(id, NULL));
	CF_EQ(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	CF_OK(rdma_post_send(id, NULL, word, sizeof(word), mr, 0));
	CF_EQ(rdma_get_send_comp(id, &wc), 1);
	CF_EQ(wc.status, IBV_WC_SUCCESS);
	CF_EQ(rdma_get_recv_comp(id, &wc), 1);
	CF_EQ(wc.status, IBV_WC_SUCCESS);
	CF_OK(rdma_disconnect(id));
	CF_OK(rdma_dereg_mr(mr));
	destroy_ep(id);
}

static void synchronous(void)
{
	cf_roles(serve, ask);
}

static void in_processes(void)
{
	cf_processes(serve, ask);
}

/* --- datagrams --- */

static void datagrams(void)
{
	struct rdma_event_channel *ach = cm_channel(), *pch = cm_channel();
	struct rdma_cm_id *l = cm_listen(pch, RDMA_PS_UDP, NULL), *a;
	struct sockaddr_storage to = cm_here(AF_INET, cm_port(l));
	struct rdma_conn_param param = { .private_data = "who", .private_data_len = 3 };
	struct rdma_cm_event *e;
	struct rdma_cm_id *p;
	struct ibv_ah *ah;

	a = cm_towards(ach, RDMA_PS_UDP, &to);
	cm_qp(a);
	CF_EQ(cf_state(a->qp), IBV_QPS_RTS);
	CF_OK(rdma_connect(a, &param));
	e = cm_take(pch, CONNECT_REQUEST);
	CF_TRUE(!memcmp(e->param.ud.private_data, "who", 3));
	p = cm_keep(e->id);
	CF_OK(rdma_ack_cm_event(e));
	cm_qp(p);
	CF_OK(rdma_accept(p, NULL));
	e = cm_take(ach, ESTABLISHED);
	CF_EQ(e->param.ud.qp_num, p->qp->qp_num);
	CF_EQ(e->param.ud.qkey, RDMA_UDP_QKEY);
	ah = ibv_create_ah(a->pd, &e->param.ud.ah_attr);
	CF_TRUE(ah != NULL);
	CF_OK(rdma_ack_cm_event(e));
	CF_OK(ibv_destroy_ah(ah));
}

static void no_service(void)
{
	struct rdma_event_channel *ch = cm_channel();
	struct rdma_cm_id *l = cm_listen(ch, RDMA_PS_UDP, NULL), *id;
	struct sockaddr_storage to = cm_here(AF_INET, cm_port(l));

	cf_drop(l);
	id = cm_towards(ch, RDMA_PS_UDP, &to);
	cm_qp(id);
	CF_OK(rdma_connect(id, NULL));
	CF_EQ(cm_event(ch, UNREACHABLE), 1);
}

static void no_datagrams(void)
{
	struct rdma_event_channel *ch = cm_channel();
	struct sockaddr_storage to = cm_here(AF_INET, 9);
	struct rdma_cm_id *id = cm_id(ch, RDMA_PS_UDP);

	if (!cm_is_iwarp())
		cf_skip("this adapter has them");
	if (rdma_resolve_addr(id, NULL, cm_sa(&to), 1000) == 0)
		CF_EQ(cm_event(ch, ADDR_ERROR), -ENODEV);
	else
		CF_EQ(errno, ENODEV);
}

static void groups(void)
{
	struct rdma_event_channel *ch = cm_channel();
	struct sockaddr_storage here = cm_here(AF_INET, 0), g = { .ss_family = AF_INET };
	struct rdma_cm_id *id = cm_id(ch, RDMA_PS_UDP);
	struct rdma_cm_event *e;
	int mine;

	((struct sockaddr_in *)(void *)&g)->sin_addr.s_addr =
		htonl(0xefff0000u | (getpid() & 0xffff));
	CF_OK(rdma_bind_addr(id, cm_sa(&here)));
	cm_qp(id);
	CF_OK(rdma_join_multicast(id, cm_sa(&g), &mine));
	e = cm_take(ch, MULTICAST_JOIN);
	CF_EQ(e->status, 0);
	CF_TRUE(e->param.ud.private_data == &mine);
	CF_EQ(e->param.ud.qp_num, 0xffffff);
	CF_EQ(e->param.ud.qkey, RDMA_UDP_QKEY);
	CF_EQ(e->param.ud.ah_attr.grh.dgid.raw[10], 0xff);
	CF_OK(rdma_ack_cm_event(e));
	CF_OK(rdma_leave_multicast(id, cm_sa(&g)));
	CF_ERR(rdma_leave_multicast(id, cm_sa(&g)), EADDRNOTAVAIL);
	cm_silent(ch);
}

/* --- servers of one port --- */

static struct share {
	_Atomic int port;
} *share;

static int first_server(void *arg)
{
	struct sockaddr_storage any = cm_any(AF_INET, 0);
	struct rdma_event_channel *ch = cm_channel();

	share->port = cm_port(cm_listen(ch, RDMA_PS_TCP, &any));
	for (;;)
		pause();
	return 1;
}

/* The second one hears of it, with one kind of adapter or several. */
static void second_server(void)
{
	struct rdma_event_channel *ch = cm_channel();
	struct sockaddr_storage any, here;
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;

	share = cf_pages(sizeof(*share));
	cf_child(first_server, NULL);
	while (!share->port && cf_ns() < end)
		usleep(500);
	CF_TRUE(share->port);
	any = cm_any(AF_INET, (uint16_t)share->port);
	here = cm_here(AF_INET, (uint16_t)share->port);
	CF_ERR(rdma_bind_addr(cm_id(ch, RDMA_PS_TCP), cm_sa(&any)), EADDRINUSE);
	CF_ERR(rdma_bind_addr(cm_id(ch, RDMA_PS_TCP), cm_sa(&here)), EADDRINUSE);
	any = cm_any(AF_INET6, (uint16_t)share->port);
	CF_ERR(rdma_bind_addr(cm_id(ch, RDMA_PS_TCP), cm_sa(&any)), EADDRINUSE);
}

/* A TCP program's port is taken for iWARP; where RoCE comes first it does not matter. */
static void tcp_has_it(void)
{
	struct rdma_event_channel *ch = cm_channel();
	struct sockaddr_storage any;
	uint16_t port;
	int fd = cf_tcp_listen(&port);

	any = cm_any(AF_INET, port);
	if (cm_is_iwarp()) {
		CF_ERR(rdma_bind_addr(cm_id(ch, RDMA_PS_TCP), cm_sa(&any)), EADDRINUSE);
	} else {
		struct rdma_cm_id *l = cm_listen(ch, RDMA_PS_TCP, &any), *id;
		struct sockaddr_storage to = cm_here(AF_INET, port);
		struct rdma_cm_event *e;

		id = cm_towards(ch, RDMA_PS_TCP, &to);
		cm_qp(id);
		CF_OK(rdma_connect(id, NULL));
		e = cm_take(ch, CONNECT_REQUEST);
		CF_TRUE(e->listen_id == l);
		cm_keep(e->id);
		CF_OK(rdma_ack_cm_event(e));
	}
	close(fd);
}

/*
 * An address of lo chooses its adapter; a name of lo chooses none, as no address of lo does in a kernel: libfabric asks it
 * for all adapters. What listens there is asked as ever.
 */
static void name_of_loopback(void)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP }, *name, *address;
	struct rdma_event_channel *ch = cm_channel();
	struct rdma_cm_id *l = cm_id(ch, RDMA_PS_TCP), *at = cm_id(ch, RDMA_PS_TCP), *id;
	struct sockaddr_storage to;
	struct rdma_cm_event *e;

	if (strcmp(cm_host(AF_INET), "127.0.0.1"))
		cf_skip("no adapter of this kind is at loopback");
	if (rdma_getaddrinfo("localhost", NULL, &hints, &name))
		cf_skip("the name service has no localhost");
	CF_OK(rdma_getaddrinfo("127.0.0.1", NULL, &hints, &address));
	CF_OK(rdma_bind_addr(at, address->ai_src_addr));
	CF_TRUE(at->verbs != NULL);
	CF_OK(rdma_bind_addr(l, name->ai_src_addr));
	CF_TRUE(!l->verbs);
	to = cm_here(name->ai_src_addr->sa_family, be16toh(rdma_get_src_port(l)));
	rdma_freeaddrinfo(name);
	rdma_freeaddrinfo(address);
	CF_OK(rdma_listen(l, 1));
	id = cm_towards(ch, RDMA_PS_TCP, &to);
	cm_qp(id);
	CF_OK(rdma_connect(id, NULL));
	e = cm_take(ch, CONNECT_REQUEST);
	CF_TRUE(e->listen_id == l && e->id->verbs != NULL);
	cm_keep(e->id);
	CF_OK(rdma_ack_cm_event(e));
}

const struct cf_check cf_checks[] = {
	{ "+", "a port is one listener's", 0, ports },
	{ "+", "any address and any port", 0, wildcard },
	{ "+", "a second server on a port", 0, second_server },
	{ "+", "a name of loopback", 0, name_of_loopback },
	{ "+", "a port that a TCP program has", 0, tcp_has_it },
	{ "+", "addresses that lead nowhere, calls too early", 0, unreachable },
	{ "+", "a channel that must not block", 0, would_block },
	{ "+", "identifiers that go while their events are taken", 0, removed },
	{ "+", "identifiers change their channel", 0, migrated },
	{ "+", "synchronous endpoints", 0, synchronous },
	{ "+", "synchronous endpoints in two processes", 0, in_processes },
	{ "+", "datagrams look their peer up", CF_UD, datagrams },
	{ "+", "no service for datagrams", CF_UD, no_service },
	{ "+", "an adapter without datagrams", 0, no_datagrams },
	{ "+", "multicast groups", CF_UD | CF_MCAST, groups },
	{ 0 }
};

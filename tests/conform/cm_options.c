/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Options of an identifier, enhanced connection establishment, notify. */
#include "cm.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void set_option(struct rdma_cm_id *id, int name, int value)
{
	uint8_t byte = (uint8_t)value;
	bool wide = name == RDMA_OPTION_ID_REUSEADDR || name == RDMA_OPTION_ID_AFONLY;

	CF_OK(rdma_set_option(id, RDMA_OPTION_ID, name, wide ? (void *)&value : (void *)&byte,
			      wide ? sizeof(value) : sizeof(byte)));
}

static struct ibv_qp_attr attr_of(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	CF_OK(ibv_query_qp(id->qp, &a, IBV_QP_AV | IBV_QP_TIMEOUT, &init));
	return a;
}

/* Sockets of this process that are connected to this port and have this type of service. */
static int streams_of_type(uint16_t port, int tos)
{
	int found = 0;

	for (int fd = 0; fd < 1024; fd++) {
		struct sockaddr_in to;
		socklen_t n = sizeof(to), m = sizeof(int);
		int is;

		if (!getpeername(fd, (struct sockaddr *)&to, &n) && to.sin_family == AF_INET &&
		    ntohs(to.sin_port) == port && !getsockopt(fd, IPPROTO_IP, IP_TOS, &is, &m))
			found += is == tos;
	}
	return found;
}

/* --- options --- */

#define TOS 0x28

static void with_tos(struct rdma_cm_id *id)
{
	set_option(id, RDMA_OPTION_ID_TOS, TOS);
}

static void type_of_service(void)
{
	struct rdma_cm_event *req;
	struct cm_pair c;

	cm_request_after(&c, with_tos, &req);
	cm_accept(&c, req);
	if (cm_is_iwarp()) {
		CF_EQ(streams_of_type(cm_port(c.listener), TOS), 1);
	} else {
		CF_EQ(attr_of(c.a).ah_attr.grh.traffic_class, TOS);
		CF_EQ(attr_of(c.p).ah_attr.grh.traffic_class, TOS); /* by the request */
	}
	cm_say(c.a, c.p, 1);
	cm_say(c.p, c.a, 2);
}

static void with_timeout(struct rdma_cm_id *id)
{
	set_option(id, RDMA_OPTION_ID_ACK_TIMEOUT, 17);
}

/* Each end's own; what it counts for an adapter without one is that it is taken. */
static void ack_timeout(void)
{
	struct rdma_cm_event *req;
	struct cm_pair c;

	cm_request_after(&c, with_timeout, &req);
	set_option(c.p, RDMA_OPTION_ID_ACK_TIMEOUT, 18);
	cm_accept(&c, req);
	if (!cm_is_iwarp()) {
		CF_EQ(attr_of(c.a).timeout, 17);
		CF_EQ(attr_of(c.p).timeout, 18);
	}
	cm_say(c.a, c.p, 1);
}

static void reuse(void)
{
	struct rdma_event_channel *ch = cm_channel();
	struct rdma_cm_id *a = cm_id(ch, RDMA_PS_TCP), *b = cm_id(ch, RDMA_PS_TCP),
			  *other = cm_id(ch, RDMA_PS_TCP);
	struct sockaddr_storage at = cm_here(AF_INET, 0);

	set_option(a, RDMA_OPTION_ID_REUSEADDR, 1);
	set_option(b, RDMA_OPTION_ID_REUSEADDR, 1);
	CF_OK(rdma_bind_addr(a, cm_sa(&at)));
	at = cm_here(AF_INET, cm_port(a));
	CF_OK(rdma_bind_addr(b, cm_sa(&at)));
	CF_ERR(rdma_bind_addr(other, cm_sa(&at)), EADDRINUSE);
	CF_OK(rdma_listen(b, 1));
	CF_ERR(rdma_listen(a, 1), EADDRINUSE); /* one listens */
}

/* A listener on :: that was told so does not take IPv4. */
static void one_family(void)
{
	struct rdma_event_channel *ach = cm_channel(), *pch = cm_channel();
	struct sockaddr_storage any = cm_any(AF_INET6, 0), to;
	struct rdma_cm_id *l = cm_id(pch, RDMA_PS_TCP), *id;
	struct rdma_cm_event *e;

	set_option(l, RDMA_OPTION_ID_AFONLY, 1);
	CF_OK(rdma_bind_addr(l, cm_sa(&any)));
	CF_OK(rdma_listen(l, 4));
	to = cm_here(AF_INET, cm_port(l));
	id = cm_towards(ach, RDMA_PS_TCP, &to);
	cm_qp(id);
	CF_OK(rdma_connect(id, NULL));
	CF_EQ(cm_event(ach, REJECTED), cm_is_iwarp() ? -ECONNREFUSED : 8);
	if (!cm_has_v6())
		return; /* it listens on addresses that may come */
	to = cm_here(AF_INET6, cm_port(l));
	id = cm_towards(ach, RDMA_PS_TCP, &to);
	cm_qp(id);
	CF_OK(rdma_connect(id, NULL));
	e = cm_take(pch, CONNECT_REQUEST);
	CF_TRUE(e->listen_id == l);
	cm_keep(e->id);
	CF_OK(rdma_ack_cm_event(e));
}

static void no_option(void)
{
	struct rdma_cm_id *id = cm_id(cm_channel(), RDMA_PS_TCP);
	uint8_t tos[2] = { TOS, 0 };

	CF_ERR(rdma_set_option(id, RDMA_OPTION_ID, 77, tos, 1), ENOSYS);
	CF_ERR(rdma_set_option(id, 77, RDMA_OPTION_ID_TOS, tos, 1), ENOSYS);
	CF_ERR(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, tos, 2), EINVAL);
	CF_ERR(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, tos, 1), EINVAL);
}

/* --- enhanced connection establishment: only for queue pairs that the program moves --- */

static void hide_qp(struct rdma_cm_id *id, struct ibv_qp **ret)
{
	cm_qp(id);
	*ret = id->qp;
	id->qp = NULL;
}

/* Up to a request with options; both queue pairs are hidden. */
static void ask_ece(struct cm_pair *c, struct ibv_qp *qp[2], const struct ibv_ece *ece,
		    struct rdma_cm_event **req)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1,
					 .retry_count = 7, .rnr_retry_count = 7 };

	cm_open(c, AF_INET);
	hide_qp(c->a, &qp[0]);
	CF_OK(rdma_set_local_ece(c->a, &(struct ibv_ece){ ece->vendor_id, ece->options, 0 }));
	param.qp_num = qp[0]->qp_num;
	CF_OK(rdma_connect(c->a, &param));
	*req = cm_take(c->pch, CONNECT_REQUEST);
	c->p = cm_keep((*req)->id);
}

static void same_ece(struct rdma_cm_id *id, uint32_t vendor, uint32_t options)
{
	struct ibv_ece got = { 0 };

	CF_OK(rdma_get_remote_ece(id, &got));
	CF_EQ(got.vendor_id, vendor);
	CF_EQ(got.options, options);
	CF_EQ(got.comp_mask, 0);
}

static void ece_both_ways(void)
{
	struct ibv_ece offer = { 0x123456, 0x9abcdef0, 0 }, answer = { 0x0a0b0c, 7, 0 }, odd = { 0 };
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	struct rdma_cm_event *req;
	struct ibv_qp *qp[2];
	struct cm_pair c;

	if (cm_is_iwarp())
		cf_skip("a stream carries none");
	ask_ece(&c, qp, &offer, &req);
	CF_ERR(rdma_set_local_ece(c.p, &odd), EINVAL); /* of no vendor */
	same_ece(c.p, offer.vendor_id, offer.options);
	CF_OK(rdma_ack_cm_event(req));
	hide_qp(c.p, &qp[1]);
	CF_OK(rdma_set_local_ece(c.p, &answer));
	param.qp_num = qp[1]->qp_num;
	CF_OK(rdma_accept(c.p, &param));
	CF_EQ(cm_event(c.ach, CONNECT_RESPONSE), 0);
	same_ece(c.a, answer.vendor_id, answer.options);
	CF_OK(rdma_establish(c.a));
	CF_EQ(cm_event(c.pch, ESTABLISHED), 0);
	c.a->qp = qp[0];
	c.p->qp = qp[1];
	CF_ERR(rdma_get_remote_ece(c.a, &odd), EINVAL); /* the identifier's own is the library's */
}

static void ece_refused(void)
{
	struct ibv_ece offer = { 1, 2, 0 };
	struct rdma_cm_event *req, *e;
	struct ibv_qp *qp[2];
	struct cm_pair c;

	ask_ece(&c, qp, &offer, &req);
	CF_OK(rdma_ack_cm_event(req));
	CF_OK(rdma_reject_ece(c.p, "not so", 6));
	e = cm_take(c.ach, REJECTED);
	CF_EQ(e->status, cm_is_iwarp() ? -ECONNREFUSED : 35);
	CF_TRUE(e->param.conn.private_data_len >= 6);
	CF_TRUE(!memcmp(e->param.conn.private_data, "not so", 6));
	CF_OK(rdma_ack_cm_event(e));
	c.a->qp = qp[0];
}

/* --- the passive side is told of data that came before the confirmation --- */

static void notified(void)
{
	struct ibv_ece none = { 1, 1, 0 };
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	struct rdma_cm_event *req;
	struct ibv_qp *qp[2];
	struct cm_pair c;

	ask_ece(&c, qp, &none, &req);
	CF_OK(rdma_ack_cm_event(req));
	if (cm_is_iwarp()) {
		cm_qp(c.p);
		CF_OK(rdma_accept(c.p, &param));
		CF_EQ(cm_event(c.ach, ESTABLISHED), 0);
		CF_EQ(cm_event(c.pch, ESTABLISHED), 0);
		CF_OK(rdma_notify(c.p, IBV_EVENT_COMM_EST)); /* no news */
		cm_silent(c.pch);
		c.a->qp = qp[0];
		return;
	}
	CF_ERR(rdma_notify(c.p, IBV_EVENT_COMM_EST), EINVAL); /* not accepted yet */
	cm_qp(c.p);
	CF_OK(rdma_accept(c.p, &param));
	CF_EQ(cm_event(c.ach, CONNECT_RESPONSE), 0);
	cm_silent(c.pch); /* the active side has not confirmed */
	CF_ERR(rdma_notify(c.p, IBV_EVENT_PATH_MIG), EINVAL);
	CF_OK(rdma_notify(c.p, IBV_EVENT_COMM_EST));
	CF_EQ(cm_event(c.pch, ESTABLISHED), 0);
	CF_ERR(rdma_notify(c.p, IBV_EVENT_COMM_EST), EISCONN);
	CF_OK(rdma_establish(c.a));
	cm_silent(c.pch); /* the RTU is no second news */
	c.a->qp = qp[0];
}

const struct cf_check cf_checks[] = {
	{ "+", "a type of service", 0, type_of_service },
	{ "+", "an ACK timeout for each end", 0, ack_timeout },
	{ "+", "one address for two identifiers", 0, reuse },
	{ "+", "a listener for IPv6 alone", 0, one_family },
	{ "+", "options that there are not", 0, no_option },
	{ "+", "enhanced options, both ways", 0, ece_both_ways },
	{ "+", "enhanced options refused", 0, ece_refused },
	{ "+", "data before the confirmation", 0, notified },
	{ 0 }
};

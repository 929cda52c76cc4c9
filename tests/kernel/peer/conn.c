/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections, every event of which is wanted by name. */
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct peer *me;

/*
 * How far this end is, for a wait that has ended in vain. A Send that has no completion, at an end whose manager has
 * heard DISCONNECTED: the other end was content and left, and the last acknowledgement was lost, or never sent - by the
 * driver of the other end. Without DISCONNECTED, the DREQ is lost, too, or the requester of this end repeats nothing.
 */
static void say_state(const struct peer *p)
{
	static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };
	struct pollfd fd = { .fd = p->ch ? p->ch->fd : -1, .events = POLLIN };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct rdma_cm_event *e;

	if (p->id && p->id->verbs)
		fprintf(stderr, "this end, on %s: ", ibv_get_device_name(p->id->verbs->device));
	if (p->id && p->id->qp && !ibv_query_qp(p->id->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RQ_PSN, &init))
		fprintf(stderr, "queue pair in %s, next PSN %#x, expected PSN %#x; ",
			(unsigned)attr.qp_state < 7 ? states[attr.qp_state] : "?", attr.sq_psn, attr.rq_psn);
	if (poll(&fd, 1, 0) == 1 && !rdma_get_cm_event(p->ch, &e))
		fprintf(stderr, "its manager has heard %s (%d)\n", rdma_event_str(e->event), e->status);
	else
		fprintf(stderr, "its manager has heard nothing more\n");
}

void peer_fail(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	if (me && *me->saw)
		fprintf(stderr, "until then: %s\n", me->saw);
	if (me)
		say_state(me);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(1);
}

static struct rdma_cm_event *next_event(struct peer *p)
{
	struct pollfd fd = { .fd = p->ch->fd, .events = POLLIN };
	struct rdma_cm_event *e;
	int r = poll(&fd, 1, PEER_WAIT_MS * (p->a->kind && !strcmp(p->a->kind, "slow") ? 3 : 1));

	must(r == 1, "no connection event came");
	must0(rdma_get_cm_event(p->ch, &e));
	return e;
}

struct rdma_cm_event *peer_event(struct peer *p, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *e = p->early;

	if (e && want == RDMA_CM_EVENT_CONNECT_REQUEST) {
		p->early = NULL;
		return e;
	}
	e = next_event(p);
	/* One comes when it likes; the next connection may ask before the last one has ended. */
	while (want != e->event) {
		if (e->event == RDMA_CM_EVENT_TIMEWAIT_EXIT)
			rdma_ack_cm_event(e);
		else if (e->event == RDMA_CM_EVENT_CONNECT_REQUEST && !p->early)
			p->early = e;
		else
			break;
		e = next_event(p);
	}
	must(e->event == want, "%s (status %d), not %s", rdma_event_str(e->event), e->status,
	     rdma_event_str(want));
	return e;
}

void peer_want(struct peer *p, enum rdma_cm_event_type want)
{
	rdma_ack_cm_event(peer_event(p, want));
}

static void address(const struct peer *p, int port, struct sockaddr_storage *ss)
{
	struct addrinfo *ai, hint = { .ai_flags = AI_NUMERICHOST };

	must(getaddrinfo(p->a->addr, NULL, &hint, &ai) == 0, "%s is no address", p->a->addr);
	memset(ss, 0, sizeof(*ss));
	memcpy(ss, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(ai);
	/* Port and family lie at the same place in both families. */
	((struct sockaddr_in *)ss)->sin_port = htons((uint16_t)port);
}

static void resources(struct peer *p)
{
	unsigned all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	p->iwarp = p->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	if (!p->iwarp)
		all |= IBV_ACCESS_REMOTE_ATOMIC;
	if (p->pd)
		return;
	p->pd = ibv_alloc_pd(p->id->verbs);
	must(p->pd, "no domain: %s", strerror(errno));
	p->len = PEER_MEM;
	p->mem = mmap(NULL, p->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(p->mem != MAP_FAILED, "no memory");
	p->mr = ibv_reg_mr(p->pd, p->mem, p->len, p->access ? p->access : all);
	must(p->mr, "no region: %s", strerror(errno));
}

void peer_qp(struct peer *p)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 32, .max_recv_wr = 32, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = 64 },
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
	};

	resources(p);
	p->scq = ibv_create_cq(p->id->verbs, 64, NULL, NULL, 0);
	p->rcq = ibv_create_cq(p->id->verbs, 64, NULL, NULL, 0);
	must(p->scq && p->rcq, "no completion queue: %s", strerror(errno));
	if (p->use_srq) {
		struct ibv_srq_init_attr s = { .attr = { .max_wr = 32, .max_sge = 1 } };

		p->srq = ibv_create_srq(p->pd, &s);
		must(p->srq, "no shared receive queue: %s", strerror(errno));
	}
	init.send_cq = p->scq;
	init.recv_cq = p->rcq;
	init.srq = p->srq;
	must0(rdma_create_qp(p->id, p->pd, &init));
}

void peer_open(struct peer *p, const struct peer_args *a)
{
	struct sockaddr_storage ss;

	me = p;
	*p = (struct peer){ .a = a, .access = p->access, .use_srq = p->use_srq };
	p->ch = rdma_create_event_channel();
	must(p->ch, "no event channel: %s", strerror(errno));
	if (!a->passive)
		return;
	address(p, a->port, &ss);
	must0(rdma_create_id(p->ch, &p->listener, NULL, RDMA_PS_TCP));
	must0(rdma_bind_addr(p->listener, (struct sockaddr *)&ss));
	must0(rdma_listen(p->listener, 16));
}

void peer_bind(struct peer *p)
{
	struct sockaddr_storage ss;

	address(p, 0, &ss);
	must0(rdma_create_id(p->ch, &p->id, NULL, RDMA_PS_TCP));
	must0(rdma_bind_addr(p->id, (struct sockaddr *)&ss));
}

void peer_resolve(struct peer *p, int port)
{
	struct sockaddr_storage ss;
	uint8_t t = (uint8_t)p->a->ack_timeout;

	address(p, port, &ss);
	must0(rdma_create_id(p->ch, &p->id, NULL, RDMA_PS_TCP));
	must0(rdma_resolve_addr(p->id, NULL, (struct sockaddr *)&ss, 5000));
	peer_want(p, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (t && p->id->verbs->device->transport_type != IBV_TRANSPORT_IWARP)
		must0(rdma_set_option(p->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &t, 1));
	must0(rdma_resolve_route(p->id, 5000));
	peer_want(p, RDMA_CM_EVENT_ROUTE_RESOLVED);
	peer_qp(p);
}

struct rdma_conn_param peer_param(struct peer *p, struct peer_card *card)
{
	*card = (struct peer_card){ (uintptr_t)p->mem, p->mr->rkey, (uint32_t)p->len };
	return (struct rdma_conn_param){
		.private_data = card, .private_data_len = sizeof(*card),
		.responder_resources = 4, .initiator_depth = 4,
		.retry_count = (uint8_t)p->a->retry, .rnr_retry_count = (uint8_t)p->a->rnr_retry,
	};
}

static void take_card(struct peer *p, const struct rdma_cm_event *e)
{
	must(e->param.conn.private_data_len >= sizeof(p->far), "only %u bytes of private data",
	     e->param.conn.private_data_len);
	memcpy(&p->far, e->param.conn.private_data, sizeof(p->far));
}

void peer_request(struct peer *p)
{
	struct rdma_cm_event *e = peer_event(p, RDMA_CM_EVENT_CONNECT_REQUEST);
	uint8_t t = (uint8_t)p->a->ack_timeout;

	p->id = e->id;
	take_card(p, e);
	rdma_ack_cm_event(e);
	if (t && p->id->verbs->device->transport_type != IBV_TRANSPORT_IWARP)
		must0(rdma_set_option(p->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &t, 1));
	peer_qp(p);
}

void peer_meet(struct peer *p)
{
	struct peer_card card;
	struct rdma_conn_param param;
	struct rdma_cm_event *e;

	if (p->a->passive) {
		if (!p->id)
			peer_request(p);
		param = peer_param(p, &card);
		must0(rdma_accept(p->id, &param));
		peer_want(p, RDMA_CM_EVENT_ESTABLISHED);
		return;
	}
	if (!p->id)
		peer_resolve(p, p->a->port);
	param = peer_param(p, &card);
	must0(rdma_connect(p->id, &param));
	e = peer_event(p, RDMA_CM_EVENT_ESTABLISHED);
	take_card(p, e);
	rdma_ack_cm_event(e);
}

void peer_begin(struct peer *p, peer_speak_fn *speak)
{
	if (p->a->passive) {
		if (!p->id)
			peer_request(p);
	} else {
		peer_resolve(p, p->a->port);
		peer_expect_word(p);
	}
	peer_meet(p);
	if (p->a->passive)
		speak(p, 99);
	else
		must(peer_hear(p) == 99, "another first word");
}

bool peer_has_left(struct peer *p)
{
	struct pollfd fd = { .fd = p->ch->fd, .events = POLLIN };

	if (!p->left && poll(&fd, 1, 0) == 1)
		peer_left(p);
	return p->left;
}

void peer_left(struct peer *p)
{
	if (!p->left)
		peer_want(p, RDMA_CM_EVENT_DISCONNECTED);
	p->left = true;
}

void peer_leave(struct peer *p)
{
	must0(rdma_disconnect(p->id));
	peer_left(p);
}

void peer_drop(struct peer *p)
{
	rdma_destroy_qp(p->id);
	must0(rdma_destroy_id(p->id));
	must0(ibv_destroy_cq(p->scq));
	must0(ibv_destroy_cq(p->rcq));
	if (p->srq)
		must0(ibv_destroy_srq(p->srq));
	p->id = NULL;
	p->srq = NULL;
}

void peer_close(struct peer *p)
{
	if (p->id)
		peer_drop(p);
	if (p->listener)
		must0(rdma_destroy_id(p->listener));
	if (p->mw)
		must0(ibv_dealloc_mw(p->mw));
	if (p->mr)
		must0(ibv_dereg_mr(p->mr));
	if (p->pd)
		must0(ibv_dealloc_pd(p->pd));
	rdma_destroy_event_channel(p->ch);
}

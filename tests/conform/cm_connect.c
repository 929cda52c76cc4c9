/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections: making, refusing, ending, by both ends and in every order. */
#include "cm.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void one_connection(int family)
{
	struct cm_pair c;

	cm_connect(&c, family);
	cf_open();
	CF_TRUE(!strcmp(ibv_get_device_name(c.a->verbs->device), cf.name));
	CF_TRUE(c.a->verbs == c.p->verbs && c.a->pd == c.p->pd);
	CF_EQ(cf_state(c.a->qp), IBV_QPS_RTS);
	CF_EQ(cf_state(c.p->qp), IBV_QPS_RTS);
	CF_EQ(rdma_get_dst_port(c.a), rdma_get_src_port(c.listener));
	CF_EQ(rdma_get_src_port(c.p), rdma_get_src_port(c.listener));
	/* TCP chooses the port of an active iWARP end late, and no call reports it. */
	CF_TRUE(rdma_get_dst_port(c.p) == rdma_get_src_port(c.a) ||
		(cm_is_iwarp() && !rdma_get_src_port(c.a)));
	cm_say(c.a, c.p, 1);
	cm_say(c.p, c.a, 2);
	CF_OK(rdma_disconnect(c.a));
	CF_EQ(cm_event(c.pch, DISCONNECTED), 0);
	CF_OK(rdma_disconnect(c.p));
	CF_EQ(cm_event(c.ach, DISCONNECTED), 0);
	CF_EQ(cf_state(c.a->qp), IBV_QPS_ERR);
	CF_EQ(cf_state(c.p->qp), IBV_QPS_ERR);
}

static void over_ipv4(void)
{
	one_connection(AF_INET);
}

static void over_ipv6(void)
{
	one_connection(AF_INET6);
}

/* The private data that arrive are at least those given, filled up with zeros. */
static void cm_data(const void *got, uint8_t len, const char *want)
{
	size_t n = strlen(want);

	CF_TRUE(len >= n && !memcmp(got, want, n));
	cf_all_zero((const uint8_t *)got + n, len - n);
}

static void private_data(void)
{
	struct rdma_conn_param param = { .private_data = "to you", .private_data_len = 6,
					 .responder_resources = 3, .initiator_depth = 2,
					 .retry_count = 7, .rnr_retry_count = 6 };
	struct rdma_cm_event *e;
	struct cm_pair c;

	cm_request(&c, AF_INET, &param, &e);
	CF_TRUE(e->listen_id == c.listener && e->id != c.listener);
	cm_data(e->param.conn.private_data, e->param.conn.private_data_len, "to you");
	/* seen from the other end; a Request of revision 1 says nothing of it */
	if (!cm_is_iwarp() || !strstr(getenv("DAPPLE_MPA") ? getenv("DAPPLE_MPA") : "", "rev1")) {
		CF_EQ(e->param.conn.responder_resources, 2);
		CF_EQ(e->param.conn.initiator_depth, 3);
	}
	CF_OK(rdma_ack_cm_event(e));
	cm_qp(c.p);
	param.private_data = "and back";
	param.private_data_len = 8;
	param.responder_resources = param.initiator_depth = 1;
	CF_OK(rdma_accept(c.p, &param));
	e = cm_take(c.ach, ESTABLISHED);
	cm_data(e->param.conn.private_data, e->param.conn.private_data_len, "and back");
	/* the peer's wish; on iWARP, as its drivers do, the depth that we serve */
	CF_EQ(e->param.conn.responder_resources, cm_is_iwarp() ? 3 : 1);
	CF_OK(rdma_ack_cm_event(e));
	CF_EQ(cm_event(c.pch, ESTABLISHED), 0);
	cm_say(c.a, c.p, 3);
}

static void too_much_data(void)
{
	uint8_t much[255] = { 0 };
	struct rdma_conn_param param = { .private_data = much, .private_data_len = 255 };
	struct rdma_event_channel *ch = cm_channel();
	struct sockaddr_storage to = cm_here(AF_INET, cm_port(cm_listen(ch, RDMA_PS_TCP, NULL)));
	struct rdma_cm_id *id = cm_towards(ch, RDMA_PS_TCP, &to);

	if (cm_is_iwarp())
		cf_skip("a stream carries as much as the call can say");
	cm_qp(id);
	CF_ERR(rdma_connect(id, &param), EINVAL);
	cm_silent(ch);
}

static void refused(void)
{
	struct rdma_cm_event *e;
	struct cm_pair c;

	cm_request(&c, AF_INET, NULL, &e);
	CF_OK(rdma_ack_cm_event(e));
	CF_OK(rdma_reject(c.p, "no", 2));
	e = cm_take(c.ach, REJECTED);
	CF_EQ(e->status, cm_is_iwarp() ? -ECONNREFUSED : 28);
	cm_data(e->param.conn.private_data, e->param.conn.private_data_len, "no");
	CF_OK(rdma_ack_cm_event(e));
	CF_EQ(cf_state(c.a->qp), IBV_QPS_ERR);
	cm_silent(c.pch);
}

/* A listener's request that was destroyed is refused, whatever state it was in. */
static void dropped(void)
{
	struct rdma_cm_event *e;
	struct cm_pair c;

	cm_request(&c, AF_INET, NULL, &e);
	CF_OK(rdma_ack_cm_event(e));
	cf_drop(c.p);
	cm_event(c.ach, REJECTED);
}

/* The listener goes while a request waits in its channel. */
static void listener_gone(void)
{
	struct rdma_event_channel *ach = cm_channel(), *pch = cm_channel();
	struct rdma_cm_id *l = cm_listen(pch, RDMA_PS_TCP, NULL), *a;
	struct sockaddr_storage to = cm_here(AF_INET, cm_port(l));

	a = cm_towards(ach, RDMA_PS_TCP, &to);
	cm_qp(a);
	CF_OK(rdma_connect(a, NULL));
	CF_TRUE(cf_readable(pch->fd, CF_WAIT_MS));
	cf_drop(l);
	cm_event(ach, REJECTED);
	cm_silent(pch);
}

static void no_listener(void)
{
	struct rdma_event_channel *ch = cm_channel();
	struct rdma_cm_id *l = cm_listen(ch, RDMA_PS_TCP, NULL), *id;
	struct sockaddr_storage to = cm_here(AF_INET, cm_port(l));

	cf_drop(l);
	id = cm_towards(ch, RDMA_PS_TCP, &to);
	cm_qp(id);
	CF_OK(rdma_connect(id, NULL));
	CF_EQ(cm_event(ch, REJECTED), cm_is_iwarp() ? -ECONNREFUSED : 8);
	CF_EQ(cf_state(id->qp), IBV_QPS_ERR);
}

/* Peers that vanish: the identifier is destroyed without a word. */
static void destroyed(void)
{
	struct cm_pair c;

	cm_connect(&c, AF_INET);
	cf_drop(c.a);
	cm_event(c.pch, DISCONNECTED);
	CF_EQ(cf_state(c.p->qp), IBV_QPS_ERR);
	cm_silent(c.ach);
}

/* As the kernel's: the initiator learns of the end when the peer has dealt with its own. */
static void answered_late(bool destroy)
{
	struct cm_pair c;

	cm_connect(&c, AF_INET);
	CF_OK(rdma_disconnect(c.a));
	CF_EQ(cm_event(c.pch, DISCONNECTED), 0);
	if (!cm_is_iwarp()) /* the ends of a stream are its own answers */
		cm_silent(c.ach);
	if (destroy)
		cf_drop(c.p);
	else
		CF_OK(rdma_disconnect(c.p));
	CF_EQ(cm_event(c.ach, DISCONNECTED), 0);
	if (!destroy)
		CF_OK(rdma_disconnect(c.p)); /* once more */
}

static void answered(void)
{
	answered_late(false);
	cf_undo_all();
	answered_late(true);
}

/* The client goes before the program has accepted: no event of the new identifier, which cannot be accepted. */
static void withdrawn(void)
{
	struct rdma_cm_event *e;
	struct cm_pair c;

	cm_request(&c, AF_INET, NULL, &e);
	CF_OK(rdma_ack_cm_event(e));
	cm_qp(c.p);
	cf_drop(c.a);
	cm_silent(c.pch);
	CF_ERR(rdma_accept(c.p, NULL), cm_is_iwarp() ? ECONNRESET : EINVAL);
	cm_silent(c.pch);
}

/* A queue pair destroyed by verbs behind the identifier's back, before the end is heard of. */
static void qp_gone(void)
{
	struct cm_pair c;

	cm_connect(&c, AF_INET);
	CF_OK(ibv_destroy_qp(c.p->qp));
	CF_OK(rdma_disconnect(c.a));
	cm_event(c.pch, DISCONNECTED);
	CF_OK(rdma_disconnect(c.p));
	c.p->qp = NULL;
	cm_event(c.ach, DISCONNECTED);
	/* rdma_create_qp() made them, and only rdma_destroy_qp() would have taken them away. */
	CF_OK(ibv_destroy_cq(c.p->send_cq) | ibv_destroy_cq(c.p->recv_cq));
	CF_OK(ibv_destroy_comp_channel(c.p->send_cq_channel) |
	      ibv_destroy_comp_channel(c.p->recv_cq_channel));
}

static void both_at_once(void)
{
	struct cm_pair c;

	cm_connect(&c, AF_INET);
	CF_OK(rdma_disconnect(c.a));
	CF_OK(rdma_disconnect(c.p));
	cm_event(c.ach, DISCONNECTED);
	cm_event(c.pch, DISCONNECTED);
	CF_OK(rdma_disconnect(c.a)); /* over already */
}

/* The program moves the queue pair: it sees the response and confirms. */
/* The peer's options of enhanced connection establishment, which are the vendor's own. */
static void remote_ece(struct rdma_cm_id *id, uint32_t vendor, uint32_t options)
{
	struct ibv_ece ece = { .vendor_id = 1 };

	CF_OK(rdma_get_remote_ece(id, &ece));
	CF_EQ(ece.vendor_id, vendor);
	CF_EQ(ece.options, options);
	CF_EQ(ece.comp_mask, 0);
}

static void own_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1,
					 .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_event *e;
	struct ibv_qp *qp;
	struct cm_pair c;
	struct sockaddr_storage to;
	int mask;

	if (cm_is_iwarp())
		cf_skip("the stream moves the queue pair");
	c.ach = cm_channel();
	c.pch = cm_channel();
	c.listener = cm_listen(c.pch, RDMA_PS_TCP, NULL);
	to = cm_here(AF_INET, cm_port(c.listener));
	c.a = cm_towards(c.ach, RDMA_PS_TCP, &to);
	cm_qp(c.a);
	qp = c.a->qp;
	c.a->qp = NULL; /* the identifier does not know it from here on */
	CF_OK(rdma_init_qp_attr(c.a, &attr, &mask));
	CF_OK(ibv_modify_qp(qp, &attr, mask));
	param.qp_num = qp->qp_num;
	CF_OK(rdma_set_local_ece(c.a, &(struct ibv_ece){ .vendor_id = 0x123456, .options = 0x89abcdef }));
	CF_OK(rdma_connect(c.a, &param));
	e = cm_take(c.pch, CONNECT_REQUEST);
	c.p = cm_keep(e->id);
	CF_EQ(e->param.conn.qp_num, qp->qp_num);
	CF_OK(rdma_ack_cm_event(e));
	remote_ece(c.p, 0x123456, 0x89abcdef);
	CF_OK(rdma_set_local_ece(c.p, &(struct ibv_ece){ .vendor_id = 0xfedcba, .options = 0x76543210 }));
	cm_qp(c.p);
	CF_OK(rdma_accept(c.p, &param));
	e = cm_take(c.ach, CONNECT_RESPONSE);
	CF_EQ(e->param.conn.qp_num, c.p->qp->qp_num);
	CF_OK(rdma_ack_cm_event(e));
	remote_ece(c.a, 0xfedcba, 0x76543210);
	for (attr.qp_state = IBV_QPS_RTR; attr.qp_state <= IBV_QPS_RTS; attr.qp_state++) {
		enum ibv_qp_state to_state = attr.qp_state;

		CF_OK(rdma_init_qp_attr(c.a, &attr, &mask));
		CF_OK(ibv_modify_qp(qp, &attr, mask));
		attr.qp_state = to_state;
	}
	CF_OK(rdma_establish(c.a));
	CF_EQ(cm_event(c.pch, ESTABLISHED), 0);
	c.a->qp = qp;
	cm_say(c.p, c.a, 5);
}

static void many(void)
{
	enum { N = 50 };
	struct rdma_event_channel *ach = cm_channel(), *pch = cm_channel();
	struct rdma_cm_id *l = cm_listen(pch, RDMA_PS_TCP, NULL), *id[N];
	struct sockaddr_storage to = cm_here(AF_INET, cm_port(l));

	for (int i = 0; i < N; i++) {
		id[i] = cm_towards(ach, RDMA_PS_TCP, &to);
		cm_qp(id[i]);
	}
	for (int i = 0; i < N; i++)
		CF_OK(rdma_connect(id[i], NULL));
	for (int up = 0, seen = 0; seen < 2 * N;) {
		struct rdma_cm_event *e;

		CF_TRUE(cf_readable(pch->fd, CF_WAIT_MS));
		CF_OK(rdma_get_cm_event(pch, &e));
		seen++;
		if (e->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			cm_qp(cm_keep(e->id));
			CF_OK(rdma_accept(e->id, NULL));
			CF_OK(rdma_ack_cm_event(e));
			cm_event(ach, ESTABLISHED);
			continue;
		}
		CF_EQ(e->event, RDMA_CM_EVENT_ESTABLISHED);
		CF_TRUE(++up <= N);
		CF_OK(rdma_ack_cm_event(e));
	}
	for (int i = 0; i < N; i++)
		CF_OK(rdma_disconnect(id[i]));
	for (int i = 0; i < N; i++) {
		struct rdma_cm_event *e = cm_take(pch, DISCONNECTED);

		CF_OK(rdma_disconnect(e->id));
		CF_OK(rdma_ack_cm_event(e));
		cm_event(ach, DISCONNECTED);
	}
}

/* --- a server that hands requests over in one variable, as rping's --- */

enum { TOGETHER = 40, SHORT_BACKLOG = 3, TRIES = 8 };
#define MS 1000000ull

static struct desk {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *_Atomic request; /* the variable */
	struct rdma_cm_id *all[TOGETHER];
	sem_t given;
	int requests, established;
	_Atomic bool late; /* a request was written over another that was not taken */
} desk;

/* The first time that a request comes before its predecessor was taken, it has waited for that. */
static void not_at_once(uint64_t last)
{
	int waiting;

	CF_OK(sem_getvalue(&desk.given, &waiting));
	if (!waiting || desk.late)
		return;
	desk.late = true;
	if (cf_ns() - last < 100 * MS)
		CF_DIE("the next request came after %d us", (int)((cf_ns() - last) / 1000));
}

static void *porter(void *arg)
{
	uint64_t last = 0;

	while (desk.established < TOGETHER) {
		struct rdma_cm_event *e;

		CF_OK(rdma_get_cm_event(desk.ch, &e));
		if (e->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			not_at_once(last);
			CF_TRUE(desk.requests < TOGETHER);
			desk.all[desk.requests++] = e->id;
			desk.request = e->id;
			last = cf_ns();
			CF_OK(sem_post(&desk.given));
		} else {
			CF_EQ(e->event, RDMA_CM_EVENT_ESTABLISHED);
			desk.established++;
		}
		CF_OK(rdma_ack_cm_event(e));
	}
	return NULL;
}

static bool written_over(struct rdma_cm_id **p, int n)
{
	for (int k = 0; k < n; k++)
		if (p[k] == p[n])
			return true;
	return false;
}

/* False: this thread, which takes the requests, was held up for so long that no client waits for it. */
static bool one_variable(void)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *l, *a[TOGETHER], *p[TOGETHER];
	struct sockaddr_storage at = cm_here(AF_INET, 0);
	struct rdma_event_channel *ach = cm_channel();
	pthread_t t;

	memset(&desk, 0, sizeof(desk));
	desk.ch = cm_channel();
	CF_OK(sem_init(&desk.given, 0, 0));
	l = cm_id(desk.ch, RDMA_PS_TCP);
	CF_OK(rdma_bind_addr(l, cm_sa(&at)));
	CF_OK(rdma_listen(l, SHORT_BACKLOG));
	at = cm_here(AF_INET, cm_port(l));
	for (int i = 0; i < TOGETHER; i++) {
		a[i] = cm_towards(ach, RDMA_PS_TCP, &at);
		cm_qp(a[i]);
	}
	for (int i = 0; i < TOGETHER; i++)
		CF_OK(rdma_connect(a[i], &param));
	CF_OK(pthread_create(&t, NULL, porter, NULL));
	for (int i = 0; i < TOGETHER; i++) {
		CF_OK(sem_wait(&desk.given));
		p[i] = desk.request;
		if (written_over(p, i) || desk.late) {
			CF_TRUE(desk.late);
			p[i] = desk.all[i];
		}
		cm_qp(cm_keep(p[i]));
		CF_OK(rdma_accept(p[i], &param));
	}
	for (int i = 0; i < TOGETHER; i++)
		CF_EQ(cm_event(ach, ESTABLISHED), 0);
	CF_OK(pthread_join(t, NULL));
	return !desk.late;
}

static void in_one_variable(void)
{
	for (int i = 0; i < TRIES; i++) {
		if (one_variable())
			return;
		cf_undo_all();
	}
	printf("# no thread of ours ran in time, %d times\n", TRIES);
}

/* How long it took to be given all requests. */
static uint64_t take_late(void)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_event_channel *ach = cm_channel(), *pch = cm_channel();
	struct rdma_cm_id *l = cm_listen(pch, RDMA_PS_TCP, NULL), *p[TOGETHER];
	struct sockaddr_storage at = cm_here(AF_INET, cm_port(l));
	uint64_t t;

	for (int i = 0; i < TOGETHER; i++) {
		struct rdma_cm_id *a = cm_towards(ach, RDMA_PS_TCP, &at);

		cm_qp(a);
		CF_OK(rdma_connect(a, &param));
	}
	t = cf_ns();
	for (int i = 0; i < TOGETHER; i++) {
		struct rdma_cm_event *e = cm_take(pch, CONNECT_REQUEST);

		p[i] = cm_keep(e->id);
		CF_OK(rdma_ack_cm_event(e));
	}
	t = cf_ns() - t;
	for (int i = 0; i < TOGETHER; i++) {
		cm_qp(p[i]);
		CF_OK(rdma_accept(p[i], &param));
	}
	for (int i = 0; i < TOGETHER; i++)
		CF_EQ(cm_event(ach, ESTABLISHED), 0);
	return t;
}

/* A program that leaves requests unanswered does not wait for each; a busy machine may be slow
 * once or twice. */
static void taken_late(void)
{
	uint64_t t = UINT64_MAX;

	for (int i = 0; i < TRIES && t >= 5000 * MS; i++) {
		t = take_late();
		cf_undo_all();
	}
	if (t >= 5000 * MS)
		CF_DIE("%d requests in %d ms", TOGETHER, (int)(t / MS));
}

const struct cf_check cf_checks[] = {
	{ "+", "a connection over IPv4", 0, over_ipv4 },
	{ "+", "a connection over IPv6", 0, over_ipv6 },
	{ "+", "private data and depths, both ways", 0, private_data },
	{ "+", "private data beyond the message", 0, too_much_data },
	{ "+", "a request refused with private data", 0, refused },
	{ "+", "a request destroyed is refused", 0, dropped },
	{ "+", "a request whose listener goes", 0, listener_gone },
	{ "+", "no listener", 0, no_listener },
	{ "+", "an end destroyed without a word", 0, destroyed },
	{ "+", "an end whose queue pair is destroyed", 0, qp_gone },
	{ "+", "a disconnect that the peer answers when it likes", 0, answered },
	{ "+", "a client that goes before it is accepted", 0, withdrawn },
	{ "+", "both ends disconnect", 0, both_at_once },
	{ "+", "a queue pair of the program's own", 0, own_qp },
	{ "+", "fifty at once", 0, many },
	{ "+", "together, backlog 3, one variable", 0, in_one_variable },
	{ "+", "requests that are taken together", 0, taken_late },
	{ 0 }
};

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The queue of a channel: order, requests that the program did not take, migration, memory
 * that runs out, destruction while managers report, children of fork();
 * multicast as far as no adapter is needed.
 */
#include "cma_fake.h"

#include "engine/mcast.h"
#include "util/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cma_id *listener(struct cma_chan *ch, int backlog)
{
	struct cma_id *id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);

	CHECK(cma_bind(id, fh_v4("10.0.0.1", 100)) == 0);
	CHECK(cma_listen(id, backlog) == 0);
	cma_id_set_user(id, ch);
	return id;
}

static void test_request(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *l = listener(ch, 0), *id;
	struct fake_ep *le = fh_ep(&fh.alpha), *e;
	struct cm_param p = fh_param();
	struct cma_event *ev;
	struct cma_info info;

	CHECK(fh_request(&fh.alpha, le, IBV_QPT_RC, &e) == 0);
	ev = fh_expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	CHECK(ev->listener == l && ev->id != l && ev->user == ch && !ev->ud);
	CHECK(ev->param.private_len == 5 && memcmp(ev->param.private_data, "hello", 5) == 0);
	CHECK(ev->param.responder_resources == 3 && ev->param.initiator_depth == 2);
	id = ev->id;
	cma_query(id, &info);
	CHECK(info.local.ss_family == AF_INET && strcmp(info.device, "alpha") == 0);
	CHECK(((struct sockaddr_in *)&info.remote)->sin_port == htons(999));
	/* CM_RD_MAX stands for the peer's offer. */
	p.responder_resources = p.initiator_depth = CM_RD_MAX;
	CHECK(cma_accept(id, &p) == 0);
	CHECK(e->param.responder_resources == 3 && e->param.initiator_depth == 2);
	fh_raise(&fh.alpha, e, CM_EV_ESTABLISHED, 0);
	CHECK(fh_expect(ch, RDMA_CM_EVENT_ESTABLISHED, 0)->id == id);
	/* It outlives its listener. */
	cma_id_destroy(l);
	CHECK(cma_disconnect(id) == 0 && e->disconnects == 1);
	CHECK(cma_chan_destroy(ch) == -EBUSY);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
	fh_check_empty();
}

static void test_accept_fails(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *l = listener(ch, 0), *id;
	struct cm_param p = fh_param();
	struct fake_ep *e;

	CHECK(fh_request(&fh.alpha, fh_ep(&fh.alpha), IBV_QPT_RC, &e) == 0);
	id = fh_expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST, 0)->id;
	fh.alpha.accept_result = -ENOMEM;
	CHECK(cma_accept(id, &p) == -ENOMEM);
	CHECK(e->rejects == 1);
	fh.alpha.accept_result = 0;
	cma_id_destroy(id);
	cma_id_destroy(l);
	CHECK(cma_chan_destroy(ch) == 0);
}

static void test_backlog(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *l = listener(ch, 2);
	struct fake_ep *le = fh_ep(&fh.alpha);
	struct cma_id *first;

	CHECK(fh_request(&fh.alpha, le, IBV_QPT_UC, NULL) != 0);
	CHECK(fh_request(&fh.alpha, le, IBV_QPT_RC, NULL) == 0);
	CHECK(fh_request(&fh.alpha, le, IBV_QPT_RC, NULL) == 0);
	CHECK(fh_request(&fh.alpha, le, IBV_QPT_RC, NULL) != 0);
	first = fh_expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST, 0)->id;
	CHECK(fh_request(&fh.alpha, le, IBV_QPT_RC, NULL) == 0);
	/* Two are queued and one is the application's: the queued go with the listener. */
	CHECK(fh_eps(&fh.alpha) == 4);
	cma_id_destroy(l);
	CHECK(fh_eps(&fh.alpha) == 1);
	fh_expect_none(ch);
	cma_id_destroy(first);
	CHECK(cma_chan_destroy(ch) == 0);
	fh_check_empty();
}

/* Requests keep their order when their listener moves, and what happens to them before they are accepted is no event. */
static void test_order_and_migrate(void)
{
	struct cma_chan *a = fh_chan(), *b = fh_chan();
	struct cma_id *l = listener(a, 0), *other = fh_routed(a), *x, *y;
	struct fake_ep *le = NULL, *e1, *e2, *each;
	struct cm_param p = fh_param();

	ut_list_each(each, &fh.alpha.eps, node)
		if (each->listening)
			le = each;
	CHECK(le);
	CHECK(fh_request(&fh.alpha, le, IBV_QPT_RC, &e1) == 0);
	CHECK(fh_request(&fh.alpha, le, IBV_QPT_RC, &e2) == 0);
	fh_raise(&fh.alpha, e1, CM_EV_DISCONNECTED, 0);
	cma_port_gone(fh.c, &fh.beta.cm); /* no identifier is bound to it */
	CHECK(cma_id_migrate(l, b) == 0);
	fh_expect_none(a);
	x = fh_expect(b, RDMA_CM_EVENT_CONNECT_REQUEST, 0)->id;
	CHECK(x == e1->ep.user);
	y = fh_expect(b, RDMA_CM_EVENT_CONNECT_REQUEST, 0)->id;
	CHECK(y == e2->ep.user);
	fh_expect_none(b);
	/* Later events come to the new channel. */
	CHECK(cma_accept(y, &p) == 0);
	fh_raise(&fh.alpha, e2, CM_EV_ESTABLISHED, 0);
	CHECK(fh_expect(b, RDMA_CM_EVENT_ESTABLISHED, 0)->id == y);
	CHECK(cma_chan_destroy(a) == -EBUSY);
	cma_id_destroy(other);
	CHECK(cma_chan_destroy(a) == 0);
	cma_id_destroy(x);
	cma_id_destroy(y);
	cma_id_destroy(l);
	CHECK(cma_chan_destroy(b) == 0);
	fh_check_empty();
}

static void test_destroy_drops(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *a = fh_routed(ch), *b = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	struct cm_param p = fh_param();

	CHECK(cma_connect(a, &p) == 0);
	fh_raise(&fh.alpha, fh_ep(&fh.alpha), CM_EV_ESTABLISHED, 0);
	CHECK(cma_resolve_addr(b, NULL, fh_v4("10.0.0.9", 7), 0) == 0);
	fh_raise(&fh.alpha, ut_list_first(&fh.alpha.eps, struct fake_ep, node),
		 CM_EV_DISCONNECTED, 0);
	cma_id_destroy(a);
	CHECK(fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0)->id == b);
	fh_expect_none(ch);
	cma_id_destroy(b);
	CHECK(cma_chan_destroy(ch) == 0);
}

/* Without memory a request is refused, a call fails, and one event is not lost. */
static void test_no_memory(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *l = listener(ch, 0), *id;
	struct cm_param p = fh_param();
	struct fake_ep *le = fh_ep(&fh.alpha), *e;

	for (unsigned n = 2; n <= 4; n++) { /* the 1st is the fake's own endpoint */
		ut_fault_arm(n, 0);
		CHECK(fh_request(&fh.alpha, le, IBV_QPT_RC, NULL) != 0);
		ut_fault_arm(0, 0);
	}
	fh_expect_none(ch);
	CHECK(fh_eps(&fh.alpha) == 1);
	cma_id_destroy(l);
	id = fh_routed(ch);
	e = fh_ep(&fh.alpha);
	CHECK(cma_connect(id, &p) == 0);
	ut_fault_arm(1, 1);
	CHECK(cma_resolve_route(id, 0) < 0);
	fh_raise(&fh.alpha, e, CM_EV_ESTABLISHED, 0);
	fh_expect(ch, RDMA_CM_EVENT_ESTABLISHED, 0);
	fh_raise(&fh.alpha, e, CM_EV_DISCONNECTED, 0);
	fh_expect(ch, RDMA_CM_EVENT_DISCONNECTED, 0);
	ut_fault_arm(0, 0);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
	fh_check_empty();
}

static void test_ud(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_UDP, IBV_QPT_UD);
	struct cm_param p = fh_param();

	CHECK(cma_resolve_addr(id, NULL, fh_v4("10.0.0.9", 7), 0) == 0);
	fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	CHECK(cma_resolve_route(id, 0) == 0);
	fh_expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	p.qp_type = IBV_QPT_UD;
	CHECK(cma_connect(id, &p) == 0);
	CHECK(fh_ep(&fh.alpha)->param.qkey == 0x01234567);
	/* A SIDR status. */
	fh_raise(&fh.alpha, fh_ep(&fh.alpha), CM_EV_ERROR, 1);
	CHECK(fh_expect(ch, RDMA_CM_EVENT_UNREACHABLE, 1)->ud);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
}

static struct cma_event *joined(struct cma_chan *ch, struct cma_id *id, struct sockaddr *g,
				bool send_only)
{
	struct cma_event *e;

	CHECK(cma_join(id, g, send_only, g) == 0);
	e = fh_expect(ch, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	CHECK(e->id == id && e->ud && e->qpn == 0xffffff && e->qkey == 0x01234567);
	CHECK(e->context == g && e->ah.is_global && e->ah.port_num == 1);
	return e;
}

static void test_multicast(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_UDP, IBV_QPT_UD);
	struct cma_event *e;

	CHECK(cma_join(id, fh_v4("224.1.2.3", 0), false, NULL) == -EINVAL);
	CHECK(cma_bind(id, fh_v4("10.0.0.1", 0)) == 0);
	e = joined(ch, id, fh_v4("224.1.2.3", 0), false);
	CHECK(fh.alpha.groups == 1 && e->ah.grh.hop_limit == 64);
	CHECK(memcmp(e->ah.grh.dgid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xe0\1\2\3", 16) == 0);
	/* Sending only does not make the host listen; twice is counted. */
	joined(ch, id, fh_v4("224.9.9.9", 0), true);
	joined(ch, id, fh_v4("224.1.2.3", 0), false);
	CHECK(fh.alpha.groups == 1);
	CHECK(cma_leave(id, fh_v4("224.1.2.3", 0)) == 0 && fh.alpha.groups == 1);
	CHECK(cma_leave(id, fh_v4("224.1.2.3", 0)) == 0 && fh.alpha.groups == 0);
	CHECK(cma_leave(id, fh_v4("224.1.2.3", 0)) == -EADDRNOTAVAIL);
	e = joined(ch, id, fh_v6("ff0e::77", 0), false);
	CHECK(e->ah.grh.dgid.raw[0] == 0xff && e->ah.grh.dgid.raw[15] == 0x77);
	/* No group: told as an event. And an event not taken goes with its group. */
	CHECK(cma_join(id, fh_v4("10.0.0.5", 0), false, NULL) == 0);
	fh_expect(ch, RDMA_CM_EVENT_MULTICAST_ERROR, -EINVAL);
	CHECK(cma_join(id, fh_v4("224.5.5.5", 0), false, NULL) == 0);
	CHECK(cma_leave(id, fh_v4("224.5.5.5", 0)) == 0);
	fh_expect_none(ch);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
	fh_check_empty();
}

/* A subnet administrator answers later: once, or after the group was left, which it is told. */
static void test_group_later(void)
{
	const struct cm_group g = { .mgid.raw = { 0xff, 0x12, 0x40, 0x01, [15] = 9 }, .mlid = 0xc003, .pkey = 0xffff,
				    .qkey = 0x01234567, .sl = 2, .hop_limit = 1 };
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_UDP, IBV_QPT_UD);
	struct cma_event *e;
	uint64_t first;

	fh.leaves = 0;
	fh.join_result = -EINPROGRESS;
	CHECK(cma_bind(id, fh_v4("10.0.0.1", 0)) == 0);
	CHECK(cma_join(id, fh_v4("224.1.2.3", 0), false, &first) == 0);
	first = fh.asked;
	fh_expect_none(ch);
	CHECK(!cma_group_answer(fh.c, first + 1, 0, &g));
	CHECK(cma_group_answer(fh.c, first, 0, &g) && !cma_group_answer(fh.c, first, 0, &g));
	e = fh_expect(ch, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	CHECK(e->context == &first && e->qkey == 0x01234567 && e->ah.dlid == 0xc003 && e->ah.sl == 2 && e->ah.is_global);
	CHECK(!memcmp(&e->ah.grh.dgid, &g.mgid, 16) && fh.alpha.groups == 1);
	CHECK(cma_leave(id, fh_v4("224.1.2.3", 0)) == 0 && fh.alpha.groups == 0 && fh.leaves == 1);
	/* Refused: nothing is to be left. */
	CHECK(cma_join(id, fh_v4("224.1.2.4", 0), false, NULL) == 0);
	CHECK(cma_group_answer(fh.c, fh.asked, -EHOSTUNREACH, NULL));
	fh_expect(ch, RDMA_CM_EVENT_MULTICAST_ERROR, -EHOSTUNREACH);
	CHECK(cma_leave(id, fh_v4("224.1.2.4", 0)) == 0 && fh.leaves == 1);
	/* Left, and destroyed, before the answer: its caller learns that the group is to be left. */
	CHECK(cma_join(id, fh_v4("224.1.2.5", 0), false, NULL) == 0);
	first = fh.asked;
	CHECK(cma_leave(id, fh_v4("224.1.2.5", 0)) == 0 && !cma_group_answer(fh.c, first, 0, &g));
	CHECK(cma_join(id, fh_v4("224.1.2.6", 0), false, NULL) == 0);
	fh_expect_none(ch);
	cma_id_destroy(id);
	CHECK(!cma_group_answer(fh.c, fh.asked, 0, &g) && fh.leaves == 1);
	fh.join_result = 0;
	CHECK(cma_chan_destroy(ch) == 0);
	fh_check_empty();
}

/* --- races --- */

#define ROUNDS 300

static atomic_int stop;

static void *requester(void *arg)
{
	struct fake_port *p = arg;

	while (!atomic_load(&stop)) {
		struct fake_ep *e, *le = NULL;
		struct cm_event ev = { .type = CM_EV_DISCONNECTED };

		ut_lock(&p->dev.lock);
		ut_list_each(e, &p->eps, node) {
			if (e->listening)
				le = e;
			else
				ev.ep = &e->ep;
		}
		if (ev.ep)
			p->cm.user->event(&p->cm, &ev);
		if (le) {
			struct fake_ep *fresh = ut_zalloc(sizeof(*fresh));
			struct cm_event rq = { .type = CM_EV_REQUEST, .listener = &le->ep,
					       .param.qp_type = IBV_QPT_RC };

			fresh->ep = (struct cm_ep){ .port = &p->cm, .local = le->ep.local };
			ut_list_add_tail(&p->eps, &fresh->node);
			rq.ep = &fresh->ep;
			if (p->cm.user->event(&p->cm, &rq)) {
				ut_list_del(&fresh->node);
				free(fresh);
			}
		}
		ut_unlock(&p->dev.lock);
		usleep(10);
	}
	return NULL;
}

static void *changer(void *arg)
{
	while (!atomic_load(&stop)) {
		cma_addr_changed(fh.c, &fh.beta.cm, fh.beta.addrs[1].addr);
		usleep(50);
	}
	return NULL;
}

static void round_trip(struct cma_chan *ch, struct cma_chan *other, int i)
{
	struct cma_id *l = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	struct cma_event e;

	CHECK(cma_bind(l, fh_v4("0.0.0.0", 0)) == 0);
	CHECK(cma_listen(l, 8) == 0);
	usleep((unsigned)(i % 7) * 20);
	if (i % 3 == 0)
		CHECK(cma_id_migrate(l, other) == 0);
	while (cma_event_next(ch, true, &e) == 0 || cma_event_next(other, true, &e) == 0)
		if (e.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			cma_id_destroy(e.id);
			if (i % 2)
				break;
		}
	cma_id_destroy(l);
	/* Those that were the application's already when the loop ended are none. */
	CHECK(cma_event_next(ch, true, &e) == -EAGAIN && cma_event_next(other, true, &e) == -EAGAIN);
}

static void test_races(void)
{
	struct cma_chan *ch = fh_chan(), *other = fh_chan();
	pthread_t t[3];

	CHECK(pthread_create(&t[0], NULL, requester, &fh.alpha) == 0);
	CHECK(pthread_create(&t[1], NULL, requester, &fh.beta) == 0);
	CHECK(pthread_create(&t[2], NULL, changer, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++)
		round_trip(ch, other, i);
	atomic_store(&stop, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	CHECK(cma_chan_destroy(ch) == 0 && cma_chan_destroy(other) == 0);
	fh_check_empty();
}

static int child(struct cma_chan *ch, struct cma_id *id)
{
	struct cm_param p = fh_param();
	struct cma_event e;

	cma_forget(fh.c);
	if (cma_connect(id, &p) != -EIO || cma_event_next(ch, true, &e) != -EIO ||
	    cma_listen(id, 1) != -EIO || cma_chan_create(fh.c, &ch) != -EIO)
		return 1;
	cma_id_destroy(id);
	return cma_chan_destroy(ch) ? 2 : 0;
}

static void test_fork(void)
{
	struct cma_chan *ch = fh_chan();
	struct cma_id *id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);
	int status;
	pid_t pid;

	CHECK(cma_resolve_addr(id, NULL, fh_v4("10.0.0.9", 7), 0) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(child(ch, id));
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d", status);
	/* The child took nothing from the parent. */
	fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	cma_id_destroy(id);
	CHECK(cma_chan_destroy(ch) == 0);
}

int main(void)
{
	fh_open();
	test_request();
	test_accept_fails();
	test_backlog();
	test_order_and_migrate();
	test_destroy_drops();
	test_no_memory();
	test_ud();
	test_multicast();
	test_group_later();
	test_races();
	test_fork();
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The library half of the RDMA CM over a manager by script: transitions of queue pairs, events that
 * the program gets, calls that wait for others.
 */
#include "cma_script.h"
#include "support/cases.h"
#include "support/check.h"
#include "abi/rdmacm/rcm.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_verbs.h>
#include <signal.h>
#include <sys/wait.h>
#include <stdatomic.h>
#include <unistd.h>

static int adapter; /* its address is the identifiers' context */
static struct rdma_event_channel *channel;
static struct sockaddr_in there;

static struct cma_id *cma_of(struct rdma_cm_id *id)
{
	return rcm_of(id, rcm_id)->cma;
}

static void bind_to_device(void)
{
	struct ibv_context **v = rdma_get_devices(NULL);

	if (!v)
		SKIP("no adapter here");
	script = (struct script){ 0 };
	script.info.device = ibv_get_device_name(v[0]->device);
	script.info.port_num = 1;
	script.info.path = (struct cm_path){ .slid = CM_LID_PERMISSIVE, .dlid = CM_LID_PERMISSIVE, .pkey = 0xffff };
	script.info.routed = true;
	CHECK(!ibv_query_gid(v[0], 1, 0, &script.info.sgid));
	script.info.dgid = script.info.sgid;
	there = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(7471),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	memcpy(&script.info.remote, &there, sizeof(there));
	memcpy(&script.info.local, &there, sizeof(there));
	rdma_free_devices(v);
}

static struct rdma_cm_id *make_id(struct rdma_event_channel *ch, enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	CHECK(!rdma_create_id(ch, &id, &adapter, ps));
	return id;
}

static struct rdma_cm_event *event_of(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *e;

	CHECK(!rdma_get_cm_event(channel, &e));
	CHECK_MSG(e->event == type, "got %s", rdma_event_str(e->event));
	return e;
}

static void quiet(void)
{
	struct rdma_cm_event *e;
	int flags = fcntl(channel->fd, F_GETFL);

	CHECK(!fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK));
	errno = 0;
	CHECK(rdma_get_cm_event(channel, &e) == -1 && errno == EAGAIN);
	CHECK(!fcntl(channel->fd, F_SETFL, flags));
}

static struct rdma_cm_id *resolved(enum rdma_port_space ps)
{
	struct rdma_cm_id *id = make_id(channel, ps);

	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&there, 30000));
	script_raise(cma_of(id), RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	rdma_ack_cm_event(event_of(RDMA_CM_EVENT_ADDR_RESOLVED));
	return id;
}

static void give_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = id->qp_type };

	script.param.qp_type = id->qp_type;
	CHECK(!rdma_create_qp(id, NULL, &attr));
	CHECK(id->qp && id->send_cq && id->recv_cq && id->send_cq_channel && id->recv_cq_channel);
	CHECK(attr.send_cq == id->send_cq && attr.recv_cq == id->recv_cq);
	CHECK(attr.cap.max_send_wr >= 4 && id->send_cq->cq_context == id);
}

static void end(struct rdma_cm_id *id)
{
	rdma_destroy_ep(id);
}

static void fields(void)
{
	struct rdma_cm_id *id = resolved(RDMA_PS_TCP), *other;
	struct ibv_context **v = rdma_get_devices(NULL);

	CHECK(id->verbs == v[0] && id->port_num == 1 && id->pd && id->context == &adapter);
	CHECK(id->ps == RDMA_PS_TCP && id->qp_type == IBV_QPT_RC && id->channel == channel);
	CHECK(rdma_get_dst_port(id) == htons(7471));
	CHECK(id->route.num_paths == 1 && id->route.path_rec->pkey == 0xffff);
	CHECK(!memcmp(&id->route.path_rec->sgid, &script.info.sgid, 16));
	other = resolved(RDMA_PS_UDP);
	CHECK(other->verbs == id->verbs && other->pd == id->pd && other->qp_type == IBV_QPT_UD);
	rdma_free_devices(v);
	end(id);
	end(other);
}

static enum ibv_qp_state state_of(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK(!ibv_query_qp(id->qp, &attr, IBV_QP_STATE | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MAX_QP_RD_ATOMIC, &init));
	return attr.qp_state;
}

static void depths_of(struct rdma_cm_id *id, int *responder, int *initiator)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK(!ibv_query_qp(id->qp, &attr, IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MAX_QP_RD_ATOMIC,
			    &init));
	*responder = attr.max_dest_rd_atomic;
	*initiator = attr.max_rd_atomic;
}

static void active(void)
{
	struct rdma_conn_param p = { .responder_resources = 1, .initiator_depth = 1,
				     .retry_count = 99, .private_data = "hello",
				     .private_data_len = 5 };
	struct rdma_cm_id *id = resolved(RDMA_PS_TCP);
	struct cma_event e = { .type = RDMA_CM_EVENT_CONNECT_RESPONSE,
			       .param = { .private_len = 3 }, .data = "abc" };
	struct rdma_cm_event *ev;

	errno = 0;
	CHECK(rdma_connect(id, NULL) == -1 && errno == EINVAL); /* neither QP nor number */
	give_qp(id);
	CHECK(state_of(id) == IBV_QPS_INIT);
	CHECK(!rdma_connect(id, &p));
	CHECK(script.param.qpn == id->qp->qp_num && script.param.retry_count == 7);
	CHECK(script.param.private_len == 5 && script.param.responder_resources == 1);
	script_raise_full(cma_of(id), &e);
	ev = event_of(RDMA_CM_EVENT_ESTABLISHED);
	CHECK(ev->param.conn.private_data_len == 3 &&
	      !memcmp(ev->param.conn.private_data, "abc", 3));
	rdma_ack_cm_event(ev);
	CHECK(state_of(id) == IBV_QPS_RTS && script.establishes == 1);
	script_raise(cma_of(id), RDMA_CM_EVENT_DISCONNECTED, 0);
	rdma_ack_cm_event(event_of(RDMA_CM_EVENT_DISCONNECTED));
	CHECK(state_of(id) == IBV_QPS_ERR);
	script.next_rc = -EINVAL; /* over already */
	CHECK(!rdma_disconnect(id));
	end(id);
}

/* A connection that we gave up makes no more news. */
static void failed_transition(void)
{
	struct rdma_cm_id *id = resolved(RDMA_PS_TCP);
	struct rdma_cm_event *ev;

	give_qp(id);
	CHECK(!rdma_connect(id, NULL));
	script.attr_rc[IBV_QPS_RTS] = -EINVAL;
	script_raise(cma_of(id), RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	ev = event_of(RDMA_CM_EVENT_CONNECT_ERROR);
	CHECK(ev->status == -EINVAL && script.rejects == 1 && !script.establishes);
	rdma_ack_cm_event(ev);
	CHECK(state_of(id) == IBV_QPS_ERR);
	script_raise(cma_of(id), RDMA_CM_EVENT_REJECTED, 28);
	script_raise(cma_of(id), RDMA_CM_EVENT_DISCONNECTED, 0);
	quiet();
	end(id);
}

static void external_qp(void)
{
	struct rdma_conn_param p = { .qp_num = 0x1234, .srq = 1 };
	struct rdma_cm_id *id = resolved(RDMA_PS_TCP);
	struct ibv_ece ece = { .vendor_id = 1, .options = 2 }, peer;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask = 0;

	script.info.peer_ece = (struct cm_ece){ 3, 4 };
	CHECK(!rdma_set_local_ece(id, &ece));
	CHECK(!rdma_connect(id, &p));
	CHECK(script.param.qpn == 0x1234 && script.param.srq && script.param.ece.options == 2);
	CHECK(script.param.ece.vendor_id == 1);
	script_raise(cma_of(id), RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	rdma_ack_cm_event(event_of(RDMA_CM_EVENT_CONNECT_RESPONSE));
	CHECK(!rdma_init_qp_attr(id, &attr, &mask) && (mask & IBV_QP_PORT));
	CHECK(!rdma_get_remote_ece(id, &peer) && peer.vendor_id == 3 && peer.options == 4);
	CHECK(!script.establishes && !rdma_establish(id) && script.establishes == 1);
	end(id);
}

static void passive(void)
{
	struct cm_param asked = { .responder_resources = 3, .initiator_depth = 255 };
	struct rdma_conn_param p = { .responder_resources = RDMA_MAX_RESP_RES,
				     .initiator_depth = 2 };
	struct rdma_cm_id *l = make_id(channel, RDMA_PS_TCP), *id;
	struct rdma_cm_event *ev;
	int responder, initiator;

	CHECK(!rdma_bind_addr(l, (struct sockaddr *)&there) && !rdma_listen(l, 0));
	script_request(cma_of(l), &asked, false);
	ev = event_of(RDMA_CM_EVENT_CONNECT_REQUEST);
	id = ev->id;
	CHECK(ev->listen_id == l && id != l && id->context == &adapter && id->verbs == l->verbs);
	CHECK(id->channel == channel && id->qp_type == IBV_QPT_RC && id->ps == RDMA_PS_TCP);
	CHECK(ev->param.conn.responder_resources == 3);
	give_qp(id);
	CHECK(!rdma_accept(id, &p));
	CHECK(state_of(id) == IBV_QPS_RTS);
	depths_of(id, &responder, &initiator);
	CHECK_MSG(responder >= 3 && responder <= 4 && initiator == 2, "%d %d", responder, initiator);
	CHECK(script.param.responder_resources == 3 && script.param.initiator_depth == 2);
	rdma_ack_cm_event(ev);
	script_raise(cma_of(id), RDMA_CM_EVENT_ESTABLISHED, 0);
	rdma_ack_cm_event(event_of(RDMA_CM_EVENT_ESTABLISHED));
	p.initiator_depth = 254; /* no adapter has so much */
	errno = 0;
	CHECK(rdma_accept(id, &p) == -1 && errno == EINVAL);
	CHECK(!rdma_disconnect(id) && state_of(id) == IBV_QPS_ERR);
	end(id);
	/* An unwanted request, destroyed before its event is acknowledged. */
	script_request(cma_of(l), &asked, false);
	ev = event_of(RDMA_CM_EVENT_CONNECT_REQUEST);
	CHECK(!rdma_reject_ece(ev->id, "no", 2) && script.reason == CM_REJ_VENDOR_OPTION);
	CHECK(!rdma_destroy_id(ev->id));
	rdma_ack_cm_event(ev);
	end(l);
}

static atomic_bool used;

static void *user(void *id)
{
	while (script.held < 3)
		sched_yield();
	atomic_store(&used, true);
	give_qp(id);
	return NULL;
}

/* A second request may come between two looks; it waits until the first one's identifier is used. */
static void one_by_one(void)
{
	struct rdma_cm_id *l = make_id(channel, RDMA_PS_TCP), *id[2];
	struct rdma_cm_event *ev;
	pthread_t t;

	CHECK(!rdma_bind_addr(l, (struct sockaddr *)&there) && !rdma_listen(l, 0));
	script_request(cma_of(l), &script.param, false);
	for (int i = 0; i < 2; i++) {
		ev = event_of(RDMA_CM_EVENT_CONNECT_REQUEST);
		CHECK(atomic_load(&used) == i);
		id[i] = ev->id;
		rdma_ack_cm_event(ev);
		script.arrives = i ? NULL : cma_of(l);
		if (!i)
			CHECK(!pthread_create(&t, NULL, user, id[i]));
	}
	pthread_join(t, NULL);
	end(id[0]);
	end(id[1]);
	end(l);
}

/* A manager that moves queue pairs itself is not interfered with behind INIT. */
static void self_moving(void)
{
	struct rdma_cm_id *id;

	script.info.moves_qp = true;
	script.attr_rc[IBV_QPS_RTR] = script.attr_rc[IBV_QPS_RTS] = -EINVAL;
	id = resolved(RDMA_PS_TCP);
	give_qp(id);
	CHECK(state_of(id) == IBV_QPS_INIT); /* receives can be posted */
	CHECK(!rdma_connect(id, NULL));
	CHECK(state_of(id) == IBV_QPS_INIT);
	end(id);
}

static void datagrams(void)
{
	struct rdma_cm_id *id = resolved(RDMA_PS_UDP);
	struct cma_event e = { .type = RDMA_CM_EVENT_ESTABLISHED, .ud = true, .qpn = 5,
			       .qkey = 6 };
	struct rdma_cm_event *ev;

	give_qp(id);
	CHECK(state_of(id) == IBV_QPS_RTS);
	CHECK(!rdma_connect(id, NULL) && script.param.qkey == RDMA_UDP_QKEY);
	script_raise_full(cma_of(id), &e);
	ev = event_of(RDMA_CM_EVENT_ESTABLISHED);
	CHECK(ev->param.ud.qp_num == 5 && ev->param.ud.qkey == 6 && !ev->param.ud.private_data);
	rdma_ack_cm_event(ev);
	CHECK(!rdma_accept(id, NULL));
	end(id);
}

/* --- calls that wait for others --- */

static _Atomic bool gone;

static void *destroyer(void *id)
{
	rdma_destroy_id(id);
	atomic_store(&gone, true);
	return NULL;
}

static void destroy_waits(void)
{
	struct rdma_cm_id *id = make_id(channel, RDMA_PS_TCP);
	struct rdma_cm_event *ev;
	pthread_t t;

	atomic_store(&gone, false);
	script_raise(cma_of(id), RDMA_CM_EVENT_ADDR_CHANGE, 0);
	script_raise(cma_of(id), RDMA_CM_EVENT_ADDR_CHANGE, 0); /* goes with it */
	ev = event_of(RDMA_CM_EVENT_ADDR_CHANGE);
	CHECK(!pthread_create(&t, NULL, destroyer, id));
	poll(NULL, 0, 30); /* long enough for a wrong one to be through */
	CHECK(!atomic_load(&gone));
	rdma_ack_cm_event(ev);
	pthread_join(t, NULL);
	quiet();
}

static void *getter(void *arg)
{
	struct rdma_cm_event *ev;

	rdma_get_cm_event(channel, &ev);
	return NULL;
}

/* Cancelled while it waits: nothing is held, the channel works on. */
static void cancelled(void)
{
	struct rdma_cm_id *id = make_id(channel, RDMA_PS_TCP);
	void *how;
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, getter, NULL));
	CHECK(!pthread_cancel(t) && !pthread_join(t, &how) && how == PTHREAD_CANCELED);
	script_raise(cma_of(id), RDMA_CM_EVENT_ADDR_CHANGE, 0);
	rdma_ack_cm_event(event_of(RDMA_CM_EVENT_ADDR_CHANGE));
	end(id);
}

static void on_alarm(int sig)
{
}

static void interrupted(void)
{
	struct sigaction a = { .sa_handler = on_alarm }, old;
	struct rdma_cm_event *ev;

	CHECK(!sigaction(SIGALRM, &a, &old));
	ualarm(20000, 20000); /* again and again: the first may come too early */
	errno = 0;
	CHECK(rdma_get_cm_event(channel, &ev) == -1 && errno == EINTR);
	ualarm(0, 0);
	sigaction(SIGALRM, &old, NULL);
}

/* The channel lasts as long as its identifiers. */
static void channel_first(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	int fd = ch->fd;

	rdma_destroy_event_channel(ch);
	CHECK(fcntl(fd, F_GETFD) >= 0);
	script_raise(cma_of(id), RDMA_CM_EVENT_ADDR_CHANGE, 0);
	end(id);
	CHECK(fcntl(fd, F_GETFD) == -1);
}

static void *waits_for_ever(void *arg)
{
	struct rdma_cm_event *ev;

	rdma_get_cm_event(arg, &ev);
	return &adapter; /* it must not come back */
}

/* A channel destroyed under a thread that waits there. */
static void destroyed_under(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	pthread_t t;
	void *how;

#ifdef __SANITIZE_THREAD__
	return; /* it does not see locks that a cancelled thread takes while it unwinds */
#endif
	CHECK(!pthread_create(&t, NULL, waits_for_ever, ch));
	poll(NULL, 0, 10); /* long enough to be asleep in it */
	rdma_destroy_event_channel(ch);
	CHECK(!pthread_cancel(t) && !pthread_join(t, &how) && how == PTHREAD_CANCELED);
	/* The thread may come a moment too late as well. */
	CHECK(!pthread_create(&t, NULL, waits_for_ever, ch));
	CHECK(!pthread_cancel(t) && !pthread_join(t, &how) && how == PTHREAD_CANCELED);
}

/* --- synchronous ones --- */

static void *raise_later(void *id)
{
	poll(NULL, 0, 10);
	script_raise(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	return NULL;
}

static void synchronous(void)
{
	struct rdma_cm_id *id = make_id(NULL, RDMA_PS_TCP);
	pthread_t t;

	CHECK(id->channel && id->channel != channel);
	CHECK(!pthread_create(&t, NULL, raise_later, cma_of(id)));
	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&there, 30000));
	pthread_join(t, NULL);
	CHECK(id->event && id->event->event == RDMA_CM_EVENT_ADDR_RESOLVED && id->verbs);
	script_raise(cma_of(id), RDMA_CM_EVENT_ADDR_CHANGE, 0); /* an aside */
	script_raise(cma_of(id), RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT);
	errno = 0;
	CHECK(rdma_resolve_route(id, 10) == -1 && errno == ETIMEDOUT);
	give_qp(id);
	script_raise(cma_of(id), RDMA_CM_EVENT_REJECTED, 8);
	errno = 0;
	CHECK(rdma_connect(id, NULL) == -1 && errno == ECONNREFUSED);
	CHECK(id->event->event == RDMA_CM_EVENT_REJECTED && id->event->status == 8);
	errno = 0;
	CHECK(rdma_migrate_id(id, NULL) == -1 && errno == EINVAL);
	script_raise(cma_of(id), RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	CHECK(!rdma_migrate_id(id, channel) && id->channel == channel && !id->event);
	rdma_ack_cm_event(event_of(RDMA_CM_EVENT_TIMEWAIT_EXIT));
	CHECK(!rdma_migrate_id(id, NULL) && id->channel != channel);
	end(id);
}

static void endpoints(void)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = { .cap = { 4, 4, 1, 1, 0 } };
	struct cm_param asked = { .responder_resources = 1 };
	struct rdma_cm_id *l, *id;
	struct rdma_addrinfo *res;

	CHECK(!rdma_getaddrinfo("127.0.0.1", "7471", &hints, &res));
	CHECK(!rdma_create_ep(&l, res, NULL, &attr));
	rdma_freeaddrinfo(res);
	CHECK(!rdma_listen(l, 1));
	script_request(cma_of(l), &asked, false);
	CHECK(!rdma_get_request(l, &id));
	CHECK(id->qp && id->event && id->event->event == RDMA_CM_EVENT_CONNECT_REQUEST);
	CHECK(id->channel != l->channel);
	script_raise(cma_of(id), RDMA_CM_EVENT_ESTABLISHED, 0);
	CHECK(!rdma_accept(id, NULL) && id->event->event == RDMA_CM_EVENT_ESTABLISHED);
	/* The peer's end comes first, and the manager knows it. */
	script_raise(cma_of(id), RDMA_CM_EVENT_DISCONNECTED, 0);
	script.next_rc = -EINVAL;
	CHECK(!rdma_disconnect(id) && id->event->event == RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_ep(id);
	/* A second one that cannot get its queue pair is refused. */
	script.attr_rc[IBV_QPS_INIT] = -ENOMEM;
	script_request(cma_of(l), &asked, false);
	errno = 0;
	CHECK(rdma_get_request(l, &id) == -1 && errno == ENOMEM && script.rejects == 1);
	rdma_destroy_ep(l);
}

static void groups(void)
{
	struct sockaddr_in g = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xe0000105) };
	struct rdma_cm_id *id = resolved(RDMA_PS_UDP);
	struct cma_event e = { .type = RDMA_CM_EVENT_MULTICAST_JOIN, .ud = true,
			       .qpn = 0xffffff };
	struct rdma_cm_event *ev;
	int mine;

	CHECK(!rdma_join_multicast(id, (struct sockaddr *)&g, &mine));
	e.context = (void *)(uintptr_t)script.join_context;
	script_raise_full(cma_of(id), &e);
	ev = event_of(RDMA_CM_EVENT_MULTICAST_JOIN);
	CHECK(ev->param.ud.private_data == &mine && ev->param.ud.qp_num == 0xffffff);
	rdma_ack_cm_event(ev);
	CHECK(!rdma_leave_multicast(id, (struct sockaddr *)&g) && script.leaves == 1);
	errno = 0;
	CHECK(rdma_leave_multicast(id, (struct sockaddr *)&g) == -1 && errno == EADDRNOTAVAIL);
	script_raise_full(cma_of(id), &e); /* of a group that was left */
	quiet();
	end(id);
}

static void queues(void)
{
	struct ibv_qp_init_attr attr = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_srq_init_attr sa = { .attr = { 8, 1, 0 } };
	struct rdma_cm_id *id = resolved(RDMA_PS_TCP), *two = resolved(RDMA_PS_TCP);
	struct ibv_cq *cq = ibv_create_cq(id->verbs, 8, NULL, NULL, 0);

	CHECK(!rdma_create_srq(id, NULL, &sa) && id->srq && sa.attr.max_wr >= 8);
	attr.send_cq = attr.recv_cq = cq;
	CHECK(!rdma_create_qp(id, NULL, &attr) && id->qp->srq == id->srq);
	CHECK(!id->send_cq && !id->recv_cq && id->qp->send_cq == cq);
	errno = 0;
	CHECK(rdma_create_qp(id, NULL, &attr) == -1 && errno == EINVAL);
	script.attr_rc[IBV_QPS_INIT] = -EIO;
	attr.send_cq = attr.recv_cq = NULL;
	errno = 0;
	CHECK(rdma_create_qp(two, NULL, &attr) == -1 && errno == EIO);
	CHECK(!two->qp && !two->send_cq && !two->recv_cq_channel);
	end(id);
	end(two);
	CHECK(!ibv_destroy_cq(cq));
}

/* --- names --- */

static void names(void)
{
	struct rdma_addrinfo h = { 0 }, *r;

	CHECK(!rdma_getaddrinfo("127.0.0.1", "7471", NULL, &r));
	CHECK(r->ai_family == AF_INET && r->ai_dst_len == sizeof(struct sockaddr_in));
	CHECK(!r->ai_src_len && r->ai_qp_type == IBV_QPT_RC && r->ai_port_space == RDMA_PS_TCP);
	CHECK(((struct sockaddr_in *)(void *)r->ai_dst_addr)->sin_port == htons(7471));
	rdma_freeaddrinfo(r);
	h.ai_flags = RAI_PASSIVE | RAI_NUMERICHOST;
	h.ai_qp_type = IBV_QPT_UD;
	CHECK(!rdma_getaddrinfo("::1", NULL, &h, &r));
	CHECK(r->ai_family == AF_INET6 && r->ai_src_len == sizeof(struct sockaddr_in6));
	CHECK(!r->ai_dst_len && r->ai_port_space == RDMA_PS_UDP);
	rdma_freeaddrinfo(r);
	CHECK(rdma_getaddrinfo("localhost", NULL, &h, &r) == EAI_NONAME); /* not numeric */
	h = (struct rdma_addrinfo){ .ai_flags = RAI_FAMILY | RAI_NUMERICHOST, .ai_family = AF_IB,
				    .ai_port_space = RDMA_PS_IB };
	CHECK(!rdma_getaddrinfo("fe80::1", "5", &h, &r));
	CHECK(r->ai_family == AF_IB && r->ai_dst_len == 48);
	rdma_freeaddrinfo(r);
	h = (struct rdma_addrinfo){ .ai_src_len = sizeof(there), .ai_dst_len = sizeof(there),
				    .ai_src_addr = (struct sockaddr *)&there,
				    .ai_dst_addr = (struct sockaddr *)&there };
	CHECK(!rdma_getaddrinfo(NULL, NULL, &h, &r) && r->ai_src_len && r->ai_dst_len);
	rdma_freeaddrinfo(r);
	h.ai_flags = 0x100;
	CHECK(rdma_getaddrinfo("127.0.0.1", NULL, &h, &r) == EAI_BADFLAGS);
	CHECK(rdma_getaddrinfo(NULL, NULL, NULL, &r) == -1 && errno == EINVAL);
	CHECK(!strcmp(rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT), "RDMA_CM_EVENT_TIMEWAIT_EXIT"));
	CHECK(!strcmp(rdma_event_str(19), "UNKNOWN EVENT"));
}

#define REFUSED(call)                                                  \
	do {                                                           \
		errno = 0;                                             \
		CHECK((call) == -1 && errno == EINVAL);                \
	} while (0)

static void nothing_given(void)
{
	struct sockaddr odd = { .sa_family = 99 };
	struct rdma_cm_id *id = make_id(channel, RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct rdma_cm_event *e;

	REFUSED(rdma_create_id(channel, NULL, NULL, RDMA_PS_TCP));
	REFUSED(rdma_destroy_id(NULL));
	REFUSED(rdma_bind_addr(id, NULL));
	REFUSED(rdma_bind_addr(id, &odd));
	REFUSED(rdma_bind_addr(NULL, &odd));
	REFUSED(rdma_resolve_addr(id, NULL, NULL, 1));
	REFUSED(rdma_resolve_addr(id, &odd, (struct sockaddr *)&there, 1));
	REFUSED(rdma_resolve_route(NULL, 1));
	REFUSED(rdma_create_qp(id, NULL, &attr)); /* no device yet */
	REFUSED(rdma_create_qp(id, NULL, NULL));
	REFUSED(rdma_create_srq(id, NULL, NULL));
	REFUSED(rdma_connect(NULL, NULL));
	REFUSED(rdma_listen(NULL, 1));
	REFUSED(rdma_accept(NULL, NULL));
	REFUSED(rdma_reject(id, NULL, 1));
	REFUSED(rdma_establish(NULL));
	REFUSED(rdma_notify(NULL, IBV_EVENT_COMM_EST));
	REFUSED(rdma_disconnect(NULL));
	REFUSED(rdma_init_qp_attr(id, NULL, NULL));
	REFUSED(rdma_set_option(id, 0, 0, NULL, 0));
	REFUSED(rdma_join_multicast(id, NULL, NULL));
	REFUSED(rdma_join_multicast_ex(id, NULL, NULL));
	REFUSED(rdma_leave_multicast(id, &odd));
	REFUSED(rdma_get_request(id, &id)); /* not synchronous */
	REFUSED(rdma_create_ep(NULL, NULL, NULL, NULL));
	REFUSED(rdma_get_cm_event(NULL, &e));
	REFUSED(rdma_ack_cm_event(NULL));
	REFUSED(rdma_set_local_ece(id, NULL));
	rdma_destroy_qp(NULL);
	rdma_destroy_srq(NULL);
	rdma_destroy_ep(NULL);
	rdma_destroy_event_channel(NULL);
	rdma_freeaddrinfo(NULL);
	rdma_free_devices(NULL);
	end(id);
}

#define ABSENT(cond)                                           \
	do {                                                   \
		errno = 0;                                     \
		CHECK((cond) && errno == ENODEV);              \
	} while (0)

/* In a process of its own, since a library that has seen a device knows better. */
static void without_devices(void)
{
	struct rdma_addrinfo *r;
	struct rdma_cm_id *id;
	int status, n = 1;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid) {
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		return;
	}
	setenv("DAPPLE_DEVICES", "none_of_them", 1);
	ABSENT(!rdma_create_event_channel());
	ABSENT(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) == -1);
	ABSENT(!rdma_get_devices(&n));
	CHECK(!n);
	ABSENT(rdma_getaddrinfo("127.0.0.1", "1", NULL, &r) == -1);
	_exit(0);
}

static const struct test_case cases[] = {
	{ "-", "public fields follow the manager", fields },
	{ "-", "the active side's queue pair", active },
	{ "-", "a transition that fails", failed_transition },
	{ "-", "a queue pair of the program's own", external_qp },
	{ "-", "the passive side, depths clamped", passive },
	{ "-", "a request at a time", one_by_one },
	{ "-", "a manager that moves queue pairs", self_moving },
	{ "-", "datagrams", datagrams },
	{ "-", "destroy waits for acknowledgements", destroy_waits },
	{ "-", "a channel destroyed first", channel_first },
	{ "-", "a channel destroyed under a waiting thread", destroyed_under },
	{ "-", "cancelled in a wait", cancelled },
	{ "-", "a signal without SA_RESTART", interrupted },
	{ "-", "synchronous calls", synchronous },
	{ "-", "endpoints and requests", endpoints },
	{ "-", "multicast groups", groups },
	{ "-", "queues given and made", queues },
	{ "-", "names and addresses", names },
	{ "-", "missing arguments", nothing_given },
};

int main(int argc, char **argv)
{
	without_devices();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bind_to_device();
		channel = rdma_create_event_channel();
		CHECK(channel && channel->fd >= 0);
		run_cases(&cases[i], 1, 1, argv);
		rdma_destroy_event_channel(channel);
	}
	return 0;
}

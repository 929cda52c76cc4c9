/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cma_fake.h"
#include "support/engine.h"

#include "util/alloc.h"

#include <poll.h>

struct fake_host fh;

static struct fake_port *of(struct cm_port *p)
{
	return (struct fake_port *)p;
}

static struct fake_port *of_dev(struct eng_dev *dev)
{
	return dev->device;
}

static struct fake_ep *of_ep(struct cm_ep *ep)
{
	return (struct fake_ep *)ep;
}

/* --- the manager --- */

static bool taken(struct fake_port *p, const struct link_end *l, bool reuse)
{
	struct fake_ep *e;

	ut_list_each(e, &p->eps, node)
		if (e->bound && e->ep.local.port == l->port && !reuse &&
		    memcmp(e->ep.local.addr, l->addr, 16) == 0)
			return true;
	return false;
}

static int add(struct cm_port *cp, const struct cm_bind *b, bool bound, struct cm_ep **ret)
{
	struct fake_port *p = of(cp);
	struct fake_ep *e = ut_zalloc(sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->ep = (struct cm_ep){ .port = cp, .local = b->local, .service = b->service,
				.opt = b->opt };
	e->bound = bound;
	if (!e->ep.local.port)
		e->ep.local.port = p->next_port++;
	if (bound && taken(p, &e->ep.local, b->opt.reuse)) {
		free(e);
		return -EADDRINUSE;
	}
	ut_list_add_tail(&p->eps, &e->node);
	*ret = &e->ep;
	return 0;
}

static int m_bind(struct cm_port *p, const struct cm_bind *b, struct cm_ep **ret)
{
	return add(p, b, true, ret);
}

static int m_create(struct cm_port *p, const struct cm_bind *b, struct cm_ep **ret)
{
	return add(p, b, false, ret);
}

static int m_listen(struct cm_ep *ep, int backlog)
{
	of_ep(ep)->listening = true;
	of_ep(ep)->backlog = backlog;
	return 0;
}

static int m_connect(struct cm_ep *ep, const struct link_end *remote, const struct cm_param *p)
{
	ep->remote = *remote;
	of_ep(ep)->connects++;
	of_ep(ep)->param = *p;
	return of(ep->port)->connect_result;
}

static int m_accept(struct cm_ep *ep, const struct cm_param *p)
{
	of_ep(ep)->accepts++;
	of_ep(ep)->param = *p;
	return of(ep->port)->accept_result;
}

static int m_reject(struct cm_ep *ep, enum cm_reject reason, const void *data, uint16_t len)
{
	of_ep(ep)->rejects++;
	return 0;
}

static int m_establish(struct cm_ep *ep)
{
	of_ep(ep)->establishes++;
	return 0;
}

static int m_notify(struct cm_ep *ep, enum ibv_event_type event)
{
	of_ep(ep)->notifies++;
	return 0;
}

static int m_load_path(struct cm_ep *ep, const struct cm_path *path)
{
	if (of_ep(ep)->load_result)
		return of_ep(ep)->load_result;
	of_ep(ep)->loads++;
	ep->alternate = *path;
	return 0;
}

static int m_disconnect(struct cm_ep *ep)
{
	return of_ep(ep)->disconnects++ ? -EINVAL : 0;
}

static int m_qp_attr(struct cm_ep *ep, struct ibv_qp_attr *attr, int *mask)
{
	attr->dest_qp_num = 0x123;
	*mask = IBV_QP_STATE | IBV_QP_DEST_QPN;
	return 0;
}

static void m_destroy(struct cm_ep *ep)
{
	ut_list_del(&of_ep(ep)->node);
	free(of_ep(ep));
}

#define MANAGER                                                                            \
	.bind = m_bind, .listen = m_listen, .create = m_create, .connect = m_connect,      \
	.accept = m_accept, .reject = m_reject, .establish = m_establish,                  \
	.notify = m_notify, .load_path = m_load_path, .disconnect = m_disconnect, .qp_attr = m_qp_attr,              \
	.destroy = m_destroy

static const struct cm_ops alpha_ops = {
	.name = "alpha", .confirms = true, .timewait = true, .qp_types = UINT32_MAX,
	.spaces = UINT32_MAX, MANAGER
};

static const struct cm_ops beta_ops = {
	.name = "beta", .moves_qp = true, .qp_types = 1u << IBV_QPT_RC, .spaces = 0, MANAGER
};

static struct cm_ops beta_full; /* with its space, which is no constant */

/* --- the host --- */

static int h_ports(struct cm_port **v, int max)
{
	struct cm_port *all[] = { &fh.alpha.cm, &fh.beta.cm };

	for (int i = 0; i < 2 && i < max; i++)
		v[i] = all[i];
	return 2;
}

static int h_attach(struct cm_port *cp)
{
	struct fake_port *p = of(cp);

	if (p->attach_result < 0)
		return p->attach_result;
	ut_lock(&p->dev.lock);
	p->attaches++;
	p->cm.ops = p == &fh.alpha ? &alpha_ops : &beta_full;
	ut_unlock(&p->dev.lock);
	return 0;
}

static bool h_has_addr(struct cm_port *cp, const uint8_t addr[16], uint32_t scope)
{
	for (int i = 0; i < of(cp)->n_addrs; i++)
		if (memcmp(of(cp)->addrs[i].addr, addr, 16) == 0)
			return true;
	return false;
}

static int h_addrs(struct cm_port *cp, struct link_end *v, int max)
{
	for (int i = 0; i < of(cp)->n_addrs && i < max; i++)
		v[i] = of(cp)->addrs[i];
	return of(cp)->n_addrs;
}

static void put_v4(struct link_end *e, const char *ip)
{
	*e = (struct link_end){ .addr = { [10] = 0xff, [11] = 0xff } };
	CHECK(inet_pton(AF_INET, ip, e->addr + 12) == 1);
}

/* 10.0.0.x is reached from 10.0.0.1, IPv6 from fd00::1, 10.0.1.x from 10.0.1.1, which no
 * adapter has, 10.9.x.x not at all. */
static int h_route(const struct link_end *dst, struct link_end *src)
{
	bool v4 = dst->addr[10] == 0xff && dst->addr[12] == 10;

	if (v4 && dst->addr[13] == 9)
		return -ENETUNREACH;
	if (src->addr[15])
		return 0;
	if (v4)
		put_v4(src, dst->addr[14] ? "10.0.1.1" : "10.0.0.1");
	else
		inet_pton(AF_INET6, "fd00::1", src->addr);
	return 0;
}

/* The test's answer; the ticket of the last question without an answer is in fh.asked. */
static int h_path(struct cm_port *cp, const struct link_end *src, const struct link_end *dst,
		  int timeout_ms, uint64_t ticket, struct cm_path *ret)
{
	if (fh.path_result < 0)
		fh.asked = ticket;
	*ret = (struct cm_path){ .slid = 3, .dlid = 4, .pkey = 0x8001, .sl = 5,
				 .mtu_code = IBV_MTU_1024, .rate = IBV_RATE_40_GBPS, .life = 14,
				 .hop_limit = 64 };
	return fh.path_result;
}

/* The test's answer, likewise; as on Ethernet unless the test says otherwise. */
static int h_join(struct cm_port *cp, const struct cm_group *want, uint64_t ticket, struct cm_group *ret)
{
	if (!fh.join_result)
		return -EOPNOTSUPP;
	fh.asked = ticket;
	return fh.join_result;
}

static void h_leave(struct cm_port *cp, const struct cm_group *g)
{
	fh.leaves++;
}

/* The test's answer, likewise: 10.9.x.x may be registered by another name. */
static int h_name(struct cm_port *cp, const uint8_t addr[16], int timeout_ms, uint64_t ticket)
{
	if (!fh.name_result)
		return -EHOSTUNREACH;
	fh.asked = ticket;
	return fh.name_result;
}

/* As on Ethernet, but for one port's GID: that of 10.0.0.9. */
static const uint8_t h_gid[16] = { 0xfe, 0x80, [8] = 0xda, [15] = 9 }, h_gid_addr[16] = { [10] = 0xff, 0xff, 10, 0, 0, 9 };

static void h_to_gid(struct cm_port *cp, const uint8_t addr[16], uint8_t ret[16])
{
	memcpy(ret, memcmp(addr, h_gid_addr, 16) ? addr : h_gid, 16);
}

static void h_from_gid(const uint8_t gid[16], uint8_t ret[16])
{
	memcpy(ret, memcmp(gid, h_gid, 16) ? gid : h_gid_addr, 16);
}

static const struct cma_host host = { h_ports, h_attach, h_has_addr, h_addrs, h_route, h_path, h_join, h_leave, h_name,
				      h_to_gid, h_from_gid };

/* --- the adapters --- */

static int progress(struct eng_dev *dev)
{
	return 0;
}

static void drive(struct eng_dev *dev)
{
	of_dev(dev)->drives++;
}

static int join(struct eng_dev *dev, const union ibv_gid *g)
{
	of_dev(dev)->groups++;
	return 0;
}

static void leave(struct eng_dev *dev, const union ibv_gid *g)
{
	of_dev(dev)->groups--;
}

static int query(struct eng_dev *dev, struct ibv_port_attr *ret)
{
	*ret = (struct ibv_port_attr){ .state = IBV_PORT_ACTIVE, .active_mtu = IBV_MTU_1024 };
	return 0;
}

static void why(struct eng_dev *dev, enum ut_say level, const char *sentence)
{
	snprintf(fh.said, sizeof(fh.said), "%s", sentence);
}

static const struct eng_dev_ops dev_ops = {
	.progress = progress, .drive = drive, .post_fast = eng_dev_by_round, .mcast_join = join, .mcast_leave = leave,
	.query_port = query, .why = why,
};

static void open_port(struct fake_port *p, const char *name)
{
	struct ibv_device_attr *a = &p->dev.attr.orig_attr;

	CHECK(eng_dev_init(&p->dev, name, &dev_ops, NULL, 1) == 0);
	p->dev.device = p;
	p->cm.dev = &p->dev;
	a->max_qp_rd_atom = 16;
	a->max_qp_init_rd_atom = 8;
	a->max_mcast_grp = 16;
	ut_list_init(&p->eps);
}

void fh_open(void)
{
	beta_full = beta_ops;
	beta_full.spaces = cm_space_bit(CM_PS_TCP);
	open_port(&fh.alpha, "alpha");
	open_port(&fh.beta, "beta");
	put_v4(&fh.alpha.addrs[0], "10.0.0.1");
	inet_pton(AF_INET6, "fd00::1", fh.alpha.addrs[1].addr);
	fh.alpha.n_addrs = 2;
	put_v4(&fh.beta.addrs[0], "10.0.0.1");
	put_v4(&fh.beta.addrs[1], "10.0.0.2");
	fh.beta.n_addrs = 2;
	fh.alpha.next_port = 40000;
	fh.beta.next_port = 50000;
	fh.c = cma_new(&host, 1);
	CHECK(fh.c);
}

void fh_check_empty(void)
{
	CHECK(fh_eps(&fh.alpha) == 0 && fh_eps(&fh.beta) == 0);
	CHECK(fh.alpha.groups == 0 && fh.beta.groups == 0);
}

/* --- short words --- */

struct sockaddr *fh_v4(const char *ip, uint16_t port)
{
	static _Thread_local struct sockaddr_in sin[4];
	static _Thread_local unsigned at;
	struct sockaddr_in *s = &sin[at++ % 4];

	*s = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	CHECK(inet_pton(AF_INET, ip, &s->sin_addr) == 1);
	return (struct sockaddr *)s;
}

struct sockaddr *fh_v6(const char *ip, uint16_t port)
{
	static _Thread_local struct sockaddr_in6 sin[4];
	static _Thread_local unsigned at;
	struct sockaddr_in6 *s = &sin[at++ % 4];

	*s = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(port) };
	CHECK(inet_pton(AF_INET6, ip, &s->sin6_addr) == 1);
	return (struct sockaddr *)s;
}

struct cma_chan *fh_chan(void)
{
	struct cma_chan *ch;

	CHECK(cma_chan_create(fh.c, &ch) == 0);
	return ch;
}

struct cma_id *fh_id(struct cma_chan *ch, enum cm_ps ps, enum ibv_qp_type t)
{
	struct cma_id *id;

	CHECK(cma_id_create(ch, NULL, ps, t, &id) == 0);
	return id;
}

struct cma_id *fh_routed(struct cma_chan *ch)
{
	struct cma_id *id = fh_id(ch, CM_PS_TCP, IBV_QPT_RC);

	CHECK(cma_resolve_addr(id, NULL, fh_v4("10.0.0.9", 7), 1000) == 0);
	CHECK(fh_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, 0)->id == id);
	CHECK(cma_resolve_route(id, 1000) == 0);
	CHECK(fh_expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED, 0)->id == id);
	return id;
}

struct cma_id *fh_connected(struct cma_chan *ch)
{
	struct cma_id *id = fh_routed(ch);
	struct cm_param p = fh_param();
	struct fake_ep *e = ut_container(fh.alpha.eps.prev, struct fake_ep, node);

	CHECK(cma_connect(id, &p) == 0);
	fh_raise(&fh.alpha, e, CM_EV_ESTABLISHED, 0);
	fh_expect(ch, RDMA_CM_EVENT_ESTABLISHED, 0);
	return id;
}

static bool readable(struct cma_chan *ch)
{
	struct pollfd p = { .fd = cma_chan_fd(ch), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

struct cma_event *fh_expect(struct cma_chan *ch, int type, int status)
{
	static struct cma_event e;

	CHECK(readable(ch));
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		CHECK(cma_event_next(ch, false, &e) == -EBUSY && readable(ch));
	CHECK(cma_event_next(ch, type == RDMA_CM_EVENT_CONNECT_REQUEST, &e) == 0);
	CHECK_MSG(e.type == type && e.status == status, "got event %d, status %d; not %d, %d",
		  e.type, e.status, type, status);
	return &e;
}

void fh_expect_none(struct cma_chan *ch)
{
	struct cma_event e;

	CHECK(!readable(ch));
	CHECK(cma_event_next(ch, true, &e) == -EAGAIN);
}

int fh_eps(struct fake_port *p)
{
	struct fake_ep *e;
	int n = 0;

	ut_list_each(e, &p->eps, node)
		n++;
	return n;
}

int fh_listening(struct fake_port *p)
{
	struct fake_ep *e;
	int n = 0;

	ut_list_each(e, &p->eps, node)
		n += e->listening;
	return n;
}

struct fake_ep *fh_ep(struct fake_port *p)
{
	CHECK(fh_eps(p) == 1);
	return ut_list_first(&p->eps, struct fake_ep, node);
}

struct fake_ep *fh_listener(struct fake_port *p, const char *ip)
{
	struct link_end want;
	struct fake_ep *e;

	put_v4(&want, ip);
	ut_list_each(e, &p->eps, node)
		if (e->listening && memcmp(e->ep.local.addr, want.addr, 16) == 0)
			return e;
	return NULL;
}

void fh_raise(struct fake_port *p, struct fake_ep *e, enum cm_event_type type, int status)
{
	struct cm_event ev = { .type = type, .status = status, .ep = &e->ep };

	ut_lock(&p->dev.lock);
	p->cm.user->event(&p->cm, &ev);
	ut_unlock(&p->dev.lock);
}

int fh_request(struct fake_port *p, struct fake_ep *listener, enum ibv_qp_type t,
	       struct fake_ep **ret)
{
	struct cm_bind b = { .local = listener->ep.local };
	struct cm_event ev = {
		.type = CM_EV_REQUEST, .listener = &listener->ep,
		.param = { .qp_type = t, .private_data = "hello", .private_len = 5,
			   .responder_resources = 3, .initiator_depth = 2 },
	};
	int r;

	ut_lock(&p->dev.lock);
	CHECK(add(&p->cm, &b, false, &ev.ep) == 0);
	put_v4(&ev.ep->remote, "10.0.0.7");
	ev.ep->remote.port = 999;
	r = p->cm.user->event(&p->cm, &ev);
	if (r)
		m_destroy(ev.ep);
	else if (ret)
		*ret = of_ep(ev.ep);
	ut_unlock(&p->dev.lock);
	return r;
}

void fh_occupy(struct fake_port *p, const char *ip, uint16_t port)
{
	struct cm_bind b = { 0 };
	struct cm_ep *ep;

	put_v4(&b.local, ip);
	b.local.port = port;
	CHECK(m_bind(&p->cm, &b, &ep) == 0);
}

struct cm_param fh_param(void)
{
	return (struct cm_param){ .responder_resources = 1, .initiator_depth = 1,
				  .retry_count = 7, .qp_type = IBV_QPT_RC, .qpn = 5 };
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "support/cmworld.h"

#include "support/check.h"
#include "util/clock.h"

static struct cmw *world; /* the carrier has only the adapter to go by */

static int side_of(const struct eng_dev *dev)
{
	return dev == &world->sim.host[1].dev;
}

/* --- the carrier --- */

static void queue(int to, const uint8_t *mad, const uint8_t src[16], const uint8_t dst[16],
		  uint64_t delay)
{
	struct cmw_mad *m = calloc(1, sizeof(*m)), **at = &world->queue;

	CHECK(m);
	m->at = world->now + delay;
	m->to = to;
	memcpy(m->mad, mad, sizeof(m->mad));
	memcpy(m->src, src, 16);
	memcpy(m->dst, dst, 16);
	while (*at && (*at)->at <= m->at)
		at = &(*at)->next;
	m->next = *at;
	*at = m;
}

static bool chance(void)
{
	return world->rate && ut_rng_below(&world->rng, 1000) < world->rate;
}

static int carry(struct eng_dev *dev, const struct eng_av *av, const uint8_t mad[WIRE_MAD_BYTES])
{
	int from = side_of(dev), to = -1;
	const uint8_t *src = world->side[from].host->addr;
	unsigned attr = (unsigned)wire_get_MAD_attr_id(mad);
	bool hit = ++world->sent == world->fault_at;
	uint64_t delay = CMW_DELAY;
	uint8_t copy[WIRE_MAD_BYTES];

	memcpy(world->last_mad, mad, WIRE_MAD_BYTES);
	CHECK(attr >= 0x10 && attr <= 0x1a);
	world->sent_of[attr - 0x10]++;
	for (int i = 0; i < 2; i++)
		if (!memcmp(av->dgid, world->side[i].host->addr, 16))
			to = i;
	if (to < 0 || world->side[to].deaf || attr == world->lose_attr)
		return 0;
	if ((hit && world->fault == CMW_LOSE) || chance())
		return 0;
	if ((hit && world->fault == CMW_LATER) || chance())
		delay = CMW_LATE + ut_rng_below(&world->rng, 1000);
	memcpy(copy, mad, sizeof(copy));
	if (hit && world->fault == CMW_SPOIL)
		copy[world->spoil_at] ^= world->spoil;
	queue(to, copy, src, av->dgid, delay);
	if ((hit && world->fault == CMW_DOUBLE) || chance())
		queue(to, copy, src, av->dgid, delay + 5);
	return 0;
}

static int claim(struct eng_dev *dev, const uint8_t addr[16], uint64_t service)
{
	struct cmw_side *s = &world->side[side_of(dev)];

	for (unsigned i = 0; i < s->n_services; i++)
		if (s->service[i] == service)
			return -EADDRINUSE;
	if (s->n_services == CMW_SERVICES)
		return -EMFILE;
	s->service[s->n_services++] = service;
	return 0;
}

static void unclaim(struct eng_dev *dev, const uint8_t addr[16], uint64_t service)
{
	struct cmw_side *s = &world->side[side_of(dev)];

	for (unsigned i = 0; i < s->n_services; i++)
		if (s->service[i] == service) {
			s->service[i] = s->service[--s->n_services];
			return;
		}
	CHECK_MSG(0, "a service was given back that was not claimed");
}

static int pass_on(struct eng_dev *dev, const struct gsi_rx *rx, uint64_t service)
{
	world->side[side_of(dev)].passed_on++;
	return world->side[side_of(dev)].pass_result;
}

/* The test plays the transports that report of the peer: it counts their numbers. */
static int probe(struct eng_dev *dev, uint32_t qpn, uint32_t peer, uint64_t since)
{
	struct cmw_side *s = &world->side[side_of(dev)];

	s->probes++;
	return s->heard > since;
}

static void gone(struct eng_dev *dev, uint32_t qpn, uint32_t peer)
{
	world->side[side_of(dev)].gone++;
}

static int record(struct eng_dev *dev, const struct ibcm_record *t)
{
	struct cmw_side *s = &world->side[side_of(dev)];

	for (int i = 0; i < CMW_RECORDS; i++)
		if (!s->record[i].local_id) {
			s->record[i] = *t;
			return i;
		}
	return -ENOSPC;
}

static void untie(struct eng_dev *dev, int number)
{
	struct cmw_side *s = &world->side[side_of(dev)];

	CHECK(number >= 0 && number < CMW_RECORDS && s->record[number].local_id);
	s->record[number].local_id = 0;
}

static bool same_host(struct eng_dev *dev, const uint8_t addr[16])
{
	return !world->strangers || !memcmp(addr, world->side[side_of(dev)].host->addr, 16);
}

static bool is_lid_of(int side, unsigned lid)
{
	return (lid & ~1u) == world->lid + 2u * (unsigned)side;
}

static int along(struct eng_dev *dev, const uint8_t local[16], const uint8_t remote[16], const struct cm_path *path,
		 struct ibv_ah_attr *ah)
{
	int side = side_of(dev), peer = !memcmp(remote, world->side[1].host->addr, 16);

	if (!world->lid)
		return -EOPNOTSUPP;
	if (!is_lid_of(side, path->slid) || !is_lid_of(peer, path->dlid) || path->sl > 15)
		return -EINVAL;
	ah->dlid = path->dlid;
	ah->src_path_bits = path->slid & 1;
	ah->sl = path->sl;
	return 0;
}

static int load(struct eng_dev *dev, uint32_t qpn, uint32_t peer, const struct ibv_qp_attr *attr)
{
	struct cmw_side *s = &world->side[side_of(dev)];

	if (s->load_result)
		return s->load_result;
	s->loads++;
	s->loaded = *attr;
	s->loaded_qpn = qpn;
	return 0;
}

static const struct ibcm_carrier carrier = {
	.way = ibcm_default_way,
	.along = along,
	.load = load,
	.gid = ibcm_default_gid,
	.send = carry, .claim = claim, .unclaim = unclaim, .pass_on = pass_on,
	.probe = probe, .record = record, .untie = untie, .gone = gone, .same_host = same_host,
};

/* --- users --- */

static struct cmw_user *user_new(struct cmw *w, int side)
{
	struct cmw_user *u = calloc(1, sizeof(*u));

	CHECK(u && w->n_users < sizeof(w->users) / sizeof(*w->users));
	u->w = w;
	u->side = side;
	w->users[w->n_users++] = u;
	return u;
}

void cmw_destroy(struct cmw_user *u)
{
	struct cm_ep *ep = u->ep;

	u->ep = NULL;
	if (ep)
		ep->port->ops->destroy(ep);
}

static void note(struct cmw_user *u, const struct cm_event *ev)
{
	u->heard[ev->type]++;
	u->status = ev->status;
	u->last = *ev;
	CHECK(ev->param.private_len <= sizeof(u->data));
	if (ev->param.private_len)
		memcpy(u->data, ev->param.private_data, ev->param.private_len);
	u->last.param.private_data = u->data;
	CHECK_MSG(u->heard[ev->type] == 1 || ev->type == CM_EV_ALTERNATE, "event %d twice on side %d", ev->type, u->side);
}

static void check_order(const struct cmw_user *u, enum cm_event_type type)
{
	const unsigned *h = u->heard;
	bool failed = h[CM_EV_REJECTED] || h[CM_EV_UNREACHABLE] || h[CM_EV_ERROR];

	CHECK_MSG(!h[CM_EV_TIMEWAIT_EXIT], "event %d after the last", type);
	CHECK_MSG(!failed, "event %d after a failure", type);
	switch (type) {
	case CM_EV_ESTABLISHED:
	case CM_EV_RESPONSE:
		CHECK(!h[CM_EV_DISCONNECTED] && !(type == CM_EV_RESPONSE && h[CM_EV_ESTABLISHED]));
		break;
	case CM_EV_TIMEWAIT_EXIT:
		CHECK(h[CM_EV_DISCONNECTED]);
		break;
	case CM_EV_ALTERNATE:
		CHECK(h[CM_EV_ESTABLISHED] && !h[CM_EV_DISCONNECTED]);
		break;
	default:
		CHECK(!h[CM_EV_DISCONNECTED]);
	}
}

static struct cm_param reply_of(struct cmw_side *s, enum ibv_qp_type type)
{
	struct cm_param p = cmw_param(type);

	p.private_data = s->reply;
	p.private_len = s->reply_len;
	return p;
}

static int take_request(struct cmw_side *s, const struct cm_event *ev)
{
	const struct cm_ops *ops = ev->ep->port->ops;
	struct cm_param p = reply_of(s, ev->param.qp_type);
	struct cmw_user *u;

	if (s->on_request == CMW_REFUSE)
		return -1;
	u = user_new(s->w, (int)(s - s->w->side));
	u->ep = ev->ep;
	u->ep->user = u;
	u->passive = true;
	s->newest = u;
	note(u, ev);
	memcpy(u->request, u->data, sizeof(u->request));
	if (s->on_request == CMW_ACCEPT)
		CHECK(ops->accept(u->ep, &p) == 0);
	else if (s->on_request == CMW_REJECT)
		CHECK(ops->reject(u->ep, CM_REJ_CONSUMER, s->reply, s->reply_len) == 0);
	return 0;
}

static void respond(struct cmw_side *s, struct cmw_user *u)
{
	if (s->on_response == CMW_ACCEPT)
		CHECK(u->ep->port->ops->establish(u->ep) == 0);
	else if (s->on_response == CMW_REJECT)
		CHECK(u->ep->port->ops->reject(u->ep, CM_REJ_CONSUMER, "no", 2) == 0);
}

static int on_event(struct cm_port *p, const struct cm_event *ev)
{
	struct cmw_side *s = ut_container(p, struct cmw_side, port);
	struct cmw_user *u = ev->ep->user;

	if (ev->type == CM_EV_REQUEST)
		return take_request(s, ev);
	CHECK_MSG(u && u->ep == ev->ep, "event %d for a destroyed endpoint", ev->type);
	check_order(u, ev->type);
	note(u, ev);
	switch (ev->type) {
	case CM_EV_RESPONSE:
		respond(s, u);
		break;
	case CM_EV_ESTABLISHED:
		if (s->on_established == CMW_HANG_UP && u->last.param.qp_type != IBV_QPT_UD)
			CHECK(p->ops->disconnect(u->ep) == 0);
		break;
	case CM_EV_DISCONNECTED:
		if (s->destroy_at_end)
			cmw_destroy(u);
		else if (s->on_disconnected == CMW_ANSWER)
			CHECK(p->ops->disconnect(u->ep) == 0);
		break;
	case CM_EV_ALTERNATE:
		break;
	default:
		u->ended = true;
		if (s->destroy_at_end)
			cmw_destroy(u);
	}
	return 0;
}

static const struct cm_user user_ops = { .event = on_event };

/* --- the world --- */

static void open_family(struct cmw *w, uint64_t seed, bool ipv6)
{
	memset(w, 0, sizeof(*w));
	world = w;
	w->rng.state = seed;
	w->now = UT_S;
	sim_world_open(&w->sim, &(struct sim_options){ .seed = seed, .hosts = 2,
							.ipv6 = ipv6 });
	for (int i = 0; i < 2; i++) {
		struct cmw_side *s = &w->side[i];
		struct ibcm_config cfg = { .carrier = &carrier, .seed = seed + 17 * i,
					   .ca_guid = 0x0200000000000001ull + i, .mtu_max = 1024,
					   .port_min = 32768, .port_max = 32799,
					   .port_privileged = 1024 };

		s->w = w;
		s->host = &w->sim.host[i];
		eng_dev_held(&s->host->dev);
		s->host->dev.qpn_fixed = 0x400000u * (i + 1);
		s->port.user = &user_ops;
		CHECK(ibcm_init(&s->port, &s->host->dev, &cfg) == 0);
	}
}

void cmw_open(struct cmw *w, uint64_t seed)
{
	open_family(w, seed, false);
}

void cmw_open6(struct cmw *w, uint64_t seed)
{
	open_family(w, seed, true);
}

struct ibcm *cmw_cm(struct cmw *w, int side)
{
	return w->side[side].port.manager;
}

static void check_empty(struct cmw *w, int side)
{
	struct ibcm *cm = cmw_cm(w, side);

	CHECK_MSG(ut_list_empty(&cm->eps), "side %d keeps an endpoint in state %d", side,
		  ut_container(cm->eps.next, struct ibcm_ep, all)->state);
	CHECK(cm->n_half == 0 && cm->n_gone == 0 && cm->ids.used == 0);
	CHECK(cm->heap.n == 0 && cm->heap.reserved == 0);
	CHECK(w->side[side].n_services == 0);
	for (int i = 0; i < CMW_RECORDS; i++)
		CHECK(!w->side[side].record[i].local_id);
	for (unsigned i = 0; i < IBCM_BUCKETS; i++)
		CHECK(cm->half_by_peer[i] == 0);
}

void cmw_close(struct cmw *w)
{
	for (unsigned i = 0; i < w->n_users; i++)
		cmw_destroy(w->users[i]);
	w->rate = 0;
	w->lose_attr = 0;
	cmw_run(w, 300 * UT_S, NULL);
	for (int i = 0; i < 2; i++) {
		check_empty(w, i);
		ibcm_fini(&w->side[i].port);
	}
	for (unsigned i = 0; i < w->n_users; i++)
		free(w->users[i]);
	CHECK(!w->queue);
	sim_world_close(&w->sim);
}

static void deliver(struct cmw *w)
{
	struct cmw_mad *m = w->queue;
	struct gsi_rx rx = { .mad = m->mad, .pkey = 0xffff };

	w->queue = m->next;
	memcpy(rx.src, m->src, 16);
	memcpy(rx.dst, m->dst, 16);
	if (!w->side[m->to].deaf)
		ibcm_receive(&w->side[m->to].port, &rx, w->now);
	free(m);
}

bool cmw_run(struct cmw *w, uint64_t limit, bool (*done)(struct cmw *))
{
	uint64_t end = w->now + limit;

	for (unsigned rounds = 0;; rounds++) {
		uint64_t next = UT_NEVER;

		CHECK_MSG(rounds < 10000000, "it never ends");
		if (done && done(w))
			return true;
		for (int i = 0; i < 2; i++) {
			uint64_t at = ibcm_deadline(&w->side[i].port);

			next = at < next ? at : next;
		}
		if (w->queue && w->queue->at < next)
			next = w->queue->at;
		if (next > end || next == UT_NEVER)
			break;
		w->now = next > w->now ? next : w->now;
		while (w->queue && w->queue->at <= w->now)
			deliver(w);
		for (int i = 0; i < 2; i++)
			ibcm_run(&w->side[i].port, w->now);
	}
	w->now = end;
	return false;
}

void cmw_inject_from(struct cmw *w, int to, const uint8_t mad[WIRE_MAD_BYTES],
		     const uint8_t src[16])
{
	queue(to, mad, src, w->side[to].host->addr, 0);
}

void cmw_inject(struct cmw *w, int to, const uint8_t mad[WIRE_MAD_BYTES])
{
	cmw_inject_from(w, to, mad, w->side[!to].host->addr);
}

struct cm_param cmw_param(enum ibv_qp_type type)
{
	static uint32_t qpn;

	qpn = (qpn + 1) & 0xffff;
	return (struct cm_param){ .qp_type = type, .qpn = 0x400000 + 0x100 + qpn,
				  .responder_resources = 4, .initiator_depth = 3,
				  .retry_count = 7, .rnr_retry_count = 6, .flow_control = true };
}

static struct cmw_user *make(struct cmw *w, int side, uint64_t service, bool bound)
{
	struct cmw_side *s = &w->side[side];
	struct cm_bind b = { .service = service, .opt.tos = -1 };
	struct cmw_user *u = user_new(w, side);
	int r;

	memcpy(b.local.addr, s->host->addr, 16);
	r = (bound ? s->port.ops->bind : s->port.ops->create)(&s->port, &b, &u->ep);
	CHECK_MSG(r == 0, "result %d", r);
	u->ep->user = u;
	return u;
}

struct cmw_user *cmw_listen_on(struct cmw *w, int side, enum cm_ps ps, uint16_t port, int backlog)
{
	struct cmw_user *u = make(w, side, cm_ip_service(ps, port), true);

	CHECK(u->ep->port->ops->listen(u->ep, backlog) == 0);
	return u;
}

struct cmw_user *cmw_listen(struct cmw *w, enum cm_ps ps, uint16_t port, int backlog)
{
	return cmw_listen_on(w, 1, ps, port, backlog);
}

struct cmw_user *cmw_connect_to(struct cmw *w, int from, int to, enum cm_ps ps, uint16_t port,
				const struct cm_param *param)
{
	struct cmw_user *u = make(w, from, cm_ip_service(ps, 0), false);
	struct link_end end = { .port = port };
	int r;

	memcpy(end.addr, w->side[to].host->addr, 16);
	if (w->path.pkey)
		u->ep->path = w->path;
	u->ep->alternate = w->alternate;
	r = u->ep->port->ops->connect(u->ep, &end, param);
	CHECK_MSG(r == 0, "result %d", r);
	return u;
}

struct cmw_user *cmw_connect(struct cmw *w, enum cm_ps ps, uint16_t port,
			     const struct cm_param *param)
{
	return cmw_connect_to(w, 0, 1, ps, port, param);
}

enum ibcm_state cmw_state(const struct cmw_user *u)
{
	return u->ep ? (enum ibcm_state)ibcm_of(u->ep)->state : IBCM_OVER;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "support/mpaworld.h"

#include "engine/event.h"
#include "engine/mkey.h"
#include "engine/pd.h"
#include "support/check.h"
#include "support/engine.h"
#include "util/clock.h"
#include "util/heap.h"

/* --- the stand-in for iWARP --- */

static void finish(struct mw_qp *f, int error, bool abort)
{
	struct link_stream *s = f->stream;
	const struct proto_stream_owner *owner = f->owner;

	if (!s)
		return;
	f->stream = NULL;
	f->owner = NULL;
	atomic_store(&f->qp->state, IBV_QPS_ERR);
	s->place->ops->close(s, abort);
	if (owner)
		owner->ended(f->arg, error, 0);
}

static size_t qp_received(struct link_stream *s, const uint8_t *data, size_t off, size_t len,
			  uint64_t now)
{
	struct mw_qp *f = s->user;

	for (size_t i = 0; i < len && f->n < sizeof(f->got); i++)
		f->got[f->n++] = data[i];
	if (!f->params.initiator && !f->ready_told && f->owner) {
		f->ready_told = true;
		f->owner->ready(f->arg, now);
	}
	return len;
}

static void qp_nothing(struct link_stream *s, uint64_t now)
{
}

static void qp_closed(struct link_stream *s, int error, uint64_t now)
{
	finish(s->user, error, false);
}

static const struct link_stream_user qp_user = {
	.received = qp_received, .writable = qp_nothing, .connected = qp_nothing,
	.closed = qp_closed,
};

/* Whole, unless the test takes the room or the stream away. */
static void fake_send(struct link_stream *s, const void *p, size_t n)
{
	bool whole = pipe_of(s)->room >= n && !pipe_of(s)->error && !pipe_of(s)->fin;
	bool failing = ut_container(s->place, struct pipe_place, s)->net->failing;
	ssize_t r = s->place->ops->send(s, p, n);

	CHECK(!whole || failing || r == (ssize_t)n);
}

static int attach(struct eng_qp *qp, struct link_stream *s, const struct proto_stream_params *p,
		  const struct proto_stream_owner *owner, void *arg)
{
	struct mw_qp *f = eng_qp_proto(qp);

	if (f->attached)
		return -EISCONN;
	*f = (struct mw_qp){ .qp = qp, .stream = s, .params = *p, .owner = owner, .arg = arg,
			     .attached = 1, .silent = f->silent };
	atomic_store(&qp->state, IBV_QPS_RTS);
	s->user_ops = &qp_user;
	s->user = f;
	if (p->initiator && p->rtr && !f->silent && pipe_of(s)->mate)
		fake_send(s, p->rtr == PROTO_RTR_WRITE ? "W" : "R", 1);
	return 0;
}

static void disown(struct eng_qp *qp)
{
	((struct mw_qp *)eng_qp_proto(qp))->owner = NULL;
}

static int disconnect(struct eng_qp *qp)
{
	struct mw_qp *f = eng_qp_proto(qp);

	if (!f->stream)
		return -ENOTCONN;
	finish(f, 0, false);
	return 0;
}

static void terminate(struct eng_qp *qp, uint8_t code)
{
	struct mw_qp *f = eng_qp_proto(qp);

	CHECK(f->stream);
	f->terminated = code;
	if (pipe_of(f->stream)->mate)
		fake_send(f->stream, (uint8_t[]){ 'T', code }, 2);
	finish(f, 0, false);
}

static const struct proto_stream_ops stream_ops = {
	.attach = attach, .disown = disown, .disconnect = disconnect, .terminate = terminate,
};

static int qp_init(struct eng_qp *qp)
{
	((struct mw_qp *)eng_qp_proto(qp))->qp = qp;
	return 0;
}

static void qp_fini(struct eng_qp *qp)
{
	finish(eng_qp_proto(qp), 0, true);
}

static int qp_check(struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask,
		    enum ibv_qp_state to)
{
	return 0;
}

static void qp_moved(struct eng_qp *qp, enum ibv_qp_state from, int mask)
{
	if (eng_qp_state(qp) == IBV_QPS_ERR)
		finish(eng_qp_proto(qp), 0, true);
}

static void qp_state(struct eng_qp *qp)
{
}

static void qp_kick(struct eng_qp *qp)
{
}

static int ah_check(struct eng_dev *dev, const struct ibv_ah_attr *attr)
{
	return -EINVAL;
}

static const struct eng_proto_ops proto = {
	.name = "stand-in", .qp_size = sizeof(struct mw_qp),
	.qp_types = 1u << IBV_QPT_RC | 1u << IBV_QPT_UC, .qp_init = qp_init, .qp_fini = qp_fini,
	.qp_check = qp_check, .qp_moved = qp_moved, .qp_state = qp_state, .qp_kick = qp_kick, .ah_check = ah_check,
};

/* --- the adapter --- */

static int dev_none(struct eng_dev *dev)
{
	return 0;
}

static int dev_wait(struct eng_dev *dev, struct pollfd *fds, unsigned n, uint64_t until)
{
	return 0;
}

static int dev_attach(struct eng_dev *dev)
{
	eng_dev_held(dev);
	dev->qpn_fixed = 0;
	dev->qpn_mask = 0xffffff;
	return 0;
}

static int dev_join(struct eng_dev *dev, const union ibv_gid *g)
{
	return -EOPNOTSUPP;
}

static void dev_leave(struct eng_dev *dev, const union ibv_gid *g)
{
}

static void dev_why(struct eng_dev *dev, enum ut_say level, const char *sentence)
{
	struct mw_host *h = ut_container(dev, struct mw_host, dev);

	snprintf(h->said, sizeof(h->said), "%s", sentence);
}

static const struct eng_dev_ops dev_ops = {
	.progress = dev_none, .post_fast = eng_dev_by_round, .wait = dev_wait, .wait_comp = eng_dev_wait_comp, .poll = eng_dev_poll_by_round, .attach = dev_attach,
	.mcast_join = dev_join, .mcast_leave = dev_leave, .query_port = eng_port_known,
	.why = dev_why,
};

/* --- the user --- */

static int answer(struct mw_host *h, struct cm_ep *ep)
{
	struct cm_param p = h->accept;

	eng_dev_held(&h->dev);
	switch (h->answer) {
	case MW_ACCEPT:
		if (!p.qpn)
			p.qpn = mw_qp_new(h, IBV_QPT_RC)->qpn;
		CHECK(ep->port->ops->accept(ep, &p) == 0);
		return 0;
	case MW_REJECT:
		CHECK(ep->port->ops->reject(ep, CM_REJ_CONSUMER, p.private_data,
					    p.private_len) == 0);
		return 0;
	case MW_REFUSE:
		return -ENOMEM;
	case MW_DESTROY:
		ep->port->ops->destroy(ep);
		return 0;
	default:
		return 0;
	}
}

static int on_event(struct cm_port *p, const struct cm_event *ev)
{
	struct mw_host *h = ut_container(p, struct mw_host, port);
	struct mw_event *x = &h->w->ev[h->w->n++];

	CHECK(h->w->n < MPA_EVENTS);
	x->h = h;
	x->type = ev->type;
	x->status = ev->status;
	x->ep = ev->ep;
	x->listener = ev->listener;
	x->param = ev->param;
	CHECK(ev->ep->port == p);
	CHECK(ev->param.private_len <= sizeof(x->data));
	if (ev->param.private_len)
		memcpy(x->data, ev->param.private_data, ev->param.private_len);
	if (h->destroys && ev->type == h->destroy_on) {
		p->ops->destroy(ev->ep);
		return 0;
	}
	return ev->type == CM_EV_REQUEST ? answer(h, ev->ep) : 0;
}

static const struct cm_user user = { .event = on_event };

/* --- the world --- */

struct mpa_config mw_config(void)
{
	return (struct mpa_config){ .seed = 7, .crc = true, .revision = 2, .rd_max = 16,
				    .rtr = 1u << PROTO_RTR_WRITE | 1u << PROTO_RTR_READ };
}

static void host_open(struct mpa_world *w, int i, const struct mpa_config *c)
{
	struct mpa_config cfg = c ? *c : mw_config();
	struct mw_host *h = &w->h[i];
	struct ibv_device_attr *a = &h->dev.attr.orig_attr;

	h->w = w;
	h->place = &w->net.place[i];
	h->accept.responder_resources = h->accept.initiator_depth = 4;
	CHECK(eng_dev_init(&h->dev, "mpa", &dev_ops, &proto, 100 + (uint64_t)i) == 0);
	a->max_qp = a->max_cq = a->max_pd = 65536;
	a->max_qp_wr = a->max_cqe = 64;
	a->max_sge = 4;
	CHECK(eng_ctx_open(&h->dev, &h->ctx) == 0);
	CHECK(eng_pd_alloc(&h->dev, &h->pd) == 0);
	CHECK(eng_cq_create(h->ctx, 16, NULL, false, &h->cq) == 0);
	cfg.streams = &h->place->s;
	cfg.proto = &stream_ops;
	h->port.user = &user;
	CHECK(mpa_init(&h->port, &h->dev, &cfg) == 0);
}

struct mpa_world *mw_open(const struct mpa_config *a, const struct mpa_config *b)
{
	struct mpa_world *w = calloc(1, sizeof(*w));

	CHECK(w);
	w->now = 1000 * UT_S;
	pipes_open(&w->net, 3);
	host_open(w, 0, a);
	host_open(w, 1, b);
	return w;
}

static void host_close(struct mw_host *h)
{
	ut_lock(&h->dev.lock);
	mpa_fini(&h->port);
	ut_unlock(&h->dev.lock);
	for (int i = 0; i < h->nqps; i++)
		CHECK(eng_qp_destroy(h->qps[i]) == 0);
	CHECK(eng_cq_destroy(h->cq) == 0);
	CHECK(eng_pd_dealloc(h->pd) == 0);
	eng_ctx_close(h->ctx);
	eng_dev_fini(&h->dev);
}

void mw_close(struct mpa_world *w)
{
	struct pipe_stream *s;

	host_close(&w->h[0]);
	host_close(&w->h[1]);
	ut_list_each(s, &w->net.place[MPA_RAW].streams, node)
		if (!s->dead)
			w->net.live--;
	CHECK_MSG(w->net.live == 0, "%u streams were forgotten", w->net.live);
	for (int i = 0; i < 2; i++)
		CHECK(ut_list_empty(&w->net.place[i].listeners));
	pipes_close(&w->net);
	free(w);
}

static int round_of(struct mw_host *h)
{
	int did;

	ut_lock(&h->dev.lock);
	did = h->place->s.ops->poll(&h->place->s, h->w->now);
	if (mpa_deadline(&h->port) <= h->w->now)
		did += mpa_run(&h->port, h->w->now);
	ut_unlock(&h->dev.lock);
	return did;
}

void mw_run(struct mpa_world *w)
{
	int rounds = 0, did;

	do {
		did = round_of(&w->h[0]);
		did += round_of(&w->h[1]);
		CHECK(++rounds < 1000000);
	} while (did);
}

void mw_pass(struct mpa_world *w, uint64_t ns)
{
	uint64_t end = w->now + ns;

	for (;;) {
		uint64_t a, b;

		mw_run(w);
		a = mpa_deadline(&w->h[0].port);
		b = mpa_deadline(&w->h[1].port);
		if (b < a)
			a = b;
		if (a > end)
			break;
		w->now = a;
	}
	w->now = end;
	mw_run(w);
}

struct eng_qp *mw_qp_new(struct mw_host *h, enum ibv_qp_type type)
{
	struct eng_qp_spec spec = { .type = type, .pd = h->pd, .send_cq = h->cq, .recv_cq = h->cq,
				    .cap = { .max_send_wr = 1, .max_recv_wr = 1,
					     .max_send_sge = 1, .max_recv_sge = 1 } };
	struct eng_qp *qp;

	CHECK(h->nqps < (int)(sizeof(h->qps) / sizeof(*h->qps)));
	/* The engine takes the lock itself; events call us with it held. */
	ut_unlock(&h->dev.lock);
	CHECK(eng_qp_create(h->ctx, &spec, &qp) == 0);
	ut_lock(&h->dev.lock);
	atomic_store(&qp->state, IBV_QPS_INIT);
	h->qps[h->nqps++] = qp;
	return qp;
}

struct mw_qp *mw_qp(struct mw_host *h, uint32_t qpn)
{
	struct eng_qp *qp;

	ut_lock(&h->dev.lock);
	qp = eng_qp_find(&h->dev, qpn);
	ut_unlock(&h->dev.lock);
	return qp ? eng_qp_proto(qp) : NULL;
}

struct mw_host *mw_host_of(struct cm_ep *ep)
{
	return ut_container(ep->port, struct mw_host, port);
}

static struct cm_bind bind_of(struct mw_host *h)
{
	struct cm_bind b = { .service = cm_ip_service(CM_PS_TCP, 0), .opt.tos = -1 };

	memcpy(b.local.addr, h->place->addr, 16);
	return b;
}

struct cm_ep *mw_listen(struct mw_host *h, int backlog)
{
	struct cm_bind b = bind_of(h);
	struct cm_ep *ep;

	ut_lock(&h->dev.lock);
	CHECK(h->port.ops->bind(&h->port, &b, &ep) == 0);
	CHECK(ep->local.port && ep->service == cm_ip_service(CM_PS_TCP, ep->local.port));
	CHECK(h->port.ops->listen(ep, backlog) == 0);
	ut_unlock(&h->dev.lock);
	return ep;
}

struct cm_ep *mw_create(struct mw_host *h)
{
	struct cm_bind b = bind_of(h);
	struct cm_ep *ep;

	ut_lock(&h->dev.lock);
	CHECK(h->port.ops->create(&h->port, &b, &ep) == 0);
	ut_unlock(&h->dev.lock);
	return ep;
}

int mw_connect(struct cm_ep *ep, const struct link_end *to, struct cm_param *param)
{
	struct mw_host *h = mw_host_of(ep);
	int r;

	ut_lock(&h->dev.lock);
	if (!param->qpn)
		param->qpn = mw_qp_new(h, IBV_QPT_RC)->qpn;
	r = ep->port->ops->connect(ep, to, param);
	ut_unlock(&h->dev.lock);
	return r;
}

int mw_accept(struct cm_ep *ep, struct cm_param *param)
{
	struct mw_host *h = mw_host_of(ep);
	int r;

	ut_lock(&h->dev.lock);
	if (!param->qpn)
		param->qpn = mw_qp_new(h, IBV_QPT_RC)->qpn;
	r = ep->port->ops->accept(ep, param);
	ut_unlock(&h->dev.lock);
	return r;
}

int mw_reject(struct cm_ep *ep, const void *data, uint16_t len)
{
	struct mw_host *h = mw_host_of(ep);
	int r;

	ut_lock(&h->dev.lock);
	r = ep->port->ops->reject(ep, CM_REJ_CONSUMER, data, len);
	ut_unlock(&h->dev.lock);
	return r;
}

int mw_disconnect(struct cm_ep *ep)
{
	struct mw_host *h = mw_host_of(ep);
	int r;

	ut_lock(&h->dev.lock);
	r = ep->port->ops->disconnect(ep);
	ut_unlock(&h->dev.lock);
	return r;
}

void mw_destroy(struct cm_ep *ep)
{
	struct mw_host *h = mw_host_of(ep);

	ut_lock(&h->dev.lock);
	ep->port->ops->destroy(ep);
	ut_unlock(&h->dev.lock);
}

struct mw_event *mw_want(struct mpa_world *w, int host, enum cm_event_type type, int status)
{
	struct mw_event *x = &w->ev[w->seen];

	CHECK_MSG(w->seen < w->n, "no event, wanted type %d at host %d", type, host);
	w->seen++;
	CHECK_MSG(x->h == &w->h[host] && x->type == type && x->status == status,
		  "event %d status %d at host %d, wanted %d status %d at host %d", x->type,
		  x->status, (int)(x->h - w->h), type, status, host);
	return x;
}

void mw_swap(struct mpa_world *w, int first)
{
	struct mw_event x;

	CHECK(w->n - w->seen >= 2);
	x = w->ev[w->seen];
	if (x.h == &w->h[first])
		return;
	w->ev[w->seen] = w->ev[w->seen + 1];
	w->ev[w->seen + 1] = x;
}

void mw_quiet(struct mpa_world *w)
{
	CHECK_MSG(w->seen == w->n, "event %d status %d at host %d was not awaited",
		  w->ev[w->seen].type, w->ev[w->seen].status, (int)(w->ev[w->seen].h - w->h));
}

struct link_end mw_raw_listen(struct mpa_world *w)
{
	struct link_streams *s = &w->net.place[MPA_RAW].s;
	struct link_end end = { .port = 0 };
	struct link_listener *l;

	memcpy(end.addr, w->net.place[MPA_RAW].addr, 16);
	CHECK(s->ops->bind(s, &end, false, false, &l) == 0);
	CHECK(s->ops->listen(l, 0) == 0);
	return l->local;
}

size_t mw_hex(const char *text, uint8_t *out)
{
	size_t n = 0;
	unsigned v;

	for (; *text; text += 2) {
		CHECK(sscanf(text, "%2x", &v) == 1);
		out[n++] = (uint8_t)v;
	}
	return n;
}

void mw_put(struct pipe_stream *s, const char *hex)
{
	uint8_t bytes[2048];

	pipe_put(s, bytes, mw_hex(hex, bytes));
}

void mw_got(struct pipe_stream *s, const char *hex)
{
	uint8_t want[2048];
	size_t n = mw_hex(hex, want);

	if (s->in_len != n || memcmp(s->in, want, n)) {
		fprintf(stderr, "got ");
		for (size_t i = 0; i < s->in_len; i++)
			fprintf(stderr, "%02x", s->in[i]);
		fprintf(stderr, ", wanted %s\n", hex);
		exit(1);
	}
	s->in_len = 0;
}

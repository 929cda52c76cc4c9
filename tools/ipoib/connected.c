/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "connected.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/ib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "util/clock.h"
#include "wire/ipoib_fields.h"

#define SENDS CONNECTED_SENDS
#define SENDS_EACH 48u        /* a peer that takes nothing leaves some to the others */
#define WAITING 16u           /* frames for each connection that is asked for */
#define RECEIVES 128u
#define BATCH 32
#define SEND_ID (1ull << 32)
#define RESOLVE_MS 5000
#define BACKLOG 128
#define ACCEPTED_MAX 4096u
#define RETRY_S 10            /* after an attempt that failed */
#define UNUSED_S 600
#define LOOK_S 30
#define RETRIES 7
#define QPN_BITS 0xffffffu

/* --- memory, queues --- */

static uint8_t *slot(const struct connected *c, unsigned n)
{
	return c->memory + (size_t)n * CONNECTED_FRAME_MAX;
}

static void receive(struct connected *c, unsigned n)
{
	struct ibv_sge sge = { (uintptr_t)slot(c, SENDS + n), CONNECTED_FRAME_MAX, c->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 }, *bad;

	ibv_post_srq_recv(c->srq, &wr, &bad);
}

static int make_queues(struct connected *c)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = RECEIVES, .max_sge = 1 } };

	c->channel = ibv_create_comp_channel(c->verbs);
	if (!c->channel || fcntl(c->channel->fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	c->cq = ibv_create_cq(c->verbs, SENDS + RECEIVES, NULL, c->channel, 0);
	if (!c->cq)
		return -errno;
	c->srq = ibv_create_srq(c->pd, &init);
	if (!c->srq)
		return -errno;
	for (unsigned i = 0; i < RECEIVES; i++)
		receive(c, i);
	for (c->n_free = 0; c->n_free < SENDS; c->n_free++)
		c->free_slots[c->n_free] = (uint16_t)c->n_free;
	return 0;
}

static int make(struct connected *c)
{
	size_t size = (size_t)(SENDS + RECEIVES) * CONNECTED_FRAME_MAX;
	struct ibv_context **v = rdma_get_devices(NULL);
	void *at;

	c->verbs = v ? v[0] : NULL;
	if (v)
		rdma_free_devices(v);
	c->events = c->verbs ? rdma_create_event_channel() : NULL;
	if (!c->events || fcntl(c->events->fd, F_SETFL, O_NONBLOCK) < 0)
		return c->verbs ? -errno : -ENODEV;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	c->memory = at;
	c->pd = ibv_alloc_pd(c->verbs);
	if (!c->pd)
		return -errno;
	c->mr = ibv_reg_mr(c->pd, at, size, IBV_ACCESS_LOCAL_WRITE);
	return c->mr ? make_queues(c) : -errno;
}

int connected_open(struct connected *c)
{
	int r;

	*c = (struct connected){ .n_free = 0 };
	ut_list_init(&c->accepted);
	for (unsigned i = 0; i < CONNECTED_BUCKETS; i++)
		ut_list_init(&c->buckets[i]);
	r = make(c);
	if (r < 0)
		connected_close(c);
	return r;
}

/* --- connections --- */

/* One that a peer has asked for: frames come by it, and none goes. */
struct accepted {
	struct ut_list node;
	struct rdma_cm_id *id;
};

static void end_id(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

struct waiting {
	struct ut_list node;
	size_t len;
	uint8_t frame[];
};

static void drop_waiting(struct link_to *l)
{
	struct ut_list *n;

	while ((n = ut_list_pop(&l->waiting)))
		free(ut_container(n, struct waiting, node));
	l->n_waiting = 0;
}

static void free_slot(struct connected *c, unsigned n)
{
	if (!c->owner[n])
		return;
	c->owner[n]->under_way--;
	c->owner[n] = NULL;
	c->free_slots[c->n_free++] = (uint16_t)n;
}

/* The end of a queue pair takes the completions of its sends with it. */
static void fail(struct connected *c, struct link_to *l, uint64_t again)
{
	if (l->id)
		end_id(l->id);
	for (unsigned i = 0; i < SENDS; i++)
		if (c->owner[i] == l)
			free_slot(c, i);
	drop_waiting(l);
	l->id = NULL;
	l->state = LINK_FAILED;
	l->again = again;
}

static void drop_link(struct connected *c, struct link_to *l)
{
	fail(c, l, 0);
	ut_list_del(&l->node);
	free(l);
}

static void drop_accepted(struct connected *c, struct accepted *a)
{
	end_id(a->id);
	ut_list_del(&a->node);
	free(a);
	c->n_accepted--;
}

static void drop_all(struct connected *c)
{
	struct ut_list *n;

	while ((n = c->accepted.next) != &c->accepted)
		drop_accepted(c, ut_container(n, struct accepted, node));
	for (unsigned i = 0; i < CONNECTED_BUCKETS; i++)
		while ((n = c->buckets[i].next) != &c->buckets[i])
			drop_link(c, ut_container(n, struct link_to, node));
	if (c->listener)
		rdma_destroy_id(c->listener);
	c->listener = NULL;
}

void connected_close(struct connected *c)
{
	drop_all(c);
	if (c->srq)
		ibv_destroy_srq(c->srq);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	if (c->channel)
		ibv_destroy_comp_channel(c->channel);
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->pd)
		ibv_dealloc_pd(c->pd);
	if (c->memory)
		munmap(c->memory, (size_t)(SENDS + RECEIVES) * CONNECTED_FRAME_MAX);
	if (c->events)
		rdma_destroy_event_channel(c->events);
}

static struct sockaddr_ib address(const uint8_t gid[16], uint32_t qpn)
{
	struct sockaddr_ib a = { .sib_family = AF_IB, .sib_sid = htobe64(WIRE_IPOIB_CM_SERVICE | (qpn & QPN_BITS)),
				 .sib_sid_mask = UINT64_MAX };

	memcpy(a.sib_addr.sib_raw, gid, 16);
	return a;
}

int connected_listen(struct connected *c, const uint8_t gid[16], uint32_t qpn)
{
	struct sockaddr_ib a = address(gid, qpn);

	if (c->listener && c->qpn == qpn && !memcmp(c->gid, gid, 16))
		return 0;
	drop_all(c);
	memcpy(c->gid, gid, 16);
	c->qpn = qpn;
	if (rdma_create_id(c->events, &c->listener, NULL, RDMA_PS_IB)) {
		c->listener = NULL;
		return -errno;
	}
	if (rdma_bind_addr(c->listener, (struct sockaddr *)&a) || rdma_listen(c->listener, BACKLOG)) {
		int r = -errno;

		rdma_destroy_id(c->listener);
		c->listener = NULL;
		return r;
	}
	return 0;
}

/* --- the end that asks --- */

static bool begin(struct connected *c, struct link_to *l)
{
	struct sockaddr_ib a = address(wire_get_IPOIB_ADDR_gid(l->hw), (uint32_t)wire_get_IPOIB_ADDR_qpn(l->hw));

	if (rdma_create_id(c->events, &l->id, l, RDMA_PS_IB)) {
		l->id = NULL;
		return false;
	}
	l->state = LINK_ASKED;
	return rdma_resolve_addr(l->id, NULL, (struct sockaddr *)&a, RESOLVE_MS) == 0;
}

static struct ut_list *bucket(struct connected *c, const uint8_t hw[HW_LEN])
{
	uint64_t a;

	memcpy(&a, hw + 12, 8); /* the GUID, whose order does not matter */
	return &c->buckets[(a * 0x9e3779b97f4a7c15u) >> 58];
}

static struct link_to *find(struct connected *c, const uint8_t hw[HW_LEN])
{
	struct ut_list *b = bucket(c, hw);
	struct link_to *l;

	ut_list_each(l, b, node)
		if (!memcmp(l->hw, hw, HW_LEN))
			return l;
	return NULL;
}

struct link_to *connected_to(struct connected *c, const uint8_t hw[HW_LEN], uint64_t now)
{
	struct link_to *l = find(c, hw);

	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			return NULL;
		memcpy(l->hw, hw, HW_LEN);
		l->state = LINK_FAILED;
		ut_list_init(&l->waiting);
		ut_list_add_tail(bucket(c, hw), &l->node);
	}
	l->used = now;
	if (l->state == LINK_FAILED && now >= l->again && c->listener && !begin(c, l))
		fail(c, l, now + RETRY_S * UT_S);
	return l;
}

static bool give_qp(struct connected *c, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = { .send_cq = c->cq, .recv_cq = c->cq, .srq = c->srq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
					 .cap = { .max_send_wr = SENDS, .max_send_sge = 1 } };

	return rdma_create_qp(id, c->pd, &init) == 0;
}

/* What both ends tell: the queue pair of their datagrams, and the longest frame they receive. */
static struct rdma_conn_param parameters(const struct connected *c, uint8_t data[WIRE_IPOIB_CM_LEN])
{
	memset(data, 0, WIRE_IPOIB_CM_LEN);
	wire_set_IPOIB_CM_qpn(data, c->qpn);
	wire_set_IPOIB_CM_mtu(data, CONNECTED_MTU + WIRE_IPOIB_LEN);
	return (struct rdma_conn_param){ .private_data = data, .private_data_len = WIRE_IPOIB_CM_LEN, .retry_count = RETRIES,
					 .rnr_retry_count = RETRIES };
}

/* The MTU that the peer's private data have. Returns 0 if they have none. */
static unsigned peer_mtu(const struct rdma_conn_param *p)
{
	uint64_t mtu = p->private_data_len >= WIRE_IPOIB_CM_LEN ? wire_get_IPOIB_CM_mtu(p->private_data) : 0;

	if (mtu <= WIRE_IPOIB_LEN)
		return 0;
	mtu -= WIRE_IPOIB_LEN;
	return mtu < CONNECTED_MTU ? (unsigned)mtu : CONNECTED_MTU;
}

static bool come_up(struct connected *c, struct link_to *l, unsigned mtu)
{
	struct ut_list *n;

	l->mtu = mtu;
	l->state = LINK_UP;
	while (mtu && (n = ut_list_pop(&l->waiting))) {
		struct waiting *w = ut_container(n, struct waiting, node);

		if (w->len <= mtu + WIRE_IPOIB_LEN)
			connected_send(c, l, w->frame, w->len);
		free(w);
	}
	l->n_waiting = 0;
	return mtu;
}

static bool step(struct connected *c, struct link_to *l, const struct rdma_cm_event *e)
{
	uint8_t data[WIRE_IPOIB_CM_LEN];
	struct rdma_conn_param p = parameters(c, data);

	switch (e->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return rdma_resolve_route(l->id, RESOLVE_MS) == 0;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return give_qp(c, l->id) && rdma_connect(l->id, &p) == 0;
	case RDMA_CM_EVENT_ESTABLISHED:
		return come_up(c, l, peer_mtu(&e->param.conn));
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return true;
	default:
		return false;
	}
}

/* --- the end that is asked --- */

static void accept_request(struct connected *c, const struct rdma_cm_event *e)
{
	struct accepted *a = c->n_accepted < ACCEPTED_MAX && peer_mtu(&e->param.conn) ? calloc(1, sizeof(*a)) : NULL;
	uint8_t data[WIRE_IPOIB_CM_LEN];
	struct rdma_conn_param p = parameters(c, data);

	e->id->context = NULL;
	if (!a || !give_qp(c, e->id) || rdma_accept(e->id, &p)) {
		rdma_reject(e->id, NULL, 0);
		free(a);
		return;
	}
	a->id = e->id;
	ut_list_add_tail(&c->accepted, &a->node);
	c->n_accepted++;
}

static struct accepted *find_accepted(struct connected *c, const struct rdma_cm_id *id)
{
	struct accepted *a;

	ut_list_each(a, &c->accepted, node)
		if (a->id == id)
			return a;
	return NULL;
}

static bool is_end(enum rdma_cm_event_type type)
{
	return type != RDMA_CM_EVENT_ESTABLISHED && type != RDMA_CM_EVENT_ADDR_CHANGE && type != RDMA_CM_EVENT_CONNECT_REQUEST;
}

void connected_events(struct connected *c, uint64_t now)
{
	struct rdma_cm_event *e;

	while (rdma_get_cm_event(c->events, &e) == 0) {
		struct rdma_cm_event copy = *e;
		struct link_to *l = copy.id != c->listener && !copy.listen_id ? copy.id->context : NULL;
		bool goes_on = !l || step(c, l, e), was_up = l && l->state == LINK_UP && copy.event != RDMA_CM_EVENT_ESTABLISHED;
		struct accepted *a;

		if (copy.event == RDMA_CM_EVENT_CONNECT_REQUEST)
			accept_request(c, e);
		a = l || copy.id == c->listener ? NULL : find_accepted(c, copy.id);
		/* An identifier ends when all its events are acknowledged. */
		rdma_ack_cm_event(e);
		if (!goes_on)
			fail(c, l, was_up ? now : now + RETRY_S * UT_S);
		else if (copy.event == RDMA_CM_EVENT_CONNECT_REQUEST && !a)
			end_id(copy.id);
		else if (a && is_end(copy.event))
			drop_accepted(c, a);
	}
}

/* --- frames --- */

bool connected_has_room(const struct connected *c)
{
	return c->n_free;
}

void connected_send(struct connected *c, struct link_to *l, const uint8_t *frame, size_t len)
{
	struct ibv_sge sge = { .length = (uint32_t)len, .lkey = c->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	if (!c->n_free || l->under_way == SENDS_EACH || len > CONNECTED_FRAME_MAX)
		return;
	wr.wr_id = SEND_ID | c->free_slots[c->n_free - 1];
	sge.addr = (uintptr_t)slot(c, c->free_slots[c->n_free - 1]);
	memcpy(slot(c, c->free_slots[c->n_free - 1]), frame, len);
	if (ibv_post_send(l->id->qp, &wr, &bad))
		return;
	c->owner[c->free_slots[--c->n_free]] = l;
	l->under_way++;
}

void connected_keep(struct link_to *l, const uint8_t *frame, size_t len)
{
	struct waiting *w = malloc(sizeof(*w) + len);

	if (!w)
		return;
	w->len = len;
	memcpy(w->frame, frame, len);
	ut_list_add_tail(&l->waiting, &w->node);
	if (l->n_waiting == WAITING)
		free(ut_container(ut_list_pop(&l->waiting), struct waiting, node));
	else
		l->n_waiting++;
}

/* A send has failed: the peer is silent or gone. */
static void lose(struct connected *c, uint32_t qpn, uint64_t now)
{
	struct link_to *l;

	for (unsigned i = 0; i < CONNECTED_BUCKETS; i++)
		ut_list_each(l, &c->buckets[i], node)
			if (l->state == LINK_UP && l->id->qp && l->id->qp->qp_num == qpn) {
				fail(c, l, now);
				return;
			}
}

static bool take_one(struct connected *c, const struct ibv_wc *wc, connected_take *take, void *ctx)
{
	if (wc->wr_id & SEND_ID) {
		free_slot(c, (unsigned)(wc->wr_id & (SENDS - 1)));
		return false;
	}
	if (wc->status == IBV_WC_SUCCESS)
		take(ctx, slot(c, SENDS + (unsigned)wc->wr_id), wc->byte_len);
	receive(c, (unsigned)wc->wr_id);
	return true;
}

unsigned connected_poll(struct connected *c, unsigned max, connected_take *take, void *ctx)
{
	struct ibv_wc wc[BATCH];
	unsigned frames = 0, n = 0;
	int got, i;

	while (frames < max && (got = ibv_poll_cq(c->cq, BATCH, wc)) > 0) {
		for (i = 0; i < got; i++)
			frames += take_one(c, &wc[i], take, ctx);
		for (i = 0; i < got; i++)
			if (wc[i].wr_id & SEND_ID && wc[i].status != IBV_WC_SUCCESS)
				lose(c, wc[i].qp_num, ut_now());
		n += (unsigned)got;
	}
	return n;
}

void connected_arm(struct connected *c)
{
	struct ibv_cq *cq;
	unsigned n = 0;
	void *arg;

	while (ibv_get_cq_event(c->channel, &cq, &arg) == 0)
		n++;
	if (n)
		ibv_ack_cq_events(c->cq, n);
	ibv_req_notify_cq(c->cq, 0);
}

void connected_run(struct connected *c, uint64_t now)
{
	struct link_to *l, *next;

	if (now - c->looked < LOOK_S * UT_S)
		return;
	c->looked = now;
	for (unsigned i = 0; i < CONNECTED_BUCKETS; i++)
		ut_list_each_safe(l, next, &c->buckets[i], node)
			if (now - l->used > UNUSED_S * UT_S)
				drop_link(c, l);
}

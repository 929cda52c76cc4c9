/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/rdma.h"

#include "ulp/clock.h"
#include "ulp/listen.h"
#include "ulp/rds/choose.h"
#include "ulp/rds/exchange.h"
#include "ulp/rds/keep.h"
#include "ulp/rds/node.h"
#include "ulp/rds/private.h"
#include "ulp/rds/rdma_cm.h"
#include "ulp/rds/rdma_queue.h"
#include "ulp/rds/region.h"
#include "ulp/rds/say.h"
#include "ulp/rds/store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rds.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#define RETRY_MS 10                     /* the first one; each further attempt waits up to twice as long */
#define RETRY_MOST_MS 1000
#define RETRY_HERE_MS 100               /* the same behind a failure of this end, which is over with the shortage */
#define SAY_AFTER_MS 5000
#define LIMIT_MS 10000                  /* of an attempt */
#define CROSS_MS 500                    /* requests of both ends that cross are this far apart at most */
#define LIMIT_OF_CHOICE_MS 2000         /* the same, where TCP may do */

struct rds_rdma *rds_rdma_of(const struct rds_conn *c)
{
	return (struct rds_rdma *)(uintptr_t)c;
}

struct rds_loop *rds_rdma_loop(struct rds_rdma *r)
{
	return &r->c.node->loop;
}

void rds_rdma_check(struct rds_rdma *r)
{
	if (r->u.error && r->state != RDS_RDMA_DOWN)
		rds_timer_by(rds_rdma_loop(r), &r->ending, 0);
}

/* --- sentences --- */

struct names {
	char local[RDS_ADDR_TEXT], peer[RDS_ADDR_TEXT];
};

static struct names names_of(const struct rds_rdma *r)
{
	struct names n;

	rds_addr_text(n.local, &r->c.local);
	rds_addr_text(n.peer, &r->c.peer);
	return n;
}

int rds_rdma_broke_rule(struct rds_rdma *r, enum rds_verdict v)
{
	struct names n = names_of(r);

	if (v != RDS_NO_ROOM && !r->broke)
		rds_say("RDS connection %s -> %s: the peer broke a rule of RDS (%s): the RDMA connection is ended, and made again "
			"for the messages that wait; look at the program at the other end", n.local, n.peer, rds_rules[v]);
	r->broke = true;
	return ulp_end(&r->u, EPROTO, "the peer broke a rule of RDS (%s)", rds_rules[v]);
}

void rds_rdma_refused(struct rds_rdma *r, struct rds_job *j, enum ibv_wc_status s)
{
	struct names n = names_of(r);

	rds_say("RDS connection %s -> %s: an RDMA operation of a program fails (%s): it and its message are dropped, and the connection "
		"is made again; look at the key, the offset and the length that the peer's program has given", n.local, n.peer,
		ibv_wc_status_str(s));
	rds_node_worked(r->c.node, j, s == IBV_WC_REM_ACCESS_ERR ? RDS_RDMA_REMOTE_ERROR : RDS_RDMA_OTHER_ERROR);
}

/* Once until a connection stands, and not of ends that refuse each other's requests for a moment. */
static void say_unreached(struct rds_rdma *r)
{
	struct names n = names_of(r);

	if (!r->down_since)
		r->down_since = ulp_now_ms();
	if (r->has_said || r->broke || ulp_now_ms() - r->down_since < SAY_AFTER_MS || rds_choose_may(&r->c))
		return;
	r->has_said = true;
	rds_say("RDS connection %s -> %s: RDMA does not reach the peer (%s): messages wait, and it is tried again; load rds_rdma or "
		"start dapple run --rds at the other end, or choose TCP by SO_RDS_TRANSPORT", n.local, n.peer, r->u.why);
}

/* --- the end of a connection, and the next one --- */

/*
 * True if there is something to be sent, or if the peer relies on this end: one with a larger address waits for news of ports
 * that are no longer congested.
 */
static bool has_work(const struct rds_rdma *r)
{
	return r->taken_over || rds_flow_next(&r->c.flow) || (r->c.has_stood && rds_addr_order(&r->c.local, &r->c.peer) < 0);
}

/* Ends that refuse each other have to be late by different times. error: why the connection has ended. */
static void set_back(struct rds_rdma *r, int error)
{
	int most = rds_may_retry(-error) ? RETRY_HERE_MS : RETRY_MOST_MS;
	uint16_t chance = 0;

	r->retry_ms = r->retry_ms > most ? most : r->retry_ms;
	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) != sizeof(chance))
		chance = (uint16_t)ulp_now_ms();
	r->not_before = ulp_now_ms() + r->retry_ms + chance % r->retry_ms;
	r->retry_ms = r->retry_ms * 2 > most ? most : r->retry_ms * 2;
}

static void lose(struct rds_rdma *r)
{
	if (r->state == RDS_RDMA_UP) {
		r->c.node->counters.conn_reset++;
		rds_rdma_drain(r);
	}
	rds_watch_forget(rds_rdma_loop(r), &r->events);
	rds_watch_forget(rds_rdma_loop(r), &r->completions);
	rds_timer_stop(&r->limit);
	rds_timer_stop(&r->ending);
	if (r->state != RDS_RDMA_DOWN)
		rds_rdma_release(r);
	rds_rdma_drop_jobs(r);
	rds_packet_drop(&r->in);
	r->tx_posted = r->tx_done = r->rx_done = r->rx_taken = 0;
	r->ack = r->acked = 0;
	r->ack_due = r->c.paused = r->broke = false;
	r->without_ack = 0;
	r->state = RDS_RDMA_DOWN;
	rds_out_restart(&r->c);
}

static void begin(struct rds_rdma *r);

/* Connects if there is a reason to, now or when the time of waiting is over. */
static void connect_at_need(struct rds_rdma *r)
{
	int64_t left = r->not_before - ulp_now_ms();

	if (r->state != RDS_RDMA_DOWN || !has_work(r))
		return;
	if (left > 0)
		rds_timer_by(rds_rdma_loop(r), &r->retry, (int)left);
	else
		begin(r);
}

static void retry_due(struct rds_timer *t)
{
	connect_at_need(ut_container(t, struct rds_rdma, retry));
}

static void ending_due(struct rds_timer *t)
{
	struct rds_rdma *r = ut_container(t, struct rds_rdma, ending);
	int error = r->u.error;

	if (r->state != RDS_RDMA_UP)
		say_unreached(r);
	lose(r);
	set_back(r, error);
	rds_choose_again(&r->c);
	connect_at_need(r);
}

static void limit_due(struct rds_timer *t)
{
	struct rds_rdma *r = ut_container(t, struct rds_rdma, limit);

	ulp_end(&r->u, ETIMEDOUT, "the peer does not answer");
	rds_rdma_check(r);
}

/* --- what comes --- */

static void events_ready(struct rds_watch *w, uint32_t events)
{
	rds_rdma_take_events(ut_container(w, struct rds_rdma, events));
}

static void completions_ready(struct rds_watch *w, uint32_t events)
{
	rds_rdma_take_completions(ut_container(w, struct rds_rdma, completions));
}

int rds_rdma_watch(struct rds_rdma *r)
{
	r->completions = (struct rds_watch){ r->u.channel->fd, EPOLLIN, completions_ready };
	return rds_watch_add(rds_rdma_loop(r), &r->completions)
		? ulp_end(&r->u, errno, "its completions cannot be watched (%s)", strerror(errno)) : 0;
}

void rds_rdma_stand(struct rds_rdma *r)
{
	r->state = RDS_RDMA_UP;
	r->c.has_stood = r->c.map_due = true;
	r->has_said = r->taken_over = false;
	r->up_since = ulp_now_ms();
	r->down_since = 0;
	r->retry_ms = RETRY_MS;
	rds_timer_stop(&r->limit);
	rds_timer_stop(&r->retry);
	rds_choose_stood(&r->c);
	rds_keep_conn(&r->c);
	rds_rdma_transmit(r);
}

/* An attempt of either end has begun. */
static void begun(struct rds_rdma *r, int e)
{
	rds_timer_stop(&r->retry);
	rds_timer_set(rds_rdma_loop(r), &r->limit, r->active && rds_choose_may(&r->c) ? LIMIT_OF_CHOICE_MS : LIMIT_MS);
	r->events = (struct rds_watch){ r->u.events ? r->u.events->fd : -1, EPOLLIN, events_ready };
	if (!e && rds_watch_add(rds_rdma_loop(r), &r->events))
		ulp_end(&r->u, errno, "its events cannot be watched (%s)", strerror(errno));
	rds_rdma_check(r);
}

static void begin(struct rds_rdma *r)
{
	begun(r, rds_rdma_request(r));
}

/* --- requests of peers --- */

int rds_rdma_has(const struct rsp_addr *addr)
{
	struct sockaddr_storage ss;
	struct rsp_addr at = *addr;
	struct ulp_conn u = { 0 };
	int has;

	at.port = 0;
	rsp_addr_to(&at, &ss);
	if (!ulp_open(&u) && !rdma_create_id(u.events, &u.id, NULL, RDMA_PS_TCP) && !rdma_bind_addr(u.id, (struct sockaddr *)&ss))
		has = u.id->verbs && u.id->verbs->device->node_type == IBV_NODE_CA;
	else
		has = rds_may_retry(-errno) ? -errno : 0;
	ulp_destroy(&u);
	return has;
}

struct ulp_listener *rds_rdma_listen(const struct rsp_addr *addr)
{
	struct sockaddr_storage ss;
	struct rsp_addr at = *addr;

	at.port = htons(at.family == AF_INET6 ? WIRE_RDS_TCP_PORT : WIRE_RDS_RDMA_PORT);
	rsp_addr_to(&at, &ss);
	return ulp_listen((struct sockaddr *)&ss, RDMA_PS_TCP, 1, 64);
}

static void refuse(struct ulp_request *q, enum rds_verdict v)
{
	int reason = WIRE_RDS_REJ_INCOMPAT;

	rdma_reject(q->id, v == RDS_BAD_VERSION ? &reason : NULL, v == RDS_BAD_VERSION ? sizeof(reason) : 0);
	rdma_destroy_id(q->id);
}

static bool is_same(const struct rsp_addr *a, const struct rsp_addr *b)
{
	return a->family == b->family && !memcmp(a->addr, b->addr, sizeof(a->addr));
}

/*
 * Both have requested a connection: that of the smaller address counts, unless the peer is Linux, which says no generation and
 * refuses every request while its own is under way. A request that comes later is of a peer that has lost the connection: one whose
 * owner was killed, which this end would notice only when a packet has been sent often enough.
 */
static bool is_outdone(const struct rds_rdma *r)
{
	if (r->c.has_stood && !r->c.flow.peer_generation)
		return false;
	return (r->state == RDS_RDMA_RESOLVING || r->state == RDS_RDMA_CONNECTING ||
		(r->state == RDS_RDMA_UP && r->active && ulp_now_ms() - r->up_since < CROSS_MS)) &&
	       rds_addr_order(&r->c.local, &r->c.peer) < 0;
}

static void take_request(struct rds_node *n, struct ulp_request *q, const struct rsp_addr *local)
{
	struct rds_private p;
	struct rsp_addr peer;
	enum rds_verdict v = rds_private_get(&p, q->data, q->len, local->family);
	struct rds_conn *c = NULL;
	char text[RDS_ADDR_TEXT];

	rsp_addr_from(&peer, (const struct sockaddr *)&q->from);
	peer.port = 0;
	if (v == RDS_GOOD && (!is_same(&p.from, &peer) || !is_same(&p.to, local)))
		v = RDS_OTHER_ADDRESS;
	if (v == RDS_GOOD && !rds_listener_find(n, &peer)) /* messages within a carrier take no connection */
		c = rds_node_conn(n, local, &peer, &rds_rdma);
	if (v != RDS_GOOD)
		rds_say("RDS peer %s: its request breaks a rule of RDS (%s): it is refused; look at the program at the other end",
			rds_addr_text(text, &peer), rds_rules[v]);
	if (c && is_outdone(rds_rdma_of(c)))
		rds_rdma_probe(rds_rdma_of(c));
	else if (c) {
		lose(rds_rdma_of(c));
		begun(rds_rdma_of(c), rds_rdma_admit(rds_rdma_of(c), q->id, &p));
		return;
	}
	refuse(q, v);
}

void rds_rdma_accept(struct rds_node *n, struct ulp_listener *l, const struct rsp_addr *local)
{
	struct ulp_request q;

	if (!ulp_listener_next(l, &q))
		take_request(n, &q, local);
}

/* --- the table --- */

static struct rds_conn *make(void)
{
	struct rds_rdma *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->events.fd = r->completions.fd = -1;
	r->retry_ms = RETRY_MS;
	rds_timer_init(&r->retry, retry_due);
	rds_timer_init(&r->limit, limit_due);
	rds_timer_init(&r->ending, ending_due);
	return &r->c;
}

static void kick(struct rds_conn *c)
{
	struct rds_rdma *r = rds_rdma_of(c);

	if (r->state == RDS_RDMA_UP)
		rds_rdma_transmit(r);
	else
		connect_at_need(r);
}

static bool is_up(const struct rds_conn *c)
{
	return rds_rdma_of(c)->state == RDS_RDMA_UP;
}

static void resume(struct rds_conn *c)
{
	struct rds_rdma *r = rds_rdma_of(c);

	c->paused = false;
	if (r->state == RDS_RDMA_UP || r->state == RDS_RDMA_ACCEPTING)
		rds_rdma_take_packets(r);
}

void rds_rdma_info(const struct rds_conn *c, struct rds_info_rdma_connection *ret)
{
	const struct rdma_cm_id *id = rds_rdma_of(c)->u.id;

	memcpy(ret->src_gid, &id->route.addr.addr.ibaddr.sgid, sizeof(ret->src_gid));
	memcpy(ret->dst_gid, &id->route.addr.addr.ibaddr.dgid, sizeof(ret->dst_gid));
	ret->max_send_wr = RDS_RDMA_SENDS;
	ret->max_recv_wr = RDS_RDMA_RECEIVES;
	ret->max_send_sge = 1;
	ret->rdma_mr_max = RDS_REGIONS_MAX;
	ret->rdma_mr_size = (uint32_t)(RDS_MESSAGE_MAX / (size_t)sysconf(_SC_PAGESIZE)) + 1;
}

static void leave(struct rds_conn *c)
{
	lose(rds_rdma_of(c));
}

/* The next owner makes the connection anew; its record says that the peer may have it. */
static void keep(const struct rds_conn *c, struct rds_conn_state *state)
{
	const struct rds_rdma *r = rds_rdma_of(c);

	state->up = r->state == RDS_RDMA_ACCEPTING || r->state == RDS_RDMA_UP;
}

static int take_over(struct rds_conn *c, const struct rds_conn_state *state, int fd)
{
	rds_rdma_of(c)->taken_over = c->has_stood || state->up;
	kick(c);
	return 0;
}

const struct rds_transport rds_rdma = {
	.name = "infiniband", .type = RDS_TRANS_IB, .make = make, .kick = kick, .is_up = is_up, .resume = resume, .leave = leave, .keep = keep, .take_over = take_over,
};

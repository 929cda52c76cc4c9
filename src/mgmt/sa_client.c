/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/sa_client.h"

#include "util/alloc.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/ip.h"
#include "wire/cm_fields.h"
#include "wire/rmpp_fields.h"
#include "wire/sa_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SA_VERSION 2
#define REGISTER_MS 20000 /* for a group that is joined anew: the SM may still be sweeping */

enum kind { PATH, JOIN, LEAVE, REGISTER, NAME };

struct waiter {
	struct ut_list node;
	uint64_t ticket;
};

struct question {
	struct ut_list node;     /* sac.questions */
	enum kind kind;
	uint32_t tid;
	uint64_t repeat, until;  /* ns */
	uint64_t generation;     /* when it was asked first */
	struct ut_list waiters;
	struct member *member;   /* JOIN; NULL: its users have all left meanwhile */
	uint8_t mad[MAD_LEN];
};

/* A group that the port is, or is to be, a member of. */
struct member {
	struct ut_list node;     /* sac.members */
	struct sac_group group;
	uint8_t port_gid[16];
	uint32_t users;
	bool joined;
	struct question *joining;
};

void sac_init(struct sac *s, const struct sac_ops *ops, void *ctx)
{
	*s = (struct sac){ .ops = ops, .ctx = ctx };
	ut_list_init(&s->questions);
	ut_list_init(&s->members);
}

void sac_agent(struct sac *s, uint32_t tid_high)
{
	s->tid_high = tid_high;
}

/* --- questions --- */

static uint8_t *record_of(uint8_t *mad)
{
	return mad + WIRE_SA_DATA;
}

static void put_header(struct sac *s, struct question *q, uint8_t method, uint16_t attr, uint64_t mask)
{
	wire_set_MAD_base_version(q->mad, 1);
	wire_set_MAD_mgmt_class(q->mad, MAD_CLASS_SA);
	wire_set_MAD_class_version(q->mad, SA_VERSION);
	wire_set_MAD_method(q->mad, method);
	wire_set_MAD_tid(q->mad, (uint64_t)s->tid_high << 32 | q->tid);
	wire_set_MAD_attr_id(q->mad, attr);
	wire_set_SA_mask(q->mad, mask);
}

static struct question *make(struct sac *s, enum kind kind, uint64_t now, int timeout_ms)
{
	struct question *q = ut_zalloc(sizeof(*q));

	if (!q)
		return NULL;
	q->kind = kind;
	q->tid = ++s->tid;
	q->until = now + (uint64_t)(timeout_ms > 0 ? timeout_ms : 1) * UT_MS;
	ut_list_init(&q->waiters);
	return q;
}

static void ask(struct sac *s, struct question *q, uint64_t now)
{
	q->repeat = now + SAC_REPEAT_MS * UT_MS;
	if (ut_list_empty(&q->node))
		ut_list_add_tail(&s->questions, &q->node);
	s->ops->send(s->ctx, q->mad);
}

static bool add_waiter(struct question *q, uint64_t ticket)
{
	struct waiter *w = ut_zalloc(sizeof(*w));

	if (!w)
		return false;
	w->ticket = ticket;
	ut_list_add_tail(&q->waiters, &w->node);
	return true;
}

static void drop(struct sac *s, struct question *q)
{
	struct ut_list *n;

	while ((n = ut_list_pop(&q->waiters)))
		free(ut_container(n, struct waiter, node));
	if (q->member)
		q->member->joining = NULL;
	if (s->registering == q)
		s->registering = NULL;
	ut_list_del(&q->node);
	free(q);
}

static void drop_member(struct member *m)
{
	if (m->joining)
		m->joining->member = NULL;
	ut_list_del(&m->node);
	free(m);
}

/* --- paths --- */

static bool find_kept(struct sac *s, const uint8_t sgid[16], const uint8_t dgid[16], uint16_t pkey, uint64_t generation,
		      struct sac_path *ret)
{
	if (s->generation != generation)
		s->n_kept = s->next_kept = 0;
	s->generation = generation;
	for (unsigned i = 0; i < s->n_kept; i++) {
		if (s->kept[i].pkey != pkey || memcmp(s->kept[i].dgid, dgid, 16) || memcmp(s->kept[i].sgid, sgid, 16))
			continue;
		*ret = s->kept[i].path;
		return true;
	}
	return false;
}

static void keep(struct sac *s, const struct question *q, const struct sac_path *p)
{
	const uint8_t *rec = q->mad + WIRE_SA_DATA;

	if (q->generation != s->generation)
		return;
	memcpy(s->kept[s->next_kept].sgid, wire_get_PATH_RECORD_sgid(rec), 16);
	memcpy(s->kept[s->next_kept].dgid, wire_get_PATH_RECORD_dgid(rec), 16);
	s->kept[s->next_kept].pkey = (uint16_t)wire_get_PATH_RECORD_pkey(rec);
	s->kept[s->next_kept].path = *p;
	s->next_kept = (s->next_kept + 1) % SAC_PATHS;
	s->n_kept += s->n_kept < SAC_PATHS;
}

static bool asks_same(struct question *q, const uint8_t sgid[16], const uint8_t dgid[16], uint16_t pkey, uint64_t generation)
{
	const uint8_t *rec = q->mad + WIRE_SA_DATA;

	return q->kind == PATH && q->generation == generation && wire_get_PATH_RECORD_pkey(rec) == pkey &&
	       !memcmp(wire_get_PATH_RECORD_dgid(rec), dgid, 16) && !memcmp(wire_get_PATH_RECORD_sgid(rec), sgid, 16);
}

static struct question *find_question(struct sac *s, const uint8_t sgid[16], const uint8_t dgid[16], uint16_t pkey,
				      uint64_t generation)
{
	struct question *q;

	ut_list_each(q, &s->questions, node)
		if (asks_same(q, sgid, dgid, pkey, generation))
			return q;
	return NULL;
}

/* A path that packets can return on, as connections need one (IBTA 15.2.5.16). */
static void put_path(struct sac *s, struct question *q, const uint8_t sgid[16], const uint8_t dgid[16], uint16_t pkey)
{
	uint8_t *rec = record_of(q->mad);

	put_header(s, q, MAD_GET, WIRE_SA_PATH_RECORD,
		   WIRE_PATH_DGID | WIRE_PATH_SGID | WIRE_PATH_REVERSIBLE | WIRE_PATH_NUMB | WIRE_PATH_PKEY);
	wire_set_PATH_RECORD_dgid(rec, dgid);
	wire_set_PATH_RECORD_sgid(rec, sgid);
	wire_set_PATH_RECORD_pkey(rec, pkey);
	wire_set_PATH_RECORD_reversible(rec, 1);
	wire_set_PATH_RECORD_numb_path(rec, 1);
}

int sac_path(struct sac *s, const uint8_t sgid[16], const uint8_t dgid[16], uint16_t pkey, uint64_t generation,
	     int timeout_ms, uint64_t ticket, uint64_t now, struct sac_path *ret)
{
	struct question *q;
	bool is_new;

	if (find_kept(s, sgid, dgid, pkey, generation, ret))
		return 0;
	q = find_question(s, sgid, dgid, pkey, generation);
	is_new = !q;
	if (is_new)
		q = make(s, PATH, now, timeout_ms);
	if (!q)
		return -ENOMEM;
	if (is_new)
		ut_list_init(&q->node);
	if (!add_waiter(q, ticket)) {
		if (is_new)
			drop(s, q);
		return -ENOMEM;
	}
	if (!is_new)
		return -EINPROGRESS;
	q->generation = generation;
	put_path(s, q, sgid, dgid, pkey);
	ask(s, q, now);
	return -EINPROGRESS;
}

static struct sac_path read_path(const uint8_t *rec)
{
	return (struct sac_path){
		.slid = (uint16_t)wire_get_PATH_RECORD_slid(rec), .dlid = (uint16_t)wire_get_PATH_RECORD_dlid(rec),
		.pkey = (uint16_t)wire_get_PATH_RECORD_pkey(rec), .sl = (uint8_t)wire_get_PATH_RECORD_sl(rec),
		.mtu = (uint8_t)wire_get_PATH_RECORD_mtu(rec), .rate = (uint8_t)wire_get_PATH_RECORD_rate(rec),
		.life = (uint8_t)wire_get_PATH_RECORD_life(rec), .hop_limit = (uint8_t)wire_get_PATH_RECORD_hop_limit(rec),
		.tclass = (uint8_t)wire_get_PATH_RECORD_tclass(rec),
		.flow_label = (uint32_t)wire_get_PATH_RECORD_flow_label(rec),
	};
}

static void path_answered(struct sac *s, struct question *q, int status, const uint8_t *rec)
{
	struct sac_path p = { 0 };
	struct ut_list *n;

	if (status == 0) {
		p = read_path(rec);
		keep(s, q, &p);
	}
	while ((n = ut_list_pop(&q->waiters))) {
		struct waiter *w = ut_container(n, struct waiter, node);

		s->ops->path(s->ctx, w->ticket, status, &p);
		free(w);
	}
	drop(s, q);
}

/* --- groups --- */

static bool is_zero(const uint8_t gid[16])
{
	static const uint8_t none[16];

	return !memcmp(gid, none, 16);
}

static struct member *find_member(struct sac *s, const uint8_t mgid[16], uint8_t join_state)
{
	struct member *m;

	ut_list_each(m, &s->members, node)
		if (m->group.join_state == join_state && !memcmp(m->group.mgid, mgid, 16))
			return m;
	return NULL;
}

#define EXACTLY 2 /* of a selector (15.2.5.17, table 206) */

/* What creates the group if there is none (15.2.5.17.2). Returns the components. */
static uint64_t put_creation(uint8_t *rec, const struct sac_group *g)
{
	wire_set_MEMBER_RECORD_qkey(rec, g->qkey);
	wire_set_MEMBER_RECORD_pkey(rec, g->pkey);
	wire_set_MEMBER_RECORD_sl(rec, g->is_exact ? g->sl : 0);
	wire_set_MEMBER_RECORD_flow_label(rec, g->is_exact ? g->flow_label : 0);
	wire_set_MEMBER_RECORD_tclass(rec, g->is_exact ? g->tclass : 0);
	if (!g->is_exact)
		return WIRE_MEMBER_CREATION;
	wire_set_MEMBER_RECORD_mtu_selector(rec, EXACTLY);
	wire_set_MEMBER_RECORD_mtu(rec, g->mtu);
	wire_set_MEMBER_RECORD_rate_selector(rec, EXACTLY);
	wire_set_MEMBER_RECORD_rate(rec, g->rate);
	wire_set_MEMBER_RECORD_hop_limit(rec, g->hop_limit);
	return WIRE_MEMBER_CREATION | WIRE_MEMBER_MTU_SELECTOR | WIRE_MEMBER_MTU | WIRE_MEMBER_RATE_SELECTOR |
	       WIRE_MEMBER_RATE | WIRE_MEMBER_HOP_LIMIT;
}

static void put_member(struct sac *s, struct question *q, uint8_t method, const struct sac_group *g, const uint8_t port_gid[16])
{
	uint8_t *rec = record_of(q->mad);
	uint64_t mask = WIRE_MEMBER_PORT_GID | WIRE_MEMBER_JOIN_STATE;

	wire_set_MEMBER_RECORD_port_gid(rec, port_gid);
	wire_set_MEMBER_RECORD_join_state(rec, g->join_state);
	if (!is_zero(g->mgid)) {
		wire_set_MEMBER_RECORD_mgid(rec, g->mgid);
		mask |= WIRE_MEMBER_MGID;
	}
	if (method == MAD_SET && !g->joins_only)
		mask |= put_creation(rec, g);
	put_header(s, q, method, WIRE_SA_MEMBER_RECORD, mask);
}

static struct member *make_member(struct sac *s, const struct sac_group *want)
{
	struct member *m = ut_zalloc(sizeof(*m));

	if (!m)
		return NULL;
	m->group = *want;
	ut_list_add_tail(&s->members, &m->node);
	return m;
}

static bool begin_join(struct sac *s, struct member *m, const uint8_t port_gid[16], int timeout_ms, uint64_t now)
{
	struct question *q = make(s, JOIN, now, timeout_ms);

	if (!q)
		return false;
	ut_list_init(&q->node);
	q->member = m;
	m->joining = q;
	put_member(s, q, MAD_SET, &m->group, port_gid);
	return true;
}

int sac_join(struct sac *s, const uint8_t port_gid[16], const struct sac_group *want, int timeout_ms, uint64_t ticket,
	     uint64_t now, struct sac_group *ret)
{
	struct member *m = is_zero(want->mgid) ? NULL : find_member(s, want->mgid, want->join_state);
	bool is_new = !m;

	if (m && m->joined) {
		m->users++;
		*ret = m->group;
		return 0;
	}
	if (is_new)
		m = make_member(s, want);
	if (!m)
		return -ENOMEM;
	if ((!m->joining && !begin_join(s, m, port_gid, timeout_ms, now)) || !add_waiter(m->joining, ticket)) {
		if (m->joining && is_new)
			drop(s, m->joining);
		if (is_new)
			drop_member(m);
		return -ENOMEM;
	}
	m->users++;
	if (ut_list_empty(&m->joining->node))
		ask(s, m->joining, now);
	return -EINPROGRESS;
}

static void begin_leave(struct sac *s, const struct sac_group *g, const uint8_t port_gid[16], uint64_t now)
{
	struct question *q = make(s, LEAVE, now, 2 * SAC_REPEAT_MS);

	if (!q)
		return; /* the SM removes a port that is gone */
	ut_list_init(&q->node);
	put_member(s, q, WIRE_SA_DELETE, g, port_gid);
	ask(s, q, now);
}

void sac_leave(struct sac *s, const uint8_t mgid[16], uint8_t join_state, bool tell, uint64_t now)
{
	struct member *m = find_member(s, mgid, join_state);

	if (!m || --m->users)
		return;
	if (tell && m->joined)
		begin_leave(s, &m->group, m->port_gid, now);
	drop_member(m);
}

static struct sac_group read_group(const uint8_t *rec, uint8_t join_state)
{
	struct sac_group g = {
		.qkey = (uint32_t)wire_get_MEMBER_RECORD_qkey(rec), .mlid = (uint16_t)wire_get_MEMBER_RECORD_mlid(rec),
		.pkey = (uint16_t)wire_get_MEMBER_RECORD_pkey(rec), .sl = (uint8_t)wire_get_MEMBER_RECORD_sl(rec),
		.flow_label = (uint32_t)wire_get_MEMBER_RECORD_flow_label(rec), .mtu = (uint8_t)wire_get_MEMBER_RECORD_mtu(rec),
		.rate = (uint8_t)wire_get_MEMBER_RECORD_rate(rec), .tclass = (uint8_t)wire_get_MEMBER_RECORD_tclass(rec),
		.hop_limit = (uint8_t)wire_get_MEMBER_RECORD_hop_limit(rec), .join_state = join_state,
	};

	memcpy(g.mgid, wire_get_MEMBER_RECORD_mgid(rec), 16);
	return g;
}

static void group_answered(struct sac *s, struct question *q, int status, const uint8_t *rec)
{
	struct member *m = q->member;
	struct sac_group g = { 0 };
	struct ut_list *n;

	if (status == 0 && m) {
		m->joined = true;
		g = read_group(rec, m->group.join_state);
		g.joins_only = m->group.joins_only;
		g.is_exact = m->group.is_exact;
		m->group = g;
		memcpy(m->port_gid, wire_get_MEMBER_RECORD_port_gid(q->mad + WIRE_SA_DATA), 16);
	}
	if (!m && status == 0) {
		g = read_group(rec, (uint8_t)wire_get_MEMBER_RECORD_join_state(q->mad + WIRE_SA_DATA));
		begin_leave(s, &g, wire_get_MEMBER_RECORD_port_gid(q->mad + WIRE_SA_DATA), q->repeat);
		status = -ECANCELED;
	}
	while ((n = ut_list_pop(&q->waiters))) {
		struct waiter *w = ut_container(n, struct waiter, node);

		if (status && m)
			m->users--;
		s->ops->group(s->ctx, w->ticket, status, &g);
		free(w);
	}
	if (m && !m->users)
		drop_member(m);
	drop(s, q);
}

/* --- names --- */

/* IPv4 addresses fill the last four octets, and the others are zero. */
static void put_address(uint8_t *rec, const uint8_t addr[16])
{
	uint8_t data[16] = { 0 };
	bool v4 = ut_ip_is_v4(addr);

	memcpy(data + (v4 ? 12 : 0), addr + (v4 ? 12 : 0), v4 ? 4 : 16);
	wire_set_SERVICE_RECORD_data8(rec, data);
}

static struct sac_name read_name(const uint8_t *rec)
{
	static const uint8_t none[12];
	const uint8_t *data = wire_get_SERVICE_RECORD_data8(rec);
	struct sac_name n;

	memcpy(n.gid, wire_get_SERVICE_RECORD_gid(rec), 16);
	memcpy(n.addr, data, 16);
	if (!memcmp(data, none, 12))
		ut_ip_set_v4(n.addr, data + 12);
	return n;
}

static void put_service(uint8_t *rec)
{
	static const uint8_t name[64] = WIRE_ATS_NAME;

	wire_set_SERVICE_RECORD_id(rec, WIRE_ATS_ID);
	wire_set_SERVICE_RECORD_name(rec, name);
}

static void begin_register(struct sac *s, uint64_t now)
{
	struct question *q = make(s, REGISTER, now, REGISTER_MS);
	uint8_t *rec;

	if (!q)
		return; /* the next subnet manager, or the port's next change, brings it */
	ut_list_init(&q->node);
	rec = record_of(q->mad);
	put_service(rec);
	wire_set_SERVICE_RECORD_gid(rec, s->own.gid);
	wire_set_SERVICE_RECORD_pkey(rec, s->own_pkey);
	wire_set_SERVICE_RECORD_lease(rec, WIRE_LEASE_ENDLESS);
	put_address(rec, s->own.addr);
	put_header(s, q, MAD_SET, WIRE_SA_SERVICE_RECORD,
		   WIRE_SERVICE_ID | WIRE_SERVICE_GID | WIRE_SERVICE_PKEY | WIRE_SERVICE_LEASE | WIRE_SERVICE_NAME |
			   WIRE_SERVICE_DATA8);
	s->registering = q;
	ask(s, q, now);
}

void sac_register(struct sac *s, const struct sac_name *own, uint16_t pkey, uint64_t now)
{
	if (!is_zero(s->own.gid))
		return;
	s->own = *own;
	s->own_pkey = pkey;
	begin_register(s, now);
}

int sac_find_name(struct sac *s, const struct sac_name *half, bool by_gid, int timeout_ms, uint64_t ticket, uint64_t now)
{
	struct question *q = make(s, NAME, now, timeout_ms);
	uint8_t *rec;

	if (!q)
		return -ENOMEM;
	ut_list_init(&q->node);
	if (!add_waiter(q, ticket)) {
		drop(s, q);
		return -ENOMEM;
	}
	rec = record_of(q->mad);
	put_service(rec);
	if (by_gid)
		wire_set_SERVICE_RECORD_gid(rec, half->gid);
	else
		put_address(rec, half->addr);
	put_header(s, q, MAD_GET, WIRE_SA_SERVICE_RECORD,
		   WIRE_SERVICE_NAME | (by_gid ? WIRE_SERVICE_ID | WIRE_SERVICE_GID : WIRE_SERVICE_DATA8));
	ask(s, q, now);
	return -EINPROGRESS;
}

static void name_answered(struct sac *s, struct question *q, int status, const uint8_t *rec)
{
	struct sac_name n = { .addr = { 0 } };
	struct ut_list *w;

	if (status == 0)
		n = read_name(rec);
	while ((w = ut_list_pop(&q->waiters))) {
		s->ops->name(s->ctx, ut_container(w, struct waiter, node)->ticket, status, &n);
		free(ut_container(w, struct waiter, node));
	}
	drop(s, q);
}

void sac_reregister(struct sac *s, const uint8_t port_gid[16], uint64_t now)
{
	struct member *m;

	if (!is_zero(s->own.gid) && !s->registering) {
		memcpy(s->own.gid, port_gid, 16);
		begin_register(s, now);
	}

	ut_list_each(m, &s->members, node)
		if (!m->joining && begin_join(s, m, port_gid, REGISTER_MS, now))
			ask(s, m->joining, now);
}

/* --- answers, time --- */

static void answered(struct sac *s, struct question *q, int status, const uint8_t *rec)
{
	if (q->kind == PATH)
		path_answered(s, q, status, rec);
	else if (q->kind == JOIN)
		group_answered(s, q, status, rec);
	else if (q->kind == NAME)
		name_answered(s, q, status, rec);
	else
		drop(s, q);
}

static struct question *by_tid(struct sac *s, uint64_t tid)
{
	struct question *q;

	ut_list_each(q, &s->questions, node)
		if (((uint64_t)s->tid_high << 32 | q->tid) == tid)
			return q;
	return NULL;
}

void sac_receive(struct sac *s, const uint8_t mad[MAD_LEN], uint64_t now)
{
	struct question *q = by_tid(s, wire_get_MAD_tid(mad));
	uint16_t status = (uint16_t)wire_get_MAD_status(mad);

	if (!q || wire_get_MAD_mgmt_class(mad) != MAD_CLASS_SA || !wire_get_MAD_r(mad) ||
	    wire_get_MAD_attr_id(mad) != wire_get_MAD_attr_id(q->mad))
		return;
	if (status == MAD_BUSY) {
		q->repeat = now + SAC_REPEAT_MS * UT_MS;
		return;
	}
	answered(s, q, !status ? 0 : status == WIRE_SA_TOO_MANY_RECORDS ? -ENOTUNIQ : -EHOSTUNREACH, mad + WIRE_SA_DATA);
}

static struct question *due(struct sac *s, uint64_t now)
{
	struct question *q;

	ut_list_each(q, &s->questions, node)
		if (q->repeat <= now || q->until <= now)
			return q;
	return NULL;
}

void sac_run(struct sac *s, uint64_t now)
{
	struct question *q;

	while ((q = due(s, now))) {
		if (q->until <= now)
			answered(s, q, -ETIMEDOUT, NULL);
		else
			ask(s, q, now);
	}
}

uint64_t sac_deadline(const struct sac *s)
{
	uint64_t at = UT_NEVER;
	struct question *q;

	ut_list_each(q, &s->questions, node) {
		at = q->repeat < at ? q->repeat : at;
		at = q->until < at ? q->until : at;
	}
	return at;
}

void sac_end(struct sac *s, int status)
{
	struct question *q;
	struct member *m;

	while ((q = ut_list_first(&s->questions, struct question, node)))
		answered(s, q, status, NULL);
	while ((m = ut_list_first(&s->members, struct member, node)))
		drop_member(m);
	s->own = (struct sac_name){ .gid = { 0 } };
	s->n_kept = s->next_kept = 0;
}

void sac_fini(struct sac *s)
{
	struct question *q;
	struct member *m;

	while ((q = ut_list_first(&s->questions, struct question, node)))
		drop(s, q);
	while ((m = ut_list_first(&s->members, struct member, node)))
		drop_member(m);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How connections begin and end, or do not begin. */
#include "peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQ_MOST 56
#define REP_MOST 196

static const char no[] = "no, thank you";

/* The passive end's word: siw's kernel stops if a stream ends before it had the first one. */
static void greet(struct peer *p)
{
	if (p->a->passive)
		peer_last_word(p, 99);
	else
		must(peer_hear(p) == 99, "another first word");
}

static void brief(struct peer *p)
{
	peer_begin(p, peer_last_word);
	if (p->a->passive)
		peer_left(p);
	else
		peer_leave(p);
	peer_drop(p);
}

/* --- rejected with a reason; then accepted --- */

static void reject(struct peer *p)
{
	struct rdma_cm_event *e;
	struct rdma_cm_id *id;

	peer_open(p, p->a);
	e = peer_event(p, RDMA_CM_EVENT_CONNECT_REQUEST);
	must0(rdma_reject(e->id, no, sizeof(no)));
	id = e->id;
	rdma_ack_cm_event(e);
	must0(rdma_destroy_id(id));
	brief(p);
	peer_close(p);
}

static void rejected(struct peer *p)
{
	struct rdma_cm_event *e;
	struct peer_card card;
	struct rdma_conn_param param;

	peer_open(p, p->a);
	peer_resolve(p, p->a->port);
	param = peer_param(p, &card);
	must0(rdma_connect(p->id, &param));
	e = peer_event(p, RDMA_CM_EVENT_REJECTED);
	peer_saw(p, "rejected:%d", e->status);
	must(e->param.conn.private_data_len >= sizeof(no) &&
	     !memcmp(e->param.conn.private_data, no, sizeof(no)), "the reason was lost");
	rdma_ack_cm_event(e);
	peer_drop(p);
	peer_judge(p);
	brief(p);
	peer_close(p);
}

/* --- private data of full length --- */

static void letter(uint8_t *at, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (uint8_t)(i * 5 + seed);
}

static void same_letter(const struct rdma_cm_event *e, size_t n, unsigned seed)
{
	uint8_t want[256];

	letter(want, n, seed);
	must(e->param.conn.private_data_len >= n, "%u bytes of private data",
	     e->param.conn.private_data_len);
	must(!memcmp(e->param.conn.private_data, want, n), "other private data");
}

static void private_passive(struct peer *p)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7, .responder_resources = 3,
					 .initiator_depth = 2 };
	uint8_t rep[REP_MOST];
	struct rdma_cm_event *e;

	peer_open(p, p->a);
	e = peer_event(p, RDMA_CM_EVENT_CONNECT_REQUEST);
	same_letter(e, REQ_MOST, 1);
	peer_saw(p, "depth:%u+%u", e->param.conn.responder_resources,
		 e->param.conn.initiator_depth);
	p->id = e->id;
	rdma_ack_cm_event(e);
	peer_qp(p);
	letter(rep, sizeof(rep), 2);
	param.private_data = rep;
	param.private_data_len = sizeof(rep);
	must0(rdma_accept(p->id, &param));
	peer_want(p, RDMA_CM_EVENT_ESTABLISHED);
	greet(p);
	peer_left(p);
	peer_judge(p);
	peer_close(p);
}

static void private_active(struct peer *p)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7,
					 .responder_resources = 2, .initiator_depth = 3 };
	uint8_t req[REQ_MOST];
	struct rdma_cm_event *e;

	peer_open(p, p->a);
	peer_resolve(p, p->a->port);
	peer_expect_word(p);
	letter(req, sizeof(req), 1);
	param.private_data = req;
	param.private_data_len = sizeof(req);
	must0(rdma_connect(p->id, &param));
	e = peer_event(p, RDMA_CM_EVENT_ESTABLISHED);
	same_letter(e, REP_MOST, 2);
	peer_saw(p, "depth:%u+%u", e->param.conn.responder_resources,
		 e->param.conn.initiator_depth);
	rdma_ack_cm_event(e);
	greet(p);
	peer_leave(p);
	peer_judge(p);
	peer_close(p);
}

/* --- leaving, with receives outstanding: all are flushed, both ends hear of it --- */

static void leave(struct peer *p)
{
	bool mine = strstr(p->a->kind, p->a->passive ? "passive" : "active") ||
		    strstr(p->a->kind, "both");

	peer_open(p, p->a);
	if (p->a->passive)
		peer_request(p);
	else
		peer_resolve(p, p->a->port);
	peer_expect_word(p);
	for (int i = 0; i < 4; i++)
		peer_recv(p, 0, 64);
	peer_meet(p);
	/* iWARP's passive end may not speak first. */
	if (!p->a->passive)
		peer_tell(p, 1);
	peer_hear(p);
	if (p->a->passive)
		peer_tell_end(p, 2);
	if (mine) {
		must0(rdma_disconnect(p->id));
		peer_left(p);
	} else {
		peer_left(p);
		rdma_disconnect(p->id); /* the answer; on a kernel it flushes too */
	}
	for (int i = 0; i < 4; i++) {
		struct ibv_wc wc = peer_done(p, p->rcq);

		peer_saw_wc(p, "recv", &wc);
	}
	peer_judge(p);
	peer_close(p);
}

/* --- no listener; then there is one --- */

static void refused_once(struct peer *p)
{
	peer_open(p, p->a);
	brief(p);
	peer_close(p);
}

static void refused(struct peer *p)
{
	struct peer_card card;
	struct rdma_conn_param param;
	struct rdma_cm_event *e;

	peer_open(p, p->a);
	peer_resolve(p, p->a->port + 1);
	param = peer_param(p, &card);
	if (rdma_connect(p->id, &param) == 0) {
		e = peer_event(p, RDMA_CM_EVENT_REJECTED);
		peer_saw(p, "rejected:%d", e->status);
		rdma_ack_cm_event(e);
	} else { /* siw says it at once */
		peer_saw(p, "rejected:%d", -errno);
	}
	peer_drop(p);
	peer_judge(p);
	brief(p);
	peer_close(p);
}

/* --- a host that never answers --- */

static void absent(struct peer *p)
{
}

static void silence(struct peer *p)
{
	struct peer_card card;
	struct rdma_conn_param param;
	struct rdma_cm_event *e;

	peer_open(p, p->a);
	peer_resolve(p, p->a->port);
	param = peer_param(p, &card);
	if (rdma_connect(p->id, &param) == 0) {
		e = peer_event(p, RDMA_CM_EVENT_UNREACHABLE);
		peer_saw(p, "unreachable:%d", e->status);
		rdma_ack_cm_event(e);
	} else { /* siw says it at once */
		peer_saw(p, "unreachable:%d", -errno);
	}
	peer_judge(p);
	peer_close(p);
}

/* --- an interface goes down, and all its connections with it; the next one comes to be --- */

static void outage(struct peer *p)
{
	peer_open(p, p->a);
	peer_begin(p, peer_last_word);
	if (p->a->run)
		must(system(p->a->run) == 0, "%s failed", p->a->run);
	peer_left(p);
	peer_drop(p);
	brief(p);
	peer_close(p);
}

/* --- many, one after the other, each with a word --- */

static void many(struct peer *p)
{
	peer_open(p, p->a);
	for (unsigned i = 0; i < p->a->count; i++) {
		if (p->a->passive)
			peer_request(p);
		else
			peer_resolve(p, p->a->port);
		peer_expect_word(p);
		peer_meet(p);
		if (!p->a->passive)
			peer_tell(p, i);
		must(peer_hear(p) == i, "out of step");
		if (p->a->passive)
			peer_last_word(p, i);
		if (p->a->passive)
			peer_left(p);
		else
			peer_leave(p);
		peer_drop(p);
	}
	peer_close(p);
}

const struct peer_scenario peer_ends[] = {
	{ "reject", "rejected with private data", reject, rejected },
	{ "private", "private data of full length, depths", private_passive, private_active },
	{ "leave", "disconnected by -k active, passive or both", leave, leave },
	{ "unserved", "no listener", refused_once, refused },
	{ "silent", "no answer", absent, silence },
	{ "outage", "-x takes an interface down, which ends the connection", outage, outage },
	{ "many", "-n connections", many, many },
	{ 0 }
};

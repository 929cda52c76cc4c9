/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/show.h"

#include "engine/cq.h"
#include "engine/event.h"
#include "engine/mkey.h"
#include "engine/pd.h"
#include "engine/qp.h"
#include "util/ip.h"

#include <inttypes.h>
#include <string.h>

/* --- queue pairs --- */

static const char *type_of(const struct eng_qp *qp)
{
	if (qp->gsi)
		return "GSI";
	switch (qp->type) {
	case IBV_QPT_RC: return "RC";
	case IBV_QPT_UC: return "UC";
	case IBV_QPT_UD: return "UD";
	case IBV_QPT_XRC_SEND: return "XRC_INI";
	case IBV_QPT_XRC_RECV: return "XRC_TGT";
	default: return "-";
	}
}

static const char *state_of(enum ibv_qp_state s)
{
	static const char *const names[] = {
		[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT", [IBV_QPS_RTR] = "RTR", [IBV_QPS_RTS] = "RTS",
		[IBV_QPS_SQD] = "SQD", [IBV_QPS_SQE] = "SQE", [IBV_QPS_ERR] = "ERR",
	};

	return (size_t)s < sizeof(names) / sizeof(names[0]) && names[s] ? names[s] : "-";
}

static const char *migration_of(enum ibv_mig_state s)
{
	return s == IBV_MIG_REARM ? "REARM" : s == IBV_MIG_ARMED ? "ARMED" : "MIGRATED";
}

static const char *peer_of(const struct eng_qp_facts *f, char text[INET6_ADDRSTRLEN])
{
	static const uint8_t none[16];

	return memcmp(f->peer, none, sizeof(none)) ? ut_ip_text(f->peer, text) : "-";
}

static void show_qp(struct eng_qp *qp, const struct eng_show_who *who, FILE *out)
{
	struct eng_qp_facts f = { .way = "-", .reason = "-", .waits = "-" };
	char peer[INET6_ADDRSTRLEN];
	struct eng_dev *dev = qp->dev;
	bool connected = qp->type != IBV_QPT_UD;

	eng_dev_held(dev);
	dev->proto->qp_facts(qp, &f);
	fprintf(out, "link %s/%d lqpn %" PRIu32, dev->name, ENG_PORT_NUM, qp->qpn);
	if (connected)
		fprintf(out, " rqpn %" PRIu32, qp->attr.dest_qp_num);
	fprintf(out, " type %s state %s", type_of(qp), state_of(eng_qp_state(qp)));
	if (connected)
		fprintf(out, " rq-psn %" PRIu32, f.rq_psn);
	fprintf(out, " sq-psn %" PRIu32, f.sq_psn);
	if (connected)
		fprintf(out, " path-mig-state %s", migration_of(qp->attr.path_mig_state));
	if (qp->pd)
		fprintf(out, " pdn %" PRIu32, qp->pd->number);
	fprintf(out, " pid %d comm %s", who->pid, who->comm);
	fprintf(out, " peer %s way %s reason %s waits %s", peer_of(&f, peer), f.way, f.reason, f.waits);
	fprintf(out, " sq %" PRIu32 "/%" PRIu32 " rq %" PRIu32 "/%" PRIu32, eng_ring_used(&qp->sq), qp->sq.max,
		eng_ring_used(&qp->rq), qp->rq.max);
	fprintf(out, " posted %" PRIu32 " sent %" PRIu32 " received %" PRIu32 " retries %u\n",
		atomic_load_explicit(&qp->sq.tail, memory_order_relaxed),
		atomic_load_explicit(&qp->sq.head, memory_order_relaxed),
		atomic_load_explicit(&qp->rq.head, memory_order_relaxed), f.retries);
}

void eng_show_qps(struct eng_dev *dev, const struct eng_show_who *who, FILE *out)
{
	struct eng_qp *qp;
	uint32_t at = 0;

	while ((qp = ut_idtab_next(&dev->qps, &at)))
		show_qp(qp, who, out);
}

/* --- the others --- */

void eng_show_cqs(struct eng_dev *dev, const struct eng_show_who *who, FILE *out)
{
	struct eng_cq *cq;

	ut_list_each(cq, &dev->cqs, node) {
		uint32_t size, unread;

		ut_lock(&cq->lock);
		size = cq->size;
		unread = cq->tail - cq->head;
		ut_unlock(&cq->lock);
		fprintf(out, "dev %s cqn %" PRIu32 " cqe %" PRIu32 " users %u ctxn %" PRIu32 " pid %d comm %s unread %" PRIu32
			" channel %s\n", dev->name, cq->number, size, atomic_load(&cq->users), cq->ctx->number, who->pid,
			who->comm, unread, cq->chan ? "yes" : "no");
	}
}

static const char *kind_of(const struct eng_mkey *mk)
{
	return mk->kind == ENG_MR ? "region" : mk->kind == ENG_MW_TYPE_1 ? "window-1" : "window-2";
}

void eng_show_mrs(struct eng_dev *dev, const struct eng_show_who *who, FILE *out)
{
	struct eng_mkey *mk;
	uint32_t at = 0;

	while ((mk = ut_idtab_next(&dev->mkeys, &at)))
		fprintf(out, "dev %s mrn %" PRIu32 " rkey 0x%08" PRIx32 " lkey 0x%08" PRIx32 " iova 0x%" PRIx64 " mrlen %" PRIu64
			" pdn %" PRIu32 " pid %d comm %s access 0x%x kind %s\n", dev->name, mk->key >> 8, mk->key, mk->key,
			mk->iova, mk->length, mk->pd ? mk->pd->number : 0, who->pid, who->comm, mk->access, kind_of(mk));
}

void eng_show_counters(struct eng_dev *dev, FILE *out)
{
	for (int i = 0; i < ENG_C_COUNT; i++)
		fprintf(out, "counter %s %s %" PRIu64 "\n", dev->name, eng_counter_rows[i].name, dev->counters[i]);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/migrate.h"

#include "engine/qp_state.h"
#include "proto/ib/port.h"
#include "proto/ib/qp.h"
#include "proto/ib/route.h"

#include <errno.h>

static void enter(struct ibp_qp *q, enum ibv_mig_state s)
{
	bool slow = s != IBV_MIG_MIGRATED;

	q->conn.migration = (uint8_t)s;
	q->qp->attr.path_mig_state = s;
	ibp_req_put(&q->conn.req, IBP_REQ_MIGRATION, slow);
	ibp_resp_put(&q->conn.resp, IBP_RESP_MIGRATION, slow);
}

/* The alternate path becomes the path. */
static void change_path(struct ibp_qp *q)
{
	struct ibv_qp_attr *a = &q->qp->attr;

	a->ah_attr = a->alt_ah_attr;
	a->pkey_index = a->alt_pkey_index;
	a->timeout = a->alt_timeout ? a->alt_timeout : a->timeout;
	a->alt_ah_attr = (struct ibv_ah_attr){ 0 };
	a->alt_port_num = 0;
	ibp_qp_renew_path(q);
	enter(q, IBV_MIG_MIGRATED);
	ibp_activate(q);
	eng_qp_tell(q->qp, IBV_EVENT_PATH_MIG);
}

void ibp_migration_modified(struct ibp_qp *q)
{
	enum ibv_mig_state to = q->qp->attr.path_mig_state;

	if (to == IBV_MIG_MIGRATED && q->conn.migration == IBV_MIG_ARMED)
		change_path(q);
	else
		enter(q, to);
}

static bool is_path_of(const struct ibp_qp *q, const struct ibv_ah_attr *ah)
{
	const struct ibv_ah_attr *now = &q->qp->attr.ah_attr;

	return now->dlid == ah->dlid && now->src_path_bits == ah->src_path_bits && now->sl == ah->sl;
}

int ibp_migration_load(struct eng_dev *dev, uint32_t qpn, uint32_t peer, const struct ibv_qp_attr *attr)
{
	struct ibp_qp *q = ibp_qp_to(dev, qpn, peer);
	struct ibv_qp_attr a = *attr;
	int mask = IBV_QP_ALT_PATH;

	if (!q)
		return -ENOENT;
	if (is_path_of(q, &attr->alt_ah_attr))
		return -EALREADY;
	a.path_mig_state = IBV_MIG_REARM;
	if (q->conn.migration != IBV_MIG_ARMED)
		mask |= IBV_QP_PATH_MIG_STATE;
	return eng_qp_modify_held(q->qp, &a, mask);
}

void ibp_migration_reset(struct ibp_qp *q)
{
	q->conn.migration = IBV_MIG_MIGRATED;
}

bool ibp_migrate(struct ibp_qp *q)
{
	if (q->conn.migration != IBV_MIG_ARMED)
		return false;
	change_path(q);
	return true;
}

/* Messages of the shm channel name the ends, not the path between them. */
static bool came_by_alternate(struct ibp_qp *q, const struct link_rx *rx)
{
	struct ibp_path alternate;
	struct eng_av av;

	if (q->port->arrived == &ibp_frame_shm)
		return ibp_path_admits_message(&q->conn.path, rx->src, rx->dst);
	eng_av_from_attr(&av, &q->qp->attr.alt_ah_attr);
	return ibp_path_set(q->port, &alternate, &av, 0) == 0 && ibp_path_admits(&alternate, rx) &&
	       ibp_icrc_matches(q->port, NULL, rx);
}

void ibp_migration_asked(struct ibp_qp *q, bool migreq, const struct link_rx *rx)
{
	if (q->conn.migration == IBV_MIG_ARMED && migreq && came_by_alternate(q, rx))
		change_path(q);
}

void ibp_migration_heard(struct ibp_qp *q, bool migreq)
{
	if (q->conn.migration == IBV_MIG_REARM && !migreq)
		enter(q, IBV_MIG_ARMED);
}

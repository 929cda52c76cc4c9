/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/proxy.h"

#include "engine/dev.h"
#include "engine/pending.h"
#include "engine/qp_state.h"
#include "engine/recv_queue.h"
#include "engine/ring.h"
#include "util/alloc.h"

#include <stdlib.h>

struct eng_qp *eng_proxy_new(struct eng_dev *dev)
{
	struct eng_qp *qp = eng_qp_alloc(dev);

	if (!qp)
		return NULL;
	qp->dev = dev;
	qp->type = IBV_QPT_XRC_RECV;
	qp->attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE; /* the target has checked its own */
	ut_list_init(&qp->mw);
	ut_list_init(&qp->pending);
	if (eng_ring_init(&qp->sq, 0, (uint32_t)sizeof(struct eng_swqe)) < 0) {
		free(qp);
		return NULL;
	}
	if (eng_ring_init(&qp->rq, 0, eng_recv_stride(0)) < 0) {
		eng_ring_fini(&qp->sq);
		free(qp);
		return NULL;
	}
	eng_qp_set_state(qp, IBV_QPS_RTS);
	return qp;
}

bool eng_proxy_revive(struct eng_qp *qp)
{
	if (eng_qp_state(qp) != IBV_QPS_ERR)
		return false;
	eng_dev_unmark(qp->dev, qp);
	eng_qp_set_state(qp, IBV_QPS_RTS);
	return true;
}

void eng_proxy_free(struct eng_qp *qp)
{
	eng_dev_unmark(qp->dev, qp);
	eng_ring_fini(&qp->sq);
	eng_ring_fini(&qp->rq);
	free(qp);
}

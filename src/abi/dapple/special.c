/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Special queue pairs. IBTA 11.2.4.5 names four; Ethernet has only the GSI queue pair. */
#include "dapple/verbs.h"

#include "abi/dapple/verbs_ops.h"
#include "engine/dev.h"
#include "util/export.h"
#include "util/log.h"

#include <errno.h>

UT_EXPORT struct ibv_qp *dpl_create_special_qp(struct ibv_pd *pd, uint8_t port_num,
					       enum dpl_special_qp type,
					       struct ibv_qp_init_attr *attr)
{
	const struct eng_dev *dev = dpl_dev(pd->context);

	if (!dev)
		return NULL;
	errno = EINVAL;
	if (!eng_port_is(port_num) ||
	    (unsigned)type > DPL_QP_RAW_ETHERTYPE)
		return NULL;
	if (type == DPL_QP_GSI)
		return dpl_verbs_ops()->create_gsi(pd, attr);
	ut_error("%s: cannot create the special queue pair (%s): the call fails with EOPNOTSUPP; use queue pair 1 "
		 "(DPL_QP_GSI), or an ordinary type", dev->name, type == DPL_QP_SMI ?
		 "queue pair 0 manages subnets, which Ethernet does not have" :
		 "the adapter sends no raw packets");
	errno = EOPNOTSUPP;
	return NULL;
}

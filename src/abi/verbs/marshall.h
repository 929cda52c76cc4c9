/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies of attributes and path records between the kernel's form and that of libibverbs, for libraries
 * that talk to the kernel's rdma_cm themselves. The distribution installs no header that declares them.
 */
#ifndef ABI_VERBS_MARSHALL_H
#define ABI_VERBS_MARSHALL_H

#include "util/export.h"

#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

UT_EXPORT void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *to,
					  const struct ib_uverbs_ah_attr *from);
UT_EXPORT void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *to,
					  const struct ib_uverbs_qp_attr *from);
UT_EXPORT void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *to,
					   const struct ib_user_path_rec *from);
UT_EXPORT void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *to,
					 const struct ibv_sa_path_rec *from);

#endif

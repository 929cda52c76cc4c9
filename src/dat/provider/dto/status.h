/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations and completion statuses of verbs as DAT names them. Called where a work completion becomes a DTO event
 * (dto/event.c), and where a request is refused before it is posted (dto/request.c, recv.c, mem/rmr_bind.c); the
 * filled event goes to the EVD (evd/push.c).
 */
#ifndef DAT_PROVIDER_DTO_STATUS_H
#define DAT_PROVIDER_DTO_STATUS_H

#include "dat/provider/dto/dto.h"

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_ep;
struct dpr_rmr;

DAT_DTO_COMPLETION_STATUS dpr_dto_status(enum ibv_wc_status s);

/* Fills the fields of an operation's event that do not depend on its completion. */
void dpr_dto_fill(DAT_EVENT *ev, struct dpr_ep *ep, enum dpr_op op, DAT_DTO_COOKIE cookie,
		  DAT_DTO_COMPLETION_STATUS status, uint32_t bytes, struct dpr_rmr *rmr);

/* Makes a filled event one of the IB extension, of this DAT_IB_DTOS and DAT_IB_EXT_TYPE. */
void dpr_dto_extend(DAT_EVENT *ev, unsigned int dto, unsigned int type, bool ok);

#endif

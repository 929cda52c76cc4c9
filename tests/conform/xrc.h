/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Making XRC objects, for the two topics about them. */
#ifndef CONFORM_XRC_H
#define CONFORM_XRC_H

#include "conf.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline struct ibv_xrcd *domain_try(struct ibv_context *ctx, int fd, int oflags)
{
	errno = 0;
	return ibv_open_xrcd(ctx, &(struct ibv_xrcd_init_attr){
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd, .oflags = oflags });
}

static inline struct ibv_xrcd *domain(struct ibv_context *ctx, int fd, int oflags)
{
	struct ibv_xrcd *x = domain_try(ctx, fd, oflags);

	if (!x)
		CF_DIE("ibv_open_xrcd: %s", strerror(errno));
	cf_keep((cf_undo)ibv_close_xrcd, x, "ibv_close_xrcd");
	return x;
}

static inline struct ibv_srq *xrc_srq(struct cf_side *s, struct ibv_xrcd *x, uint32_t *number)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 16, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC, .pd = s->pd, .xrcd = x, .cq = s->rcq,
	};
	struct ibv_srq *q = ibv_create_srq_ex(s->ctx, &init);

	if (!q)
		CF_DIE("no XRC receive queue: %s", strerror(errno));
	cf_keep((cf_undo)ibv_destroy_srq, q, "ibv_destroy_srq");
	CF_OK(ibv_get_srq_num(q, number));
	return q;
}

static inline struct ibv_qp *xrc_qp(struct cf_side *s, enum ibv_qp_type type, struct ibv_xrcd *x)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type, .send_cq = s->scq, .cap = { 16, 0, 2, 0, 0 }, .sq_sig_all = 0,
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = s->pd,
	};
	struct ibv_qp *qp;

	if (type == IBV_QPT_XRC_RECV)
		init = (struct ibv_qp_init_attr_ex){ .qp_type = type, .xrcd = x,
						     .comp_mask = IBV_QP_INIT_ATTR_XRCD };
	qp = ibv_create_qp_ex(s->ctx, &init);
	if (!qp)
		CF_DIE("no XRC QP of type %d: %s", type, strerror(errno));
	cf_keep((cf_undo)ibv_destroy_qp, qp, "ibv_destroy_qp");
	return qp;
}

static inline int temp_file(void)
{
	char name[] = "/tmp/conform-xrcd-XXXXXX";
	int fd = mkstemp(name);

	CF_TRUE(fd >= 0);
	unlink(name);
	return fd;
}

#endif

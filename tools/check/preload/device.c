/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Limits of other adapters, for programs that ask for more than those have (dapple check --device). 0: the firmware of each
 * adapter says it.
 *
 *      rxe    Linux 6.1, enum rxe_device_param
 *      siw    Linux 6.1, SIW_MAX_QP_WR, SIW_MAX_SGE, SIW_MAX_INLINE
 *      mlx5   Linux 6.1, mlx5_ib_query_device() with the WQEs of 512 octets and log_max_qp_sz 15 of ConnectX-4 to 7
 *      irdma  Linux 6.1, with an E810: IRDMA_MAX_QP_WRS(8), IRDMA_MAX_WQ_FRAGMENT_COUNT,
 *             IRDMA_MAX_INLINE_DATA_SIZE, IRDMA_MAX_CQ_SIZE
 *      efa    Linux 6.1, EFA_IO_TX_DESC_NUM_BUFS, EFA_IO_TX_DESC_INLINE_MAX_SIZE
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define TYPE(t) (1u << IBV_QPT_##t)

static const struct device {
	const char *name;
	uint32_t wr, send_sge, recv_sge, inline_data, cqe, types;
	bool srq, atomics;
} devices[] = {
	{ "rxe", 1048576, 32, 32, 512, 0, TYPE(RC) | TYPE(UC) | TYPE(UD), true, true },
	{ "siw", 32768, 6, 6, 96, 0, TYPE(RC), true, false },
	{ "mlx5", 32768, 30, 32, 0, 4194303, TYPE(RC) | TYPE(UC) | TYPE(UD) | TYPE(XRC_SEND) | TYPE(XRC_RECV) | TYPE(RAW_PACKET), true, true },
	{ "irdma", 4063, 13, 13, 101, 1048574, TYPE(RC) | TYPE(UD), false, false },
	{ "efa", 0, 2, 1, 32, 0, TYPE(UD), false, false },
};

/* NULL: no limits but those of the adapter in use. */
static const struct device *chosen(void)
{
	const char *options = getenv(CHECK_OPTIONS_ENV), *at = options ? strstr(options, "device=") : NULL;

	for (size_t i = 0; at && i < sizeof(devices) / sizeof(devices[0]); i++)
		if (!strcmp(at + 7, devices[i].name))
			return &devices[i];
	return NULL;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

void check_device_qp(const struct ibv_qp_init_attr *a, const struct check_site *site)
{
	const struct device *d = chosen();
	const struct ibv_qp_cap *c = &a->cap;

	if (!d)
		return;
	if (a->qp_type >= 32 || !(d->types & 1u << a->qp_type))
		check_report(CHECK_DEVICE, site, "a queue pair of type %d is asked for, which %s does not have", (int)a->qp_type, d->name);
	else if (d->wr && larger(c->max_send_wr, c->max_recv_wr) > d->wr)
		check_report(CHECK_DEVICE, site, "%u requests are asked for, and %s has queues of %u", larger(c->max_send_wr, c->max_recv_wr),
			     d->name, d->wr);
	else if (c->max_send_sge > d->send_sge)
		check_report(CHECK_DEVICE, site, "%u pieces of a request are asked for, and %s has %u", c->max_send_sge, d->name, d->send_sge);
	else if (c->max_recv_sge > d->recv_sge)
		check_report(CHECK_DEVICE, site, "%u pieces of a receive are asked for, and %s has %u", c->max_recv_sge, d->name, d->recv_sge);
	else if (d->inline_data && c->max_inline_data > d->inline_data)
		check_report(CHECK_DEVICE, site, "%u octets inline are asked for, and %s has %u", c->max_inline_data, d->name, d->inline_data);
}

void check_device_cq(uint32_t cqe, const struct check_site *site)
{
	const struct device *d = chosen();

	if (d && d->cqe && cqe > d->cqe)
		check_report(CHECK_DEVICE, site, "a completion queue of %u entries is asked for, and %s has %u", cqe, d->name, d->cqe);
}

void check_device_srq(const struct check_site *site)
{
	const struct device *d = chosen();

	if (d && !d->srq)
		check_report(CHECK_DEVICE, site, "a shared receive queue is asked for, which %s does not have", d->name);
}

void check_device_atomic(const struct check_site *site)
{
	const struct device *d = chosen();

	if (d && !d->atomics)
		check_report(CHECK_DEVICE, site, "an atomic is posted, which %s does not have", d->name);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Limits are those of NICs, since programs are written for them, and true: the engine refuses what
 * lies beyond. Queues are memory of the kernel that is zero until it is touched, so a large one costs
 * nothing until it is used. docs/limits.md compares each number with other adapters and gives the
 * reason of each lower one; tests/interop/limits holds the page against query_device.
 */
#include "device/limits.h"

#include "device/device.h"
#include "device/version.h"
#include "engine/dev.h"

#include <endian.h>
#include <limits.h>
#include <stdio.h>

#define MAX_QP 65520 /* one slot has 2^16 QPNs, the special ones among them */
#define MAX_RD_ATOM 16

/* Not an assigned number, so that no provider's code takes the adapter for its hardware. */
#define VENDOR_ID 0xdab1e

static const struct ibv_device_attr limits = {
	.vendor_id = VENDOR_ID,
	.hw_ver = 0,
	.vendor_part_id = 0,
	.max_mr_size = UINT64_MAX,         /* registration touches no page */
	.page_size_cap = 0xfffffffffffff000,
	.max_qp = MAX_QP,
	.max_qp_wr = 32768,
	.max_sge = 32,
	.max_sge_rd = 32,                  /* fewer makes upper layers split reads */
	.max_cq = 1 << 24,
	.max_cqe = (1 << 22) - 1,          /* libfabric asks for 786,432 */
	.max_mr = 1 << 20,
	.max_pd = 1 << 24,
	.max_qp_rd_atom = MAX_RD_ATOM,
	.max_qp_init_rd_atom = MAX_RD_ATOM,
	.max_res_rd_atom = MAX_RD_ATOM * MAX_QP,
	.max_ee_rd_atom = 0,
	.max_ee_init_rd_atom = 0,
	.atomic_cap = IBV_ATOMIC_HCA,
	.max_ee = 0,
	.max_rdd = 0,
	.max_mw = 1 << 20,
	.max_raw_ipv6_qp = 0,
	.max_raw_ethy_qp = 0,
	.max_mcast_grp = 8192,
	.max_mcast_qp_attach = 240,
	.max_total_mcast_qp_attach = 8192 * 240,
	.max_ah = INT_MAX,
	.max_fmr = 0,
	.max_map_per_fmr = 0,
	.max_srq = 1 << 23,
	.max_srq_wr = 32768,
	.max_srq_sge = 32,
	.max_pkeys = DEV_PKEY_TBL_LEN,
	.local_ca_ack_delay = 15,          /* 134 ms: a peer without a core for a while */
	.phys_port_cnt = 1,
	.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
			    IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
			    IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_BAD_PKEY_CNTR |
			    IBV_DEVICE_BAD_QKEY_CNTR |
			    IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
			    IBV_DEVICE_XRC,
};

void dev_limits_set(struct eng_dev *dev, const struct dev_info *info,
		    void (*limit)(struct ibv_device_attr *attr))
{
	struct ibv_device_attr_ex *x = &dev->attr;
	struct ibv_device_attr *a = &x->orig_attr;

	*x = (struct ibv_device_attr_ex){
		.orig_attr = limits,
		/* Completion times are nanoseconds of CLOCK_MONOTONIC, all 64 bits. */
		.completion_timestamp_mask = UINT64_MAX,
		.hca_core_clock = 1000000, /* kHz */
		.phys_port_cnt_ex = 1,
	};
	limit(a);
	eng_dev_held(dev); /* no other thread knows it yet */
	dev->port.n_pkeys = (uint8_t)a->max_pkeys;
	x->device_cap_flags_ex = a->device_cap_flags;
	snprintf(a->fw_ver, sizeof(a->fw_ver), "%s", dev_version());
	a->node_guid = htobe64(info->guid);
	a->sys_image_guid = htobe64(info->image_guid);
	dev->max_inline = 256;
	dev->max_msg_sz = 1u << 30;
}

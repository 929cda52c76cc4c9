/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The private nodes: functions that rdma-core's libraries and providers use among themselves. Programs that link
 * the extra calls of a provider (libmlx5, libefa) load it above this library: it registers a driver, finds no
 * device of its kind and calls nothing else. Commands for a kernel driver are refused. No header declares these
 * functions.
 */
#include "abi/verbs/context.h"
#include "abi/verbs/port.h"
#include "util/export.h"

#include <stdarg.h>

/*
 * rdma-core numbers the node anew when a function of it changes: 25 (releases 25 to 32), 33, 34 (34 to 56), 57, 59,
 * 64, 65. A
 * name is linked at node 34, or at the first node that has it.
 */
#define AT(node, name) UT_SYMVER(#name "@IBVERBS_PRIVATE_" #node)
#define FIRST_AT(node, name) UT_SYMVER(#name "@@IBVERBS_PRIVATE_" #node)
#define BEHIND_59(name) AT(64, name) AT(65, name)
#define SINCE_25(name) AT(25, name) SINCE_33(name)
#define SINCE_33(name) AT(33, name) SINCE_34(name)
#define SINCE_34(name) FIRST_AT(34, name) AT(57, name) AT(59, name) BEHIND_59(name)
#define SINCE_59(name) FIRST_AT(59, name) BEHIND_59(name)
#define SINCE_64(name) FIRST_AT(64, name) AT(65, name)
#define SINCE_65(name) FIRST_AT(65, name)
#define ONLY_25(name) FIRST_AT(25, name)
#define TO_34(name) AT(25, name) AT(33, name) FIRST_AT(34, name)

#define PRIVATE(when, type, name, ...)            \
	type prv_##name(__VA_ARGS__);             \
	UT_EXPORT when(name) type prv_##name(__VA_ARGS__)

/* Arguments are not read, so none are declared. */
#define REFUSED(when, name)            \
	PRIVATE(when, int, name, void) \
	{                              \
		errno = EOPNOTSUPP;    \
		return EOPNOTSUPP;     \
	}

/* The name says for which node the structure behind `ops` is; no driver serves a device here. */
#define REGISTER(node)                                                  \
	void verbs_register_driver_##node(const void *ops);             \
	UT_EXPORT void verbs_register_driver_##node(const void *ops)    \
	{                                                               \
	}

REGISTER(25)
REGISTER(33)
REGISTER(34)
REGISTER(57)
REGISTER(59)
REGISTER(64)
REGISTER(65)

PRIVATE(SINCE_34, void, __verbs_log, const void *ctx, uint32_t level, const char *fmt, ...)
{
}

PRIVATE(SINCE_25, int, ibv_query_gid_type, struct ibv_context *c, uint8_t port, unsigned index,
	unsigned *type)
{
	return vrb_gid_type(c, port, index, type);
}

/* Reads below a provider's sysfs device; no device here has one. */
PRIVATE(SINCE_25, int, ibv_read_ibdev_sysfs_file, char *buf, size_t size, const void *sysfs_dev,
	const char *fmt, ...)
{
	errno = ENOENT;
	return -1;
}

PRIVATE(SINCE_25, struct ibv_context *, verbs_open_device, struct ibv_device *d, void *private_data)
{
	return vrb_open(d);
}

/* The context, queues and tables of a provider do not work with those of this library. */
PRIVATE(SINCE_25, void *, _verbs_init_and_alloc_context, void)
{
	return vrb_null(-EOPNOTSUPP);
}

PRIVATE(SINCE_25, void, verbs_uninit_context, void *context)
{
}

PRIVATE(SINCE_25, void, verbs_set_ops, void *context, const void *ops)
{
}

PRIVATE(SINCE_25, void, verbs_init_cq, void)
{
}

PRIVATE(SINCE_25, unsigned int, __ioctl_final_num_attrs, unsigned int num_attrs, const void *link)
{
	return num_attrs;
}

extern bool prv_allow_disassociate_destroy;
UT_EXPORT SINCE_25(verbs_allow_disassociate_destroy) bool prv_allow_disassociate_destroy;

PRIVATE(SINCE_34, const char *, ibv_wr_opcode_str, unsigned opcode)
{
	static const char *const names[] = {
		[IBV_WR_RDMA_WRITE] = "IBV_WR_RDMA_WRITE",
		[IBV_WR_RDMA_WRITE_WITH_IMM] = "IBV_WR_RDMA_WRITE_WITH_IMM",
		[IBV_WR_SEND] = "IBV_WR_SEND",
		[IBV_WR_SEND_WITH_IMM] = "IBV_WR_SEND_WITH_IMM",
		[IBV_WR_RDMA_READ] = "IBV_WR_RDMA_READ",
		[IBV_WR_ATOMIC_CMP_AND_SWP] = "IBV_WR_ATOMIC_CMP_AND_SWP",
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = "IBV_WR_ATOMIC_FETCH_AND_ADD",
		[IBV_WR_LOCAL_INV] = "IBV_WR_LOCAL_INV",
		[IBV_WR_BIND_MW] = "IBV_WR_BIND_MW",
		[IBV_WR_SEND_WITH_INV] = "IBV_WR_SEND_WITH_INV",
	};

	return opcode < sizeof(names) / sizeof(names[0]) && names[opcode] ? names[opcode] : "unknown";
}

/* Of a kernel's device. */
PRIVATE(ONLY_25, int, ibv_get_fw_ver, char *value, size_t len, const void *sysfs_dev)
{
	errno = ENOENT;
	return -1;
}
REFUSED(SINCE_25, execute_ioctl)
REFUSED(SINCE_25, ibv_cmd_advise_mr)
REFUSED(SINCE_25, ibv_cmd_alloc_dm)
REFUSED(SINCE_59, ibv_cmd_alloc_dmah)
REFUSED(SINCE_25, ibv_cmd_alloc_mw)
REFUSED(SINCE_25, ibv_cmd_alloc_pd)
REFUSED(SINCE_25, ibv_cmd_attach_mcast)
REFUSED(SINCE_25, ibv_cmd_close_xrcd)
REFUSED(SINCE_25, ibv_cmd_create_ah)
REFUSED(SINCE_65, ibv_cmd_create_comp_cntr)
REFUSED(SINCE_25, ibv_cmd_create_counters)
REFUSED(SINCE_25, ibv_cmd_create_cq)
REFUSED(SINCE_25, ibv_cmd_create_cq_ex)
REFUSED(SINCE_34, ibv_cmd_create_cq_ex2)
REFUSED(SINCE_25, ibv_cmd_create_flow)
REFUSED(SINCE_25, ibv_cmd_create_flow_action_esp)
REFUSED(SINCE_25, ibv_cmd_create_qp)
REFUSED(SINCE_25, ibv_cmd_create_qp_ex)
REFUSED(SINCE_25, ibv_cmd_create_qp_ex2)
REFUSED(SINCE_25, ibv_cmd_create_rwq_ind_table)
REFUSED(SINCE_25, ibv_cmd_create_srq)
REFUSED(SINCE_25, ibv_cmd_create_srq_ex)
REFUSED(SINCE_25, ibv_cmd_create_wq)
REFUSED(SINCE_25, ibv_cmd_dealloc_mw)
REFUSED(SINCE_25, ibv_cmd_dealloc_pd)
REFUSED(SINCE_25, ibv_cmd_dereg_mr)
REFUSED(SINCE_25, ibv_cmd_destroy_ah)
REFUSED(SINCE_65, ibv_cmd_destroy_comp_cntr)
REFUSED(SINCE_25, ibv_cmd_destroy_counters)
REFUSED(SINCE_25, ibv_cmd_destroy_cq)
REFUSED(SINCE_25, ibv_cmd_destroy_flow)
REFUSED(SINCE_25, ibv_cmd_destroy_flow_action)
REFUSED(SINCE_25, ibv_cmd_destroy_qp)
REFUSED(SINCE_25, ibv_cmd_destroy_rwq_ind_table)
REFUSED(SINCE_25, ibv_cmd_destroy_srq)
REFUSED(SINCE_25, ibv_cmd_destroy_wq)
REFUSED(SINCE_25, ibv_cmd_detach_mcast)
REFUSED(SINCE_59, ibv_cmd_export_dmabuf_fd)
REFUSED(SINCE_25, ibv_cmd_free_dm)
REFUSED(SINCE_59, ibv_cmd_free_dmah)
REFUSED(SINCE_25, ibv_cmd_get_context)
REFUSED(SINCE_65, ibv_cmd_inc_comp_cntr)
REFUSED(SINCE_65, ibv_cmd_inc_err_comp_cntr)
REFUSED(SINCE_25, ibv_cmd_modify_cq)
REFUSED(SINCE_25, ibv_cmd_modify_flow_action_esp)
REFUSED(SINCE_25, ibv_cmd_modify_qp)
REFUSED(SINCE_25, ibv_cmd_modify_qp_ex)
REFUSED(SINCE_25, ibv_cmd_modify_srq)
REFUSED(SINCE_25, ibv_cmd_modify_wq)
REFUSED(SINCE_25, ibv_cmd_open_qp)
REFUSED(SINCE_25, ibv_cmd_open_xrcd)
REFUSED(SINCE_25, ibv_cmd_poll_cq)
REFUSED(SINCE_25, ibv_cmd_post_recv)
REFUSED(SINCE_25, ibv_cmd_post_send)
REFUSED(SINCE_25, ibv_cmd_post_srq_recv)
REFUSED(SINCE_65, ibv_cmd_qp_attach_comp_cntr)
REFUSED(SINCE_65, ibv_cmd_query_comp_cntr_caps)
REFUSED(SINCE_25, ibv_cmd_query_context)
REFUSED(TO_34, ibv_cmd_query_device)
REFUSED(SINCE_33, ibv_cmd_query_device_any)
REFUSED(ONLY_25, ibv_cmd_query_device_ex)
REFUSED(SINCE_25, ibv_cmd_query_mr)
REFUSED(SINCE_25, ibv_cmd_query_port)
REFUSED(SINCE_59, ibv_cmd_query_port_speed)
REFUSED(SINCE_25, ibv_cmd_query_qp)
REFUSED(SINCE_25, ibv_cmd_query_srq)
REFUSED(SINCE_65, ibv_cmd_read_comp_cntr)
REFUSED(SINCE_25, ibv_cmd_read_counters)
REFUSED(SINCE_65, ibv_cmd_read_err_comp_cntr)
REFUSED(SINCE_25, ibv_cmd_reg_dm_mr)
REFUSED(SINCE_34, ibv_cmd_reg_dmabuf_mr)
REFUSED(SINCE_25, ibv_cmd_reg_mr)
REFUSED(SINCE_59, ibv_cmd_reg_mr_ex)
REFUSED(SINCE_25, ibv_cmd_req_notify_cq)
REFUSED(SINCE_25, ibv_cmd_rereg_mr)
REFUSED(SINCE_25, ibv_cmd_resize_cq)
REFUSED(SINCE_65, ibv_cmd_set_comp_cntr)
REFUSED(SINCE_65, ibv_cmd_set_err_comp_cntr)
REFUSED(SINCE_64, ibv_dmabuf_heap_alloc)
REFUSED(SINCE_64, ibv_dmabuf_heap_cc_shared_init)
REFUSED(SINCE_64, ibv_dmabuf_heap_destroy)
REFUSED(SINCE_64, ibv_dmabuf_heap_free)

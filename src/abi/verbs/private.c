/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The private node: functions that rdma-core's libraries and providers use among themselves. Programs that link
 * the extra calls of a provider (libmlx5, libefa) load it above this library: it registers a driver, finds no
 * device of its kind and calls nothing else. Commands for a kernel driver are refused. No header declares these
 * functions.
 *
 * VRB_PRIVATE is the number of the node; only the name of the registration contains it.
 */
#include "abi/verbs/context.h"
#include "abi/verbs/port.h"
#include "util/export.h"

#include <stdarg.h>

#ifndef VRB_PRIVATE
#define VRB_PRIVATE 34
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define verbs_register_driver JOIN(verbs_register_driver_, VRB_PRIVATE)

#define PRIVATE(type, name, ...)       \
	type name(__VA_ARGS__);        \
	UT_EXPORT type name(__VA_ARGS__)

/* Arguments are not read, so none are declared. */
#define REFUSED(name)                  \
	PRIVATE(int, name, void)       \
	{                              \
		errno = EOPNOTSUPP;    \
		return EOPNOTSUPP;     \
	}

PRIVATE(void, verbs_register_driver, const void *ops)
{
}

PRIVATE(void, __verbs_log, const void *ctx, uint32_t level, const char *fmt, ...)
{
}

PRIVATE(int, ibv_query_gid_type, struct ibv_context *c, uint8_t port, unsigned index,
	unsigned *type)
{
	return vrb_gid_type(c, port, index, type);
}

/* Reads below a provider's sysfs device; no device here has one. */
PRIVATE(int, ibv_read_ibdev_sysfs_file, char *buf, size_t size, const void *sysfs_dev,
	const char *fmt, ...)
{
	errno = ENOENT;
	return -1;
}

PRIVATE(struct ibv_context *, verbs_open_device, struct ibv_device *d, void *private_data)
{
	return vrb_open(d);
}

/* The context, queues and tables of a provider do not work with those of this library. */
PRIVATE(void *, _verbs_init_and_alloc_context, void)
{
	return vrb_null(-EOPNOTSUPP);
}

PRIVATE(void, verbs_uninit_context, void *context)
{
}

PRIVATE(void, verbs_set_ops, void *context, const void *ops)
{
}

PRIVATE(void, verbs_init_cq, void)
{
}

PRIVATE(unsigned int, __ioctl_final_num_attrs, unsigned int num_attrs, const void *link)
{
	return num_attrs;
}

extern bool verbs_allow_disassociate_destroy;
UT_EXPORT bool verbs_allow_disassociate_destroy;

REFUSED(execute_ioctl)
REFUSED(ibv_cmd_advise_mr)
REFUSED(ibv_cmd_alloc_dm)
REFUSED(ibv_cmd_alloc_mw)
REFUSED(ibv_cmd_alloc_pd)
REFUSED(ibv_cmd_attach_mcast)
REFUSED(ibv_cmd_close_xrcd)
REFUSED(ibv_cmd_create_ah)
REFUSED(ibv_cmd_create_counters)
REFUSED(ibv_cmd_create_cq)
REFUSED(ibv_cmd_create_cq_ex)
REFUSED(ibv_cmd_create_flow)
REFUSED(ibv_cmd_create_flow_action_esp)
REFUSED(ibv_cmd_create_qp)
REFUSED(ibv_cmd_create_qp_ex)
REFUSED(ibv_cmd_create_qp_ex2)
REFUSED(ibv_cmd_create_rwq_ind_table)
REFUSED(ibv_cmd_create_srq)
REFUSED(ibv_cmd_create_srq_ex)
REFUSED(ibv_cmd_create_wq)
REFUSED(ibv_cmd_dealloc_mw)
REFUSED(ibv_cmd_dealloc_pd)
REFUSED(ibv_cmd_dereg_mr)
REFUSED(ibv_cmd_destroy_ah)
REFUSED(ibv_cmd_destroy_counters)
REFUSED(ibv_cmd_destroy_cq)
REFUSED(ibv_cmd_destroy_flow)
REFUSED(ibv_cmd_destroy_flow_action)
REFUSED(ibv_cmd_destroy_qp)
REFUSED(ibv_cmd_destroy_rwq_ind_table)
REFUSED(ibv_cmd_destroy_srq)
REFUSED(ibv_cmd_destroy_wq)
REFUSED(ibv_cmd_detach_mcast)
REFUSED(ibv_cmd_free_dm)
REFUSED(ibv_cmd_get_context)
REFUSED(ibv_cmd_modify_cq)
REFUSED(ibv_cmd_modify_flow_action_esp)
REFUSED(ibv_cmd_modify_qp)
REFUSED(ibv_cmd_modify_qp_ex)
REFUSED(ibv_cmd_modify_srq)
REFUSED(ibv_cmd_modify_wq)
REFUSED(ibv_cmd_open_qp)
REFUSED(ibv_cmd_open_xrcd)
REFUSED(ibv_cmd_poll_cq)
REFUSED(ibv_cmd_post_recv)
REFUSED(ibv_cmd_post_send)
REFUSED(ibv_cmd_post_srq_recv)
REFUSED(ibv_cmd_query_context)
REFUSED(ibv_cmd_query_device_any)
REFUSED(ibv_cmd_query_mr)
REFUSED(ibv_cmd_query_port)
REFUSED(ibv_cmd_query_qp)
REFUSED(ibv_cmd_query_srq)
REFUSED(ibv_cmd_read_counters)
REFUSED(ibv_cmd_reg_dm_mr)
REFUSED(ibv_cmd_reg_dmabuf_mr)
REFUSED(ibv_cmd_reg_mr)
REFUSED(ibv_cmd_req_notify_cq)
REFUSED(ibv_cmd_rereg_mr)
REFUSED(ibv_cmd_resize_cq)

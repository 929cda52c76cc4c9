/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Options of rdma_set_option of Dapple's librdmacm, besides those of rdma_cma.h. Other libraries
 * refuse them with ENOSYS or EINVAL, so that a program can try them.
 */
#ifndef DAPPLE_CM_H
#define DAPPLE_CM_H

#ifdef __cplusplus
extern "C" {
#endif

/* The level of all options below. */
#define DPL_OPTION_LEVEL 0xdab

/*
 * The adapter that the id uses, where several have its address (roce and iwarp on one interface):
 * the device's name, as ibv_get_device_name() returns it, with or without its NUL. Must be set
 * before rdma_bind_addr and rdma_resolve_addr. EINVAL after these calls or for an empty or too long
 * name, ENODEV for a name that no device has.
 */
#define DPL_OPTION_DEVICE 0

/*
 * RDMA_OPTION_IB, RDMA_OPTION_IB_PATH of rdma_cma.h take an alternate path besides the primary one: a struct ibv_path_data
 * with the flags IBV_PATH_FLAG_ALTERNATE | IBV_PATH_FLAG_BIDIRECTIONAL. Before rdma_connect() it stands in one array with
 * the primary path, and goes with the request. On a connection it stands alone and is loaded at both ends:
 * RDMA_CM_EVENT_ROUTE_RESOLVED or RDMA_CM_EVENT_ROUTE_ERROR follows. EINVAL: no connection, or a LID that is none of
 * the two ports; EBUSY: an earlier path has no answer yet; EOPNOTSUPP: Ethernet.
 */

#ifdef __cplusplus
}
#endif

#endif

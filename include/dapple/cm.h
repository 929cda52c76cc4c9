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

#ifdef __cplusplus
}
#endif

#endif

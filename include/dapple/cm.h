/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Options of rdma_set_option that Dapple's librdmacm knows beside those of rdma_cma.h. Other
 * libraries answer them with ENOSYS or EINVAL, so a program may ask and go on without.
 */
#ifndef DAPPLE_CM_H
#define DAPPLE_CM_H

#ifdef __cplusplus
extern "C" {
#endif

/* The level of all options below. */
#define DPL_OPTION_LEVEL 0xdab

/*
 * Which adapter the id uses, where several have its address (roce and iwarp on one interface): the
 * device's name, as ibv_get_device_name() tells it, with or without its NUL. Before rdma_bind_addr
 * and rdma_resolve_addr; EINVAL after that or for an empty or too long name, ENODEV for a name
 * that no device has.
 */
#define DPL_OPTION_DEVICE 0

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Port attributes that dpl_modify_port() changed. They belong to the process and outlive its contexts, so
 * they are kept by device name and not with the engine's adapter.
 */
#ifndef ABI_DAPPLE_ADAPTER_H
#define ABI_DAPPLE_ADAPTER_H

#include <infiniband/verbs.h>

/* Applies to *attr, which the device has filled in, what this process changed on the device's port: the
 * capability flags set and cleared, and the Q_Key violations counted before the last reset. */
void dpl_overlay_port(const char *device, struct ibv_port_attr *attr);

#endif

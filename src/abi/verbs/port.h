/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Attributes of a device and its port, GIDs and P_Keys, as verbs show them: from the engine's port (engine/port.c,
 * gid.c) into the caller's structure, of which older programs have a shorter form. Called by programs through the
 * table of a context (abi/verbs/ops.c).
 */
#ifndef ABI_VERBS_PORT_H
#define ABI_VERBS_PORT_H

#include "abi/verbs/vrb.h"

/* The type of a GID as in the sysfs file: 0 InfiniBand or RoCE v1, 1 RoCE v2. Returns 0, or -1 with errno set. */
int vrb_gid_type(struct ibv_context *c, uint8_t port, unsigned index, unsigned *type);

/* Slots of the tables in ops.c. */
int vrb_query_port_ex(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr, size_t len);
int vrb_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *in,
			struct ibv_device_attr_ex *attr, size_t len);
int vrb_query_rt_values(struct ibv_context *c, struct ibv_values_ex *values);

#endif

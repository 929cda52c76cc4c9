/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/private.h"

/* The size as the specification writes it: 0 is one unit. */
static uint8_t encode(uint32_t size)
{
	uint32_t units = size / RPR_INLINE_UNIT;

	if (units < 1)
		units = 1;
	return (uint8_t)(units > 256 ? 255 : units - 1);
}

static uint32_t decode(uint64_t code)
{
	return (uint32_t)(code + 1) * RPR_INLINE_UNIT;
}

void rpr_private_put(uint8_t out[RPR_RpcRdmaPrivate_LEN], const struct rpr_private *p)
{
	memset(out, 0, RPR_RpcRdmaPrivate_LEN);
	wire_set_RpcRdmaPrivate_format(out, RPR_PRIVATE_FORMAT);
	wire_set_RpcRdmaPrivate_version(out, RPR_PRIVATE_VERSION);
	wire_set_RpcRdmaPrivate_remote_inv(out, p->remote_inv);
	wire_set_RpcRdmaPrivate_send_size(out, encode(p->send_size));
	wire_set_RpcRdmaPrivate_receive_size(out, encode(p->receive_size));
}

bool rpr_private_get(struct rpr_private *p, const void *data, size_t len)
{
	*p = (struct rpr_private){ RPR_INLINE_DEFAULT, RPR_INLINE_DEFAULT, false };
	if (!data || len < RPR_RpcRdmaPrivate_LEN ||
	    wire_get_RpcRdmaPrivate_format(data) != RPR_PRIVATE_FORMAT ||
	    wire_get_RpcRdmaPrivate_version(data) != RPR_PRIVATE_VERSION)
		return false;
	p->send_size = decode(wire_get_RpcRdmaPrivate_send_size(data));
	p->receive_size = decode(wire_get_RpcRdmaPrivate_receive_size(data));
	p->remote_inv = wire_get_RpcRdmaPrivate_remote_inv(data);
	return true;
}

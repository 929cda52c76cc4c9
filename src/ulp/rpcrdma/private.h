/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Private data of a connection (RFC 8797): inline thresholds, and whether remote invalidation is taken. */
#ifndef ULP_RPCRDMA_PRIVATE_H
#define ULP_RPCRDMA_PRIVATE_H

#include "ulp/rpcrdma/fields.h"

#include <stdbool.h>
#include <stddef.h>

#define RPR_INLINE_DEFAULT 1024		/* RFC 8166, 3.3.2: without private data */
#define RPR_INLINE_UNIT 1024
#define RPR_INLINE_MAX (256 * RPR_INLINE_UNIT)

/* What one end says of itself, in bytes. */
struct rpr_private {
	uint32_t send_size;     /* largest message that it sends inline */
	uint32_t receive_size;  /* largest one that it receives */
	bool remote_inv;        /* its peer may invalidate keys of it */
};

void rpr_private_put(uint8_t out[RPR_RpcRdmaPrivate_LEN], const struct rpr_private *p);

/*
 * Reads the private data of a peer. Data of another format or version, and none, are those of a peer without
 * RFC 8797: the defaults of RFC 8166. Returns true if there was a format that is known.
 */
bool rpr_private_get(struct rpr_private *p, const void *data, size_t len);

#endif

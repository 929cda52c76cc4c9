/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The headers of RPC messages (RFC 5531, 9), as far as a transport must read them. */
#ifndef ULP_RPCRDMA_RPC_H
#define ULP_RPCRDMA_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPR_RPC_MIN 8          /* xid and direction */
#define RPR_RPC_FAILED_LEN 24  /* an accepted reply without results */

enum {
	RPR_CALL = 0,
	RPR_REPLY = 1,
};

struct rpr_rpc_call {
	uint32_t xid, program, version, procedure;
	bool wrapped;          /* RPCSEC_GSS protects the arguments (krb5i, krb5p), or they are its own */
	size_t args;           /* where the arguments begin */
};

/* Returns the direction of a message, or -1 if it is none. */
int rpr_rpc_direction(const void *data, size_t len);
uint32_t rpr_rpc_xid(const void *data);

/* Reads the header of a call. Returns false if it is none of version 2. */
bool rpr_rpc_call_get(struct rpr_rpc_call *c, const void *data, size_t len);

/* Returns where the results of a successful reply begin, or 0: it is none, or failed. */
size_t rpr_rpc_results(const void *data, size_t len);

/* Writes the reply to a call that the server could not answer: SYSTEM_ERR. */
void rpr_rpc_failed(uint8_t out[RPR_RPC_FAILED_LEN], uint32_t xid);

#endif

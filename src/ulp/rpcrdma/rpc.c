/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/rpc.h"
#include "ulp/rpcrdma/xdr.h"

#define RPC_VERSION 2
#define AUTH_MAX 400            /* RFC 5531, 8.2: bytes of a credential or verifier */
#define RPCSEC_GSS 6            /* RFC 2203, 1 */
#define GSS_DATA 0              /* RFC 2203, 5: gss_proc */
#define GSS_NONE 1              /* service: arguments are not wrapped */
#define ACCEPTED 0
#define SUCCESS 0
#define SYSTEM_ERR 5

int rpr_rpc_direction(const void *data, size_t len)
{
	uint32_t word;

	if (len < RPR_RPC_MIN)
		return -1;
	word = wire_get32((const uint8_t *)data + 4);
	return word > RPR_REPLY ? -1 : (int)word;
}

uint32_t rpr_rpc_xid(const void *data)
{
	return wire_get32(data);
}

/* Returns the flavor; *ret_body is its opaque. */
static uint32_t auth(struct rpr_xdr *x, struct rpr_xdr *ret_body)
{
	uint32_t flavor = rpr_xdr_u32(x), len;
	const uint8_t *body = rpr_xdr_opaque(x, &len);

	if (len > AUTH_MAX)
		x->bad = true;
	*ret_body = (struct rpr_xdr){ .data = body, .len = x->bad ? 0 : len };
	return flavor;
}

static bool is_wrapped(uint32_t flavor, struct rpr_xdr *body)
{
	uint32_t proc, service;

	if (flavor != RPCSEC_GSS)
		return false;
	rpr_xdr_u32(body);
	proc = rpr_xdr_u32(body);
	rpr_xdr_u32(body);
	service = rpr_xdr_u32(body);
	return body->bad || proc != GSS_DATA || service != GSS_NONE;
}

bool rpr_rpc_call_get(struct rpr_rpc_call *c, const void *data, size_t len)
{
	struct rpr_xdr x = { .data = data, .len = len }, body, verf;
	uint32_t direction, version, flavor;

	c->xid = rpr_xdr_u32(&x);
	direction = rpr_xdr_u32(&x);
	version = rpr_xdr_u32(&x);
	c->program = rpr_xdr_u32(&x);
	c->version = rpr_xdr_u32(&x);
	c->procedure = rpr_xdr_u32(&x);
	flavor = auth(&x, &body);
	auth(&x, &verf);
	if (x.bad || direction != RPR_CALL || version != RPC_VERSION)
		return false;
	c->wrapped = is_wrapped(flavor, &body);
	c->args = x.at;
	return true;
}

size_t rpr_rpc_results(const void *data, size_t len)
{
	struct rpr_xdr x = { .data = data, .len = len }, verf;
	uint32_t direction, status;

	rpr_xdr_u32(&x);
	direction = rpr_xdr_u32(&x);
	status = rpr_xdr_u32(&x);
	auth(&x, &verf);
	if (direction != RPR_REPLY || status != ACCEPTED || rpr_xdr_u32(&x) != SUCCESS || x.bad)
		return 0;
	return x.at;
}

void rpr_rpc_failed(uint8_t out[RPR_RPC_FAILED_LEN], uint32_t xid)
{
	memset(out, 0, RPR_RPC_FAILED_LEN); /* accepted, a verifier of AUTH_NONE */
	wire_put32(out, xid);
	wire_put32(out + 4, RPR_REPLY);
	wire_put32(out + 20, SYSTEM_ERR);
}

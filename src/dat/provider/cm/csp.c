/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/cm/csp.h"

#include "dat/provider/cm/sp.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/init.h"
#include "dat/provider/ia/obj.h"

#include <errno.h>
#include <string.h>

static bool comm_known(const DAT_COMM *c, const struct dpr_ia *ia)
{
	return c->domain == ia->addr.sa.sa_family && c->type == SOCK_STREAM &&
	       (!c->protocol || c->protocol == IPPROTO_TCP);
}

/* The adapter's address or the wildcard; anything else cannot be reached through it. */
static DAT_RETURN local(struct dpr_ia *ia, const void *address, struct dpr_sp *sp, uint16_t *port)
{
	const struct sockaddr *sa = address;

	if (sa->sa_family != ia->addr.sa.sa_family)
		return DPR_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *in = address;

		memcpy(&sp->addr, in, sizeof(*in));
		*port = ntohs(in->sin_port);
		if (in->sin_addr.s_addr && in->sin_addr.s_addr != ia->addr.in.sin_addr.s_addr)
			return DPR_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	} else {
		const struct sockaddr_in6 *in6 = address;

		memcpy(&sp->addr, in6, sizeof(*in6));
		*port = ntohs(in6->sin6_port);
		if (!IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr) &&
		    memcmp(&in6->sin6_addr, &ia->addr.in6.sin6_addr, sizeof(in6->sin6_addr)))
			return DPR_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	}
	return DAT_SUCCESS;
}

static void note_port(struct dpr_sp *sp) UT_REQUIRES(sp->lock)
{
	in_port_t port = rdma_get_src_port(sp->listen);

	if (sp->addr.ss_family == AF_INET)
		((struct sockaddr_in *)&sp->addr)->sin_port = port;
	else
		((struct sockaddr_in6 *)&sp->addr)->sin6_port = port;
	sp->qual = ntohs(port);
}

static DAT_RETURN csp_make(struct dpr_ia *ia, const DAT_COMM *comm, const void *address,
			   struct dpr_evd *evd, struct dpr_sp **ret)
{
	struct dpr_sp *sp = dpr_sp_new(ia, DPR_CSP, evd);
	DAT_RETURN r;
	uint16_t port;
	int err = 0;

	if (!sp)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ut_lock(&sp->lock);
	sp->comm = *comm;
	r = local(ia, address, sp, &port);
	if (!r)
		err = dpr_sp_listen(sp, port);
	if (!r && !err)
		note_port(sp);
	ut_unlock(&sp->lock);
	if (err)
		r = err == EADDRINUSE ? DPR_ERR(DAT_PORT_IN_USE, DAT_NO_SUBTYPE) : dpr_sp_error(err);
	if (r)
		dpr_sp_end(sp);
	else
		*ret = sp;
	return r;
}

DAT_RETURN dpr_csp_create(DAT_IA_HANDLE handle, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
			  DAT_EVD_HANDLE evd_handle, DAT_CSP_HANDLE *csp)
{
	struct dpr_ia *ia = dpr_ia_of(handle);
	struct dpr_evd *evd;
	struct dpr_sp *sp;
	DAT_RETURN ret;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!comm)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!comm_known(comm, ia))
		return DPR_ERR(DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!address)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ret = dpr_sp_evd(ia, evd_handle, &evd);
	if (ret)
		return ret;
	if (!csp)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	ret = csp_make(ia, comm, address, evd, &sp);
	if (!ret)
		*csp = (DAT_CSP_HANDLE)sp;
	return ret;
}

DAT_RETURN dpr_csp_query(DAT_CSP_HANDLE handle, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param)
{
	struct dpr_sp *sp = (struct dpr_sp *)dpr_obj_of(handle, DPR_CSP);

	if (!sp)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CSP);
	if (mask & ~DAT_CSP_FIELD_ALL)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	*param = (DAT_CSP_PARAM){
		.ia_handle = dpr_ia_public(sp->obj.ia),
		.comm = &sp->comm,
		.address_ptr = (DAT_IA_ADDRESS_PTR)&sp->addr,
		.evd_handle = (DAT_EVD_HANDLE)sp->evd,
	};
	return DAT_SUCCESS;
}

DAT_RETURN dpr_csp_free(DAT_CSP_HANDLE handle)
{
	return dpr_sp_free(handle, DPR_CSP, DAT_INVALID_HANDLE_CSP);
}

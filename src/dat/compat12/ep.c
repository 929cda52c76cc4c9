/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of endpoints and posts, for DAT 1.2. */
#include <dat/udat.h>

#include "dat/compat12/call.h"

#include <string.h>

/* The most segments that a post converts, since it allocates nothing. No adapter has as many. */
#define SEGMENTS 256

typedef DAT_RETURN (*create_func)(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE,
				  DAT_EVD_HANDLE, const void *, DAT_EP_HANDLE *);
typedef DAT_RETURN (*create_with_srq_func)(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE,
					   DAT_EVD_HANDLE, DAT_EVD_HANDLE, DAT_SRQ_HANDLE,
					   const void *, DAT_EP_HANDLE *);

C12_EXPORT DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
				    DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
				    const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	C12_FRONT;
	C12_STRUCT20(attr20, EP_ATTR);

	if (attr)
		c12_to20(C12_TYPE_EP_ATTR, attr20, attr);
	return c12_return(C12_FUNC(ep_create, create_func)(ia, pz, recv_evd, request_evd, connect_evd,
							   attr ? attr20 : NULL, ep));
}

C12_EXPORT DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
					     DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
					     DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq,
					     const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	C12_FRONT;
	C12_STRUCT20(attr20, EP_ATTR);

	if (attr)
		c12_to20(C12_TYPE_EP_ATTR, attr20, attr);
	return c12_return(C12_FUNC(ep_create_with_srq, create_with_srq_func)(
		ia, pz, recv_evd, request_evd, connect_evd, srq, attr ? attr20 : NULL, ep));
}

C12_EXPORT DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	C12_FRONT;
	DAT_RETURN (*query)(DAT_EP_HANDLE, uint64_t, void *) = front->slot[C12_ep_query];
	C12_STRUCT20(param20, EP_PARAM);
	DAT_RETURN rc = query(ep, c12_mask20(C12_EP, mask), param ? param20 : NULL);

	if (rc == DAT_SUCCESS) {
		c12_from20(C12_TYPE_EP_PARAM, param, param20);
		param->ep_state = c12_ep_state(param->ep_state);
	}
	return c12_return(rc);
}

C12_EXPORT DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
				    const DAT_EP_PARAM *param)
{
	C12_FRONT;
	DAT_RETURN (*modify)(DAT_EP_HANDLE, uint64_t, const void *) = front->slot[C12_ep_modify];
	C12_STRUCT20(param20, EP_PARAM);

	if (param)
		c12_to20(C12_TYPE_EP_PARAM, param20, param);
	return c12_return(modify(ep, c12_mask20(C12_EP, mask), param ? param20 : NULL));
}

C12_EXPORT DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state,
					DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	C12_FRONT;
	DAT_RETURN rc = C12_FUNC(ep_get_status, DAT_EP_GET_STATUS_FUNC)(ep, state, recv_idle,
									request_idle);

	if (rc == DAT_SUCCESS && state)
		*state = c12_ep_state(*state);
	return c12_return(rc);
}

/* Converts segments. Returns DAT_SUCCESS, or the error of the call, whose second argument is their
 * number. */
static DAT_RETURN segments20(struct c12_lmr20 *to, const DAT_LMR_TRIPLET *from, DAT_COUNT n)
{
	if (n < 0 || n > SEGMENTS)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (n && !from)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	for (DAT_COUNT i = 0; i < n; i++) {
		if (from[i].segment_length > UINT32_MAX)
			return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
		to[i] = (struct c12_lmr20){ .address = from[i].virtual_address,
					    .length = (uint32_t)from[i].segment_length,
					    .context = from[i].lmr_context };
	}
	return DAT_SUCCESS;
}

static DAT_RETURN remote20(struct c12_lmr20 *to, const DAT_RMR_TRIPLET *from)
{
	if (!from)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (from->segment_length > UINT32_MAX)
		return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	*to = (struct c12_lmr20){ .address = from->target_address,
				  .length = (uint32_t)from->segment_length,
				  .context = from->rmr_context };
	return DAT_SUCCESS;
}

typedef DAT_RETURN (*post_func)(DAT_EP_HANDLE, DAT_COUNT, struct c12_lmr20 *, DAT_DTO_COOKIE,
				DAT_COMPLETION_FLAGS);
typedef DAT_RETURN (*rdma_func)(DAT_EP_HANDLE, DAT_COUNT, struct c12_lmr20 *, DAT_DTO_COOKIE,
				const struct c12_lmr20 *, DAT_COMPLETION_FLAGS);
typedef DAT_RETURN (*srq_func)(DAT_SRQ_HANDLE, DAT_COUNT, struct c12_lmr20 *, DAT_DTO_COOKIE);

static DAT_RETURN post(enum c12_slot slot, DAT_EP_HANDLE ep, DAT_COUNT n,
		       const DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	C12_FRONT;
	struct c12_lmr20 local20[SEGMENTS];
	DAT_RETURN rc = segments20(local20, local, n);

	if (rc != DAT_SUCCESS)
		return ep ? rc : DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return c12_return(((post_func)front->slot[slot])(ep, n, local20, cookie, flags));
}

static DAT_RETURN post_rdma(enum c12_slot slot, DAT_EP_HANDLE ep, DAT_COUNT n,
			    const DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie,
			    const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	C12_FRONT;
	struct c12_lmr20 local20[SEGMENTS], there20;
	DAT_RETURN rc = segments20(local20, local, n);

	if (rc == DAT_SUCCESS)
		rc = remote20(&there20, remote);
	if (rc != DAT_SUCCESS)
		return ep ? rc : DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return c12_return(((rdma_func)front->slot[slot])(ep, n, local20, cookie, &there20, flags));
}

C12_EXPORT DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *local,
				       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return post(C12_ep_post_send, ep, segments, local, cookie, flags);
}

C12_EXPORT DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *local,
				       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return post(C12_ep_post_recv, ep, segments, local, cookie, flags);
}

C12_EXPORT DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT segments,
					    DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie,
					    const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	return post_rdma(C12_ep_post_rdma_read, ep, segments, local, cookie, remote, flags);
}

C12_EXPORT DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT segments,
					     DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie,
					     const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	return post_rdma(C12_ep_post_rdma_write, ep, segments, local, cookie, remote, flags);
}

C12_EXPORT DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT segments,
					DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie)
{
	C12_FRONT;
	struct c12_lmr20 local20[SEGMENTS];
	DAT_RETURN rc = segments20(local20, local, segments);

	if (rc != DAT_SUCCESS)
		return srq ? rc : DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	return c12_return(C12_FUNC(srq_post_recv, srq_func)(srq, segments, local20, cookie));
}

C12_EXPORT DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask,
				    DAT_SRQ_PARAM *param)
{
	C12_FRONT;
	DAT_RETURN (*query)(DAT_SRQ_HANDLE, DAT_SRQ_PARAM_MASK, void *) = front->slot[C12_srq_query];
	C12_STRUCT20(param20, SRQ_PARAM);
	DAT_RETURN rc = query(srq, mask, param ? param20 : NULL);

	if (rc != DAT_SUCCESS)
		return c12_return(rc);
	c12_from20(C12_TYPE_SRQ_PARAM, param, param20);
	switch ((int)param->srq_state) {
#define STATE(name, in12, in20)           \
	case in20:                        \
		param->srq_state = name;  \
		break;
	C12_SRQ_STATES(STATE)
	default: /* going down */
		param->srq_state = DAT_SRQ_STATE_ERROR;
	}
	return DAT_SUCCESS;
}

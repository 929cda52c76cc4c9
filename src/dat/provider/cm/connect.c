/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/cm/connect.h"

#include "dat/provider/cm/active.h"
#include "dat/provider/cm/conn.h"
#include "dat/provider/cm/private.h"
#include "dat/provider/cm/ud.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ep/parts.h"
#include "dat/provider/ep/qp.h"
#include "dat/provider/ep/state.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/ia/address.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"

#include <errno.h>
#include <string.h>

/* The peer and the parameters of an attempt, for all three calls. */
struct ask {
	struct sockaddr_storage to; /* with port */
	uint64_t qual;
	DAT_TIMEOUT timeout;
	struct dpr_private out;
	bool common;
};

static DAT_RETURN bad_address(DAT_RETURN_SUBTYPE sub)
{
	return DPR_ERR(DAT_INVALID_ADDRESS, sub);
}

static DAT_RETURN address4(const struct sockaddr_in *in, struct ask *a)
{
	if (!in->sin_addr.s_addr || in->sin_addr.s_addr == htonl(INADDR_BROADCAST))
		return bad_address(DAT_INVALID_ADDRESS_MALFORMED);
	memcpy(&a->to, in, sizeof(*in));
	return DAT_SUCCESS;
}

static DAT_RETURN address6(const struct sockaddr_in6 *in, struct ask *a)
{
	if (IN6_IS_ADDR_UNSPECIFIED(&in->sin6_addr) || IN6_IS_ADDR_MULTICAST(&in->sin6_addr))
		return bad_address(DAT_INVALID_ADDRESS_MALFORMED);
	memcpy(&a->to, in, sizeof(*in));
	return DAT_SUCCESS;
}

/* DAT_IA_ADDRESS_PTR points to a type that is too short for IPv6, so the family decides. */
static DAT_RETURN address(struct dpr_ia *ia, const void *remote, struct ask *a)
{
	const struct sockaddr *sa = remote;

	memset(&a->to, 0, sizeof(a->to));
	if (!remote)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (sa->sa_family != AF_INET && sa->sa_family != AF_INET6)
		return bad_address(DAT_INVALID_ADDRESS_MALFORMED);
	if (sa->sa_family != ia->addr.sa.sa_family)
		return bad_address(DAT_INVALID_ADDRESS_UNSUPPORTED);
	return sa->sa_family == AF_INET ? address4(remote, a) : address6(remote, a);
}

static in_port_t *port_of(struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET ? &((struct sockaddr_in *)ss)->sin_port
					: &((struct sockaddr_in6 *)ss)->sin6_port;
}

/* `arg` is the subtype of the timeout; size and data follow it. */
static DAT_RETURN message(struct dpr_ep *ep, DAT_TIMEOUT timeout, DAT_COUNT size, const void *data,
			  DAT_RETURN_SUBTYPE arg, struct ask *a)
{
	unsigned int max = dpr_private_max(ep);

	if (!timeout)
		return DPR_ERR(DAT_INVALID_PARAMETER, arg);
	if (size < 0 || (unsigned int)size > max)
		return DPR_ERR(DAT_INVALID_PARAMETER, arg + 1);
	if (!dpr_private_set(&a->out, size, data, max))
		return DPR_ERR(DAT_INVALID_PARAMETER, arg + 2);
	a->timeout = timeout;
	return DAT_SUCCESS;
}

static DAT_RETURN errno_to_dat(int err)
{
	return DPR_ERR(DAT_INSUFFICIENT_RESOURCES,
		       err == ENOMEM ? DAT_RESOURCE_MEMORY : DAT_RESOURCE_DEVICE);
}

static DAT_RETURN attempt(struct dpr_ep *ep, const struct ask *a, struct dpr_conn **ret)
{
	struct dpr_conn *c = dpr_conn_new(ep->obj.ia, true);
	int err;

	if (!c)
		return errno_to_dat(ENOMEM);
	c->out = a->out;
	c->remote = a->to;
	c->qual = a->qual;
	c->common = a->common;
	c->ud = dpr_ep_is_ud(ep);
	err = dpr_ia_id(ep->obj.ia, c, c->ud ? RDMA_PS_UDP : RDMA_PS_TCP, 0, &c->id);
	if (err) {
		dpr_conn_put(c);
		return errno_to_dat(err);
	}
	*ret = c;
	return DAT_SUCCESS;
}

/* Makes c the endpoint's attempt, with the caller's reference. From here on the loop continues it.
 * *err becomes a positive errno if the first step failed. */
static DAT_RETURN commit(struct dpr_ep *ep, struct dpr_conn *c, DAT_TIMEOUT timeout, int *err)
	UT_REQUIRES(ep->lock)
{
	DAT_RETURN ret = dpr_ep_step(ep->state, DPR_DO_CONNECT, dpr_ep_configured(ep)).ret;

	if (!ret)
		ret = dpr_ep_make_qp(ep, c->id);
	if (ret)
		return ret;
	dpr_conn_join(c, ep);
	ep->conn = c;
	atomic_store(&ep->early, true);
	atomic_store(&ep->failed, false);
	dpr_ep_apply(ep, DPR_DO_CONNECT);
	if (timeout != DAT_TIMEOUT_INFINITE)
		*err = -dpr_timer_arm(&c->timer, timeout);
	if (!*err)
		*err = dpr_conn_start(c);
	return DAT_SUCCESS;
}

static DAT_RETURN go(struct dpr_ep *ep, const struct ask *a)
{
	struct dpr_conn *c;
	DAT_RETURN ret;
	int err = 0;

	ret = attempt(ep, a, &c);
	if (ret)
		return ret;
	if (c->ud) {
		ret = dpr_ud_connect(ep, c, a->timeout);
		dpr_conn_put(c);
		return ret;
	}
	dpr_conn_hold(c);
	ut_lock(&ep->lock);
	ret = commit(ep, c, a->timeout, &err);
	ut_unlock(&ep->lock);
	if (ret)
		dpr_conn_put(c); /* the reference meant for the endpoint */
	else if (err)
		dpr_conn_failed(c, DAT_CONNECTION_EVENT_UNREACHABLE);
	dpr_conn_put(c);
	return ret;
}

static DAT_RETURN may(struct dpr_ep *ep)
{
	DAT_RETURN ret;

	ut_lock(&ep->lock);
	ret = dpr_ep_step(ep->state, DPR_DO_CONNECT, dpr_ep_configured(ep)).ret;
	if (dpr_ep_is_ud(ep) && ep->state == DAT_EP_STATE_CONNECTED)
		ret = DAT_SUCCESS; /* a datagram endpoint connects to one more peer */
	ut_unlock(&ep->lock);
	return ret;
}

static DAT_RETURN establish(struct dpr_ep *ep, const struct ask *a)
{
	DAT_RETURN ret;

	ut_lock(&ep->life);
	ret = may(ep);
	if (!ret)
		ret = go(ep, a);
	ut_unlock(&ep->life);
	return ret;
}

static DAT_RETURN qos(DAT_QOS asked)
{
	return asked == DAT_QOS_BEST_EFFORT ? DAT_SUCCESS
					    : DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}

static DAT_RETURN multipath(DAT_CONNECT_FLAGS flags)
{
	if (flags & ~(DAT_CONNECT_FLAGS)(DAT_CONNECT_MULTIPATH_REQUESTED_FLAG |
					 DAT_CONNECT_MULTIPATH_REQUIRED_FLAG))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	if (flags & DAT_CONNECT_MULTIPATH_REQUIRED_FLAG)
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual,
			  DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data,
			  DAT_QOS quality, DAT_CONNECT_FLAGS flags)
{
	struct dpr_ep *ep = dpr_ep_of(handle);
	struct ask a = { .qual = qual };
	DAT_RETURN ret;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ret = address(ep->obj.ia, remote, &a);
	if (!ret && !dpr_qual_port(qual))
		ret = DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!ret)
		ret = message(ep, timeout, size, data, DAT_INVALID_ARG4, &a);
	if (!ret)
		ret = qos(quality);
	if (!ret)
		ret = multipath(flags);
	if (ret)
		return ret;
	*port_of(&a.to) = htons(dpr_qual_port(qual));
	return establish(ep, &a);
}

/* Fills in the peer to which dup is connected. */
static DAT_RETURN peer_of(struct dpr_ep *dup, struct ask *a)
{
	DAT_RETURN ret;

	ut_lock(&dup->lock);
	ret = dpr_ep_step(dup->state, DPR_DO_DUP_SOURCE, true).ret;
	if (!ret && !dup->conn)
		ret = DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!ret) {
		a->to = dup->conn->remote;
		a->qual = dup->conn->qual;
		a->common = dup->conn->common;
	}
	ut_unlock(&dup->lock);
	return ret;
}

DAT_RETURN dpr_ep_dup_connect(DAT_EP_HANDLE handle, DAT_EP_HANDLE dup_handle, DAT_TIMEOUT timeout,
			      DAT_COUNT size, const DAT_PVOID data, DAT_QOS quality)
{
	struct dpr_ep *ep = dpr_ep_of(handle), *dup = dpr_ep_of(dup_handle);
	struct ask a = { .qual = 0 };
	DAT_RETURN ret;

	if (!ep || !dup || dup->obj.ia != ep->obj.ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ret = message(ep, timeout, size, data, DAT_INVALID_ARG3, &a);
	if (!ret)
		ret = qos(quality);
	if (!ret)
		ret = may(ep);
	if (!ret)
		ret = peer_of(dup, &a);
	return ret ? ret : establish(ep, &a);
}

DAT_RETURN dpr_ep_common_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR remote,
				 DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data)
{
	struct dpr_ep *ep = dpr_ep_of(handle);
	struct ask a = { .common = true };
	DAT_RETURN ret;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ret = address(ep->obj.ia, remote, &a);
	if (!ret && !*port_of(&a.to))
		ret = bad_address(DAT_INVALID_ADDRESS_MALFORMED);
	if (!ret)
		ret = message(ep, timeout, size, data, DAT_INVALID_ARG3, &a);
	if (ret)
		return ret;
	a.qual = ntohs(*port_of(&a.to));
	return establish(ep, &a);
}

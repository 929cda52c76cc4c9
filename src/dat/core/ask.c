/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/core/ask.h"

static DAT_RETURN bad_address(DAT_RETURN_SUBTYPE sub)
{
	return DPR_ERR(DAT_INVALID_ADDRESS, sub);
}

static DAT_RETURN address4(const struct sockaddr_in *in, struct dpr_ask *a)
{
	if (!in->sin_addr.s_addr || in->sin_addr.s_addr == htonl(INADDR_BROADCAST))
		return bad_address(DAT_INVALID_ADDRESS_MALFORMED);
	memcpy(&a->to, in, sizeof(*in));
	return DAT_SUCCESS;
}

static bool is_unspecified(const struct in6_addr *in)
{
	static const struct in6_addr none;

	return !memcmp(in, &none, sizeof(none));
}

static DAT_RETURN address6(const struct sockaddr_in6 *in, struct dpr_ask *a)
{
	if (is_unspecified(&in->sin6_addr) || in->sin6_addr.s6_addr[0] == 0xff) /* RFC 4291, 2.7: multicast */
		return bad_address(DAT_INVALID_ADDRESS_MALFORMED);
	memcpy(&a->to, in, sizeof(*in));
	return DAT_SUCCESS;
}

/* DAT_IA_ADDRESS_PTR points to a type that is too short for IPv6, so the family decides. */
static DAT_RETURN address(const struct dpr_ask_limits *l, const void *remote, struct dpr_ask *a)
{
	const struct sockaddr *sa = remote;

	memset(&a->to, 0, sizeof(a->to));
	if (!remote)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (sa->sa_family != AF_INET && sa->sa_family != AF_INET6)
		return bad_address(DAT_INVALID_ADDRESS_MALFORMED);
	if (l->family && sa->sa_family != l->family)
		return bad_address(DAT_INVALID_ADDRESS_UNSUPPORTED);
	return sa->sa_family == AF_INET ? address4(remote, a) : address6(remote, a);
}

dpr_be16 *dpr_port_of(struct sockaddr_storage *ss)
{
	return (dpr_be16 *)(ss->ss_family == AF_INET ? &((struct sockaddr_in *)ss)->sin_port
						     : &((struct sockaddr_in6 *)ss)->sin6_port);
}

/* `arg` is the subtype of the timeout; size and data follow it. */
static DAT_RETURN message(const struct dpr_ask_limits *l, DAT_TIMEOUT timeout, DAT_COUNT size, const void *data,
			  DAT_RETURN_SUBTYPE arg, struct dpr_ask *a)
{
	if (!timeout)
		return DPR_ERR(DAT_INVALID_PARAMETER, arg);
	if (size < 0 || (unsigned int)size > l->private_max)
		return DPR_ERR(DAT_INVALID_PARAMETER, arg + 1);
	if (!dpr_private_set(&a->out, size, data, l->private_max))
		return DPR_ERR(DAT_INVALID_PARAMETER, arg + 2);
	a->timeout = timeout;
	return DAT_SUCCESS;
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

DAT_RETURN dpr_ask_connect(struct dpr_ask *a, const struct dpr_ask_limits *l, const void *remote, DAT_CONN_QUAL qual,
			   DAT_TIMEOUT timeout, DAT_COUNT size, const void *data, DAT_QOS quality,
			   DAT_CONNECT_FLAGS flags)
{
	DAT_RETURN ret = address(l, remote, a);

	if (!ret && !dpr_qual_port(qual))
		ret = DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!ret)
		ret = message(l, timeout, size, data, DAT_INVALID_ARG4, a);
	if (!ret)
		ret = qos(quality);
	if (!ret)
		ret = multipath(flags);
	if (ret)
		return ret;
	a->qual = qual;
	a->common = false;
	*dpr_port_of(&a->to) = htons(dpr_qual_port(qual));
	return DAT_SUCCESS;
}

DAT_RETURN dpr_ask_dup(struct dpr_ask *a, const struct dpr_ask_limits *l, DAT_TIMEOUT timeout, DAT_COUNT size,
		       const void *data, DAT_QOS quality)
{
	DAT_RETURN ret = message(l, timeout, size, data, DAT_INVALID_ARG3, a);

	return ret ? ret : qos(quality);
}

DAT_RETURN dpr_ask_common(struct dpr_ask *a, const struct dpr_ask_limits *l, const void *remote, DAT_TIMEOUT timeout,
			  DAT_COUNT size, const void *data)
{
	DAT_RETURN ret = address(l, remote, a);

	if (!ret && !*dpr_port_of(&a->to))
		ret = bad_address(DAT_INVALID_ADDRESS_MALFORMED);
	if (!ret)
		ret = message(l, timeout, size, data, DAT_INVALID_ARG3, a);
	if (ret)
		return ret;
	a->qual = ntohs(*dpr_port_of(&a->to));
	a->common = true;
	return DAT_SUCCESS;
}

bool dpr_comm_known(const DAT_COMM *c, int family)
{
	return c->domain == family && c->type == SOCK_STREAM && (!c->protocol || c->protocol == IPPROTO_TCP);
}

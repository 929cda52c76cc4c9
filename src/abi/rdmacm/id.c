/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Identifiers: life, channel, options, names. */
#include "abi/rdmacm/id.h"

#include "abi/rdmacm/chan.h"
#include "abi/rdmacm/dev.h"
#include "abi/rdmacm/mcast.h"
#include "abi/rdmacm/newer.h"
#include "abi/rdmacm/wait.h"
#include "cm/cma.h"
#include "dapple/cm.h"
#include "util/alloc.h"

#include <stdlib.h>

struct rcm_id *rcm_id_alloc(void *context, enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	struct rcm_id *id = ut_zalloc(sizeof(*id));

	if (!id)
		return NULL;
	id->pub.context = context;
	id->pub.ps = ps;
	id->pub.qp_type = qp_type;
	ut_mutex_init(&id->lock);
	ut_cond_init(&id->acks);
	ut_list_init(&id->groups);
	return id;
}

void rcm_id_free(struct rcm_id *id)
{
	rcm_groups_forget(id);
	rdma_freeaddrinfo(rcm_info_take(id));
	if (id->pub.channel)
		rcm_chan_release(rcm_of(id->pub.channel, rcm_chan));
	ut_mutex_fini(&id->lock);
	free(id->ep_attr);
	free(id);
}

/* The program's channel, or a private one, which is doomed from the beginning and
 * so ends with its identifier. Held. */
static int hold_channel(struct rdma_event_channel *channel, struct rcm_chan **ret)
{
	int rc;

	if (channel) {
		*ret = rcm_of(channel, rcm_chan);
		rcm_chan_hold(*ret);
		return 0;
	}
	rc = rcm_chan_create(ret);
	if (rc)
		return rc;
	rcm_chan_hold(*ret);
	rcm_chan_destroy(*ret);
	return 0;
}

int rcm_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		  enum ibv_qp_type qp_type, struct rcm_id **ret)
{
	struct rcm_id *id;
	struct rcm_chan *ch;
	int rc = rcm_ready();

	if (rc)
		return rc;
	id = rcm_id_alloc(context, ps, qp_type);
	if (!id)
		return -ENOMEM;
	rc = hold_channel(channel, &ch);
	if (!rc) {
		id->pub.channel = &ch->pub;
		id->own = channel ? NULL : ch;
		rc = cma_id_create(ch->cma, id, (enum cm_ps)ps, qp_type, &id->cma);
	}
	if (rc)
		rcm_id_free(id);
	else
		*ret = id;
	return rc;
}

/* The default queue pair type of a port space. */
static enum ibv_qp_type usual_type(enum rdma_port_space ps)
{
	return ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
}

UT_EXPORT int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **ret,
			     void *context, enum rdma_port_space ps)
{
	struct rcm_id *id;
	int rc;

	if (!ret)
		return rcm_result(-EINVAL);
	rc = rcm_id_create(channel, context, ps, usual_type(ps), &id);
	if (!rc)
		*ret = &id->pub;
	return rcm_result(rc);
}

UT_EXPORT int rdma_destroy_id(struct rdma_cm_id *pub)
{
	struct rcm_id *id = rcm_of(pub, rcm_id);

	if (!pub)
		return rcm_result(-EINVAL);
	rcm_id_silence(id);
	rcm_forget_event(id);
	rcm_await_acks(id);
	rcm_id_free(id);
	return 0;
}

int rcm_id_migrate(struct rcm_id *id, struct rdma_event_channel *channel)
{
	struct rcm_chan *old = rcm_of(id->pub.channel, rcm_chan), *to;
	int rc = hold_channel(channel, &to);

	if (rc)
		return rc;
	rcm_id_used(id);
	rc = cma_id_migrate(id->cma, to->cma);
	if (rc) {
		rcm_chan_release(to);
		return rc;
	}
	if (id->own)
		rcm_forget_event(id);
	rcm_await_acks(id);
	id->pub.channel = &to->pub;
	id->own = channel ? NULL : to;
	rcm_chan_hears(&to->pub, id->dev ? id->dev->eng : NULL);
	rcm_chan_release(old);
	return 0;
}

UT_EXPORT int rdma_migrate_id(struct rdma_cm_id *pub, struct rdma_event_channel *channel)
{
	struct rcm_id *id = rcm_of(pub, rcm_id);

	if (!pub || (!channel && id->own))
		return rcm_result(-EINVAL);
	return rcm_result(rcm_id_migrate(id, channel));
}

_Static_assert(DPL_OPTION_LEVEL == CMA_OPT_DAPPLE && DPL_OPTION_DEVICE == CMA_OPT_DEVICE,
	       "the public names of the option");

UT_EXPORT int rdma_set_option(struct rdma_cm_id *pub, int level, int optname, void *optval,
			      size_t optlen)
{
	if (!pub || !optval)
		return rcm_result(-EINVAL);
	rcm_id_used(rcm_of(pub, rcm_id));
	return rcm_result(cma_option(rcm_of(pub, rcm_id)->cma, level, optname, optval, optlen));
}

#define NAMED(e) [e] = #e

UT_EXPORT const char *rdma_event_str(enum rdma_cm_event_type event)
{
	static const char *const names[] = {
		NAMED(RDMA_CM_EVENT_ADDR_RESOLVED), NAMED(RDMA_CM_EVENT_ADDR_ERROR),
		NAMED(RDMA_CM_EVENT_ROUTE_RESOLVED), NAMED(RDMA_CM_EVENT_ROUTE_ERROR),
		NAMED(RDMA_CM_EVENT_CONNECT_REQUEST), NAMED(RDMA_CM_EVENT_CONNECT_RESPONSE),
		NAMED(RDMA_CM_EVENT_CONNECT_ERROR), NAMED(RDMA_CM_EVENT_UNREACHABLE),
		NAMED(RDMA_CM_EVENT_REJECTED), NAMED(RDMA_CM_EVENT_ESTABLISHED),
		NAMED(RDMA_CM_EVENT_DISCONNECTED), NAMED(RDMA_CM_EVENT_DEVICE_REMOVAL),
		NAMED(RDMA_CM_EVENT_MULTICAST_JOIN), NAMED(RDMA_CM_EVENT_MULTICAST_ERROR),
		NAMED(RDMA_CM_EVENT_ADDR_CHANGE), NAMED(RDMA_CM_EVENT_TIMEWAIT_EXIT),
		[RCM_EVENT_ADDRINFO_RESOLVED] = "RDMA_CM_EVENT_ADDRINFO_RESOLVED",
		[RCM_EVENT_ADDRINFO_ERROR] = "RDMA_CM_EVENT_ADDRINFO_ERROR",
		[RCM_EVENT_USER] = "RDMA_CM_EVENT_USER",
	};

	if ((unsigned)event >= sizeof(names) / sizeof(names[0]))
		return "UNKNOWN EVENT";
	return names[event];
}

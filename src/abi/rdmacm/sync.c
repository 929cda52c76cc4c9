/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Synchronous identifiers have a channel of their own, on which each call waits
 * for the event that ends it. The event stays in pub.event until the next
 * call, for programs look there for private data.
 */
#include "abi/rdmacm/sync.h"

#include "abi/rdmacm/chan.h"
#include "abi/rdmacm/wait.h"

void rcm_forget_event(struct rcm_id *id)
{
	if (!id->pub.event)
		return;
	rdma_ack_cm_event(id->pub.event);
	id->pub.event = NULL;
}

/* An event other than the wanted one, as the call's failure. */
static int failure(const struct rdma_cm_event *e)
{
	if (e->event == RDMA_CM_EVENT_REJECTED)
		return -ECONNREFUSED;
	if (e->status < 0)
		return e->status;
	switch (e->event) {
	case RDMA_CM_EVENT_DISCONNECTED:
		return -ECONNRESET;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return -ENODEV;
	case RDMA_CM_EVENT_UNREACHABLE: /* the status of a service lookup */
		return -ECONNREFUSED;
	default:
		return -EIO;
	}
}

/* News that answers no call. */
static bool is_aside(const struct rdma_cm_event *e)
{
	return e->event == RDMA_CM_EVENT_ADDR_CHANGE || e->event == RDMA_CM_EVENT_TIMEWAIT_EXIT;
}

int rcm_complete(struct rcm_id *id, enum rdma_cm_event_type want)
{
	struct rcm_event *e;
	int rc;

	if (!id->own)
		return 0;
	do {
		rcm_forget_event(id);
		rc = rcm_event_get(id->own, &e);
		if (rc)
			return rc;
		id->pub.event = &e->pub;
	} while (is_aside(id->pub.event));
	if (id->pub.event->event == want && !id->pub.event->status)
		return 0;
	return failure(id->pub.event);
}

bool rcm_had(struct rcm_id *id, enum rdma_cm_event_type want)
{
	struct rcm_event *e;

	while (id->own && !rcm_event_try(id->own, &e)) {
		rcm_forget_event(id);
		id->pub.event = &e->pub;
		if (e->pub.event == want)
			return true;
	}
	return false;
}

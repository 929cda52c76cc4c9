/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection that failed says so once, in words: managers report numbers, and
 * a program often prints nothing but the name of the event.
 */
#include "cm/cma/core.h"

#include <errno.h>
#include <string.h>

/* IBTA table 107 (12.6.7.2). */
static const char *reason_text(int reason)
{
	switch (reason) {
	case CM_REJ_NO_QP:
	case CM_REJ_NO_RESOURCES:
		return "the other end has no resources";
	case CM_REJ_TIMEOUT:
		return "the other end gave up waiting for us";
	case CM_REJ_UNSUPPORTED:
		return "a request that the other end does not support";
	case CM_REJ_INVALID_COMM_ID:
	case CM_REJ_INVALID_INSTANCE:
		return "the other end does not know this connection";
	case CM_REJ_INVALID_SERVICE_ID:
		return "nobody listens there";
	case CM_REJ_INVALID_TRANSPORT:
		return "the other end serves no such type of QP";
	case CM_REJ_STALE:
		return "the other end has an older connection of this QP";
	case CM_REJ_INVALID_GID:
		return "the address is not the other end's";
	case CM_REJ_INVALID_MTU:
		return "the other end cannot have this path MTU";
	case CM_REJ_CONSUMER:
		return "by the program at the other end";
	case CM_REJ_DUPLICATE_COMM_ID:
		return "its number is in use at the other end";
	case CM_REJ_CLASS_VERSION:
		return "the other end speaks another version";
	case CM_REJ_VENDOR_OPTION:
		return "for its enhanced options, by the program at the other end";
	default:
		return "see IBTA table 107";
	}
}

/* As far as we send it ourselves. */
static const char *sidr_text(int status)
{
	switch (status) {
	case 1:
		return "nobody serves datagrams there";
	case 2:
		return "refused by the program at the other end";
	default:
		return "the other end refused";
	}
}

void cma_say(const struct cm_event *ev)
{
	const struct link_end *local = &ev->ep->local, *remote = &ev->ep->remote;
	struct cm_port *p = ev->ep->port;
	const char *text = strerrordesc_np(-ev->status);

	if (ev->said)
		return;
	if (!text)
		text = "unknown error";
	switch (ev->type) {
	case CM_EV_REJECTED:
		if (ev->status > 0)
			cm_why(p, local, remote, "rejected, %s (reason %d)",
			       reason_text(ev->status), ev->status);
		else
			cm_why(p, local, remote, "rejected, %s", text);
		break;
	case CM_EV_UNREACHABLE:
		if (ev->status > 0)
			cm_why(p, local, remote, "%s (status %d)", sidr_text(ev->status),
			       ev->status);
		else
			cm_why(p, local, remote, "not reached, %s", text);
		break;
	case CM_EV_ERROR:
		cm_why(p, local, remote, "failed, %s", text);
		break;
	case CM_EV_DISCONNECTED:
		if (ev->status)
			cm_why(p, local, remote, "broken, %s", text);
		break;
	default:
		break;
	}
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an identifier knows of itself and its path. */
#include "cm/cma/core.h"

#include <string.h>

/* Under cma.lock: what the state says. */
static void look(struct cma_id *id, struct cma_info *ret, int *family)
{
	ut_lock(&id->c->lock);
	*family = id->family;
	ret->routed = id->state == CMA_ROUTED || id->state == CMA_CONNECT ||
		      id->state == CMA_DISCONNECT;
	ret->peer_ece = id->peer_ece;
	ret->path = id->path;
	if (!ret->path.traffic_class && id->opt.tos > 0)
		ret->path.traffic_class = (uint8_t)id->opt.tos;
	ut_unlock(&id->c->lock);
}

/* Connecting may have chosen it. */
static void look_local(struct cma_id *id)
{
	if (!id->ep || id->local.port)
		return;
	cma_port_lock(id->port);
	id->local.port = id->ep->local.port;
	cma_port_unlock(id->c, id->port);
}

static void look_port(struct cma_id *id, struct cma_info *ret)
{
	if (!id->port)
		return;
	look_local(id);
	ret->dev = id->port->dev;
	ret->device = id->c->host->name(id->port);
	ret->port_num = 1;
	ret->moves_qp = id->port->ops->moves_qp;
	memcpy(ret->sgid.raw, id->local.addr, sizeof(ret->sgid.raw));
}

void cma_query(struct cma_id *id, struct cma_info *ret)
{
	int family;

	*ret = (struct cma_info){ .path.pkey = CMA_PKEY };
	if (!cma_enter(id))
		return;
	look(id, ret, &family);
	look_port(id, ret);
	if (id->has_local)
		cma_addr_write(family, &id->local, id->space, &ret->local);
	if (id->has_remote) {
		cma_addr_write(family, &id->remote, id->space, &ret->remote);
		memcpy(ret->dgid.raw, id->remote.addr, sizeof(ret->dgid.raw));
	}
	if (id->qp_type == IBV_QPT_UD)
		ret->qkey = id->ps == CM_PS_IPOIB ? CMA_QKEY_IPOIB : CMA_QKEY;
	ut_unlock(&id->call);
}

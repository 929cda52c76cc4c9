/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/cm/ud_peer.h"

#include "dat/core/private.h"
#include "dat/provider/ia/ia.h"

#include <arpa/inet.h>
#include <string.h>

/* "DUd", version 1; queue pair number, LID and GID of the requester, in network order. */
static const uint8_t magic[4] = { 'D', 'U', 'd', 1 };
enum { QPN_AT = 4, LID_AT = 8, GID_AT = 10, HEADER = 26, HOPS = 64 };

void dpr_ud_wrap(struct dpr_private *p, const struct dpr_ud_peer *peer)
{
	uint32_t qpn = htonl(peer->qpn);
	uint16_t lid = htons(peer->lid);

	memmove(p->data + HEADER, p->data, p->len);
	memcpy(p->data, magic, sizeof(magic));
	memcpy(p->data + QPN_AT, &qpn, sizeof(qpn));
	memcpy(p->data + LID_AT, &lid, sizeof(lid));
	memcpy(p->data + GID_AT, peer->gid, sizeof(peer->gid));
	p->len = (uint8_t)(p->len + HEADER);
}

bool dpr_ud_unwrap(struct dpr_private *p, struct dpr_ud_peer *peer)
{
	uint32_t qpn;
	uint16_t lid;

	if (p->len < HEADER || memcmp(p->data, magic, sizeof(magic)))
		return false;
	memcpy(&qpn, p->data + QPN_AT, sizeof(qpn));
	memcpy(&lid, p->data + LID_AT, sizeof(lid));
	memcpy(peer->gid, p->data + GID_AT, sizeof(peer->gid));
	peer->qpn = ntohl(qpn) & 0xffffff;
	peer->lid = ntohs(lid);
	p->len = (uint8_t)(p->len - HEADER);
	memmove(p->data, p->data + HEADER, p->len);
	return true;
}

/*
 * Returns the index of that GID in the adapter's table, the RoCEv2 one where there are two, or -1.
 */
static int gid_index(struct dpr_ia *ia, const union ibv_gid *gid)
{
	int found = -1;

	for (int i = 0; i < ia->port_attr.gid_tbl_len; i++) {
		struct ibv_gid_entry e;

		if (ibv_query_gid_ex(ia->verbs, ia->port, (uint32_t)i, &e, 0) ||
		    memcmp(&e.gid, gid, sizeof(*gid)))
			continue;
		if (found < 0 || e.gid_type == IBV_GID_TYPE_ROCE_V2)
			found = i;
	}
	return found;
}

struct ibv_ah *dpr_ud_ah(struct dpr_ia *ia, struct ibv_pd *pd, const struct rdma_cm_id *id,
			 const struct dpr_ud_peer *peer)
{
	struct ibv_ah_attr attr = {
		.dlid = peer->lid,
		.port_num = ia->port,
		.is_global = 1,
		.grh.hop_limit = HOPS,
	};
	int index = gid_index(ia, &id->route.addr.addr.ibaddr.sgid);

	if (index < 0)
		return NULL;
	memcpy(&attr.grh.dgid, peer->gid, sizeof(peer->gid));
	attr.grh.sgid_index = (uint8_t)index;
	return ibv_create_ah(pd, &attr);
}

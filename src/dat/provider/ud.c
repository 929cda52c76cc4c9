/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ud.h"
#include "dat/provider/ep.h"
#include "dat/provider/ext.h"

#include <arpa/inet.h>
#include <string.h>

/* "DUd", version 1; number, LID and GID of who asks, in network order. */
static const uint8_t magic[4] = { 'D', 'U', 'd', 1 };
enum { QPN_AT = 4, LID_AT = 8, GID_AT = 10, HEADER = 26 };

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

DAT_RETURN dpr_ud_cm_free(struct dpr_ep *ep, DAT_CONTEXT cm)
{
	return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}

DAT_RETURN dpr_ud_ah_free(struct dpr_ep *ep, DAT_IB_ADDR_HANDLE *ah)
{
	return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}

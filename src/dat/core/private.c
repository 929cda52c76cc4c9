/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/core/private.h"

enum {
	PORT_MAX = 65535, FOLD = 32001, FOLD_BASE = 33534,
	/* IBTA 12.6.7.2: "consumer reject", the only reason that a peer's consumer can cause */
	REJ_CONSUMER = 28,
};

/*
 * DAT 2.0, provider 2.0. The last byte is BY_PROVIDER if the provider refused because the EVD of
 * the service point is full: InfiniBand gives both refusals the same reason. Debian's provider
 * skips the four bytes unread.
 */
static const uint8_t header[DPR_REJ_HEADER] = { 2, 0, 2, 0 };
enum { BY_PROVIDER = 1 };

uint16_t dpr_qual_port(DAT_CONN_QUAL q)
{
	return (uint16_t)(q <= PORT_MAX ? q : q % FOLD + FOLD_BASE);
}

bool dpr_private_set(struct dpr_private *p, DAT_COUNT size, const void *data, unsigned int max)
{
	if (size < 0 || (unsigned int)size > max || (size && !data))
		return false;
	p->len = (uint8_t)size;
	if (size)
		memcpy(p->data, data, (size_t)size);
	return true;
}

void dpr_private_reject(struct dpr_private *p, bool ours)
{
	memmove(p->data + DPR_REJ_HEADER, p->data, p->len);
	memcpy(p->data, header, DPR_REJ_HEADER);
	if (ours)
		p->data[DPR_REJ_HEADER - 1] = BY_PROVIDER;
	p->len = (uint8_t)(p->len + DPR_REJ_HEADER);
}

static void strip(struct dpr_private *p)
{
	p->len = (uint8_t)(p->len - DPR_REJ_HEADER);
	memmove(p->data, p->data + DPR_REJ_HEADER, p->len);
	memset(p->data + p->len, 0, DPR_REJ_HEADER);
}

/*
 * iWARP has no reason: an MPA reject and a closed port are the same errno. Only the frame tells
 * that a consumer rejected.
 */
DAT_EVENT_NUMBER dpr_private_rejected(struct dpr_private *p, int status, bool iwarp)
{
	bool framed = p->len >= DPR_REJ_HEADER && p->data[0] == header[0] &&
		      p->data[2] == header[2];
	bool provider = framed && p->data[DPR_REJ_HEADER - 1] == BY_PROVIDER;

	if (framed)
		strip(p);
	if (provider || (iwarp ? !framed : status != REJ_CONSUMER)) {
		p->len = 0;
		return DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
	}
	return DAT_CONNECTION_EVENT_PEER_REJECTED;
}

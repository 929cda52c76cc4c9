/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/fabric/local.h"

#include "host/shm/channel.h"
#include "host/shm/peer.h"
#include "wire/ib_fields.h"
#include "wire/ib_packet.h"

#include <errno.h>
#include <string.h>

#define LID_MULTICAST 0xc000u /* IBTA 4.1.3 */
#define ALIGN 64u             /* of a record in the stage */

/* The name of a port of this fabric in host/: its own, with another GUID. */
static void put_address(const struct fabric_link *n, uint64_t guid, uint8_t ret[16])
{
	memcpy(ret, n->at.addr, 16);
	for (int i = 0; i < 8; i++)
		ret[8 + i] = (uint8_t)(guid >> (56 - 8 * i));
}

int fabric_ends(struct link *l, const struct ut_flow *f, uint16_t pkey, uint32_t mtu, struct ut_flow *ret)
{
	struct fabric_link *n = fabric_of(l);
	const struct fabric_route *route;
	int r;

	if (n->gone || f->dlid >= LID_MULTICAST || !f->dlid)
		return -EHOSTUNREACH;
	r = fabric_routes_find(&n->routes, f, pkey, &route);
	if (r < 0)
		return r;
	if (mtu > route->mtu)
		return -EHOSTUNREACH;
	*ret = *f;
	ret->scope = 0;
	memcpy(ret->src, n->at.addr, 16);
	put_address(n, route->guid, ret->dst);
	return 0;
}

static size_t gather(const struct fabric_packets *p, uint8_t *to)
{
	size_t len = 0;

	for (int i = 0; i < p->n; i++) {
		memcpy(to + len, p->iov[i].iov_base, p->iov[i].iov_len);
		len += p->iov[i].iov_len;
	}
	return len;
}

int fabric_local_send(struct fabric_link *n, uint32_t qpn, const struct fabric_packets *p)
{
	uint16_t pkey = (uint16_t)wire_get_BTH_pkey(p->iov[1].iov_base);
	size_t most = p->iov[0].iov_len + WIRE_IB_HDRS_MAX + WIRE_ICRC_LEN;
	struct ut_flow ends;
	size_t len;
	int r;

	if (!n->chan || shm_peer_slot(qpn) == HOST_NO_SLOT || p->flow->dlid >= LID_MULTICAST)
		return 1;
	r = fabric_ends(&n->base, p->flow, pkey, p->seg > most ? (uint32_t)(p->seg - most) : 0, &ends);
	if (r < 0)
		return r == -EAGAIN ? r : 1;
	shm_channel_leaving(n->chan, n->base.leaving);
	len = gather(p, n->record);
	r = shm_channel_send(n->chan, &ends, qpn, 0, n->record, len, p->seg);
	if (r == 0)
		fabric_tally_add(&n->tally, p->flow, (uint32_t)((len + p->seg - 1) / p->seg), len / 4);
	return r;
}

bool fabric_local_take(struct fabric_link *n, size_t *at)
{
	size_t off = FABRIC_RX_SLOTS * FABRIC_RX_SLOT_BYTES + *at;
	uint8_t *buf = n->stage.base + off;
	struct shm_datagrams d;

	if (*at >= FABRIC_SPARE_BYTES || !shm_channel_recv(n->chan, &d, buf, FABRIC_SPARE_BYTES - *at))
		return false;
	n->carry = (struct fabric_carry){ .at = buf, .off = off, .left = d.bytes, .step = d.seg };
	*at += (d.bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Helpers on a MAD buffer: 64 bytes of header with the address, then the MAD. */
#include <infiniband/umad.h>

#include "util/export.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

UT_EXPORT void *umad_get_mad(void *umad)
{
	return ((struct ib_user_mad *)umad)->data;
}

UT_EXPORT size_t umad_size(void)
{
	return sizeof(struct ib_user_mad);
}

UT_EXPORT int umad_status(void *umad)
{
	return (int)((struct ib_user_mad *)umad)->status;
}

UT_EXPORT ib_mad_addr_t *umad_get_mad_addr(void *umad)
{
	return &((struct ib_user_mad *)umad)->addr;
}

UT_EXPORT int umad_set_addr_net(void *umad, __be16 dlid, __be32 dqp, int sl, __be32 qkey)
{
	ib_mad_addr_t *a = umad_get_mad_addr(umad);

	a->qpn = dqp;
	a->lid = dlid;
	a->qkey = qkey;
	a->sl = (uint8_t)sl;
	return 0;
}

UT_EXPORT int umad_set_addr(void *umad, int dlid, int dqp, int sl, int qkey)
{
	return umad_set_addr_net(umad, htobe16((uint16_t)dlid), htobe32((uint32_t)dqp), sl,
				 htobe32((uint32_t)qkey));
}

/* mad_addr: another header's address, or NULL for none. Here the flow label is
 * in host order, in the header in network order. */
UT_EXPORT int umad_set_grh(void *umad, void *mad_addr)
{
	const ib_mad_addr_t *from = mad_addr;
	ib_mad_addr_t *a = umad_get_mad_addr(umad);

	a->grh_present = from != NULL;
	if (!from)
		return 0;
	memcpy(a->gid, from->gid, sizeof(a->gid));
	a->flow_label = htobe32(from->flow_label);
	a->hop_limit = from->hop_limit;
	a->traffic_class = from->traffic_class;
	return 0;
}

UT_EXPORT int umad_set_pkey(void *umad, int pkey_index)
{
	umad_get_mad_addr(umad)->pkey_index = (uint16_t)pkey_index;
	return 0;
}

UT_EXPORT int umad_get_pkey(void *umad)
{
	return umad_get_mad_addr(umad)->pkey_index;
}

/* These two print on stderr, as those of the distribution's library do. */
UT_EXPORT void umad_addr_dump(ib_mad_addr_t *a)
{
	char gid[2 * sizeof(a->gid) + 1];

	for (size_t i = 0; i < sizeof(a->gid); i++)
		snprintf(gid + 2 * i, 3, "%02x", a->gid[i]);
	fprintf(stderr,
		"ibwarn: [%d] umad_addr_dump: qpn %d qkey 0x%x lid %d sl %d\n"
		"grh_present %d gid_index %d hop_limit %d traffic_class %d flow_label 0x%x "
		"pkey_index 0x%x\nGid 0x%s\n",
		(int)getpid(), (int)be32toh(a->qpn), be32toh(a->qkey), be16toh(a->lid), a->sl,
		a->grh_present, a->gid_index, a->hop_limit, a->traffic_class,
		a->flow_label, a->pkey_index, gid); /* the label as it is stored */
}

UT_EXPORT void umad_dump(void *umad)
{
	const struct ib_user_mad *m = umad;

	fprintf(stderr, "ibwarn: [%d] umad_dump: agent id %d status %x timeout %d\n",
		(int)getpid(), (int)m->agent_id, m->status, (int)m->timeout_ms);
	umad_addr_dump(umad_get_mad_addr(umad));
}

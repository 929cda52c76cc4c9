/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/mad.h"

#include "wire/cm_fields.h"
#include "wire/ib_fields.h"

bool mad_is_smp(const struct mad *m)
{
	unsigned class = (unsigned)wire_get_MAD_mgmt_class(m->bytes);

	return class == MAD_CLASS_SMP || class == MAD_CLASS_SMP_DR;
}

bool mad_is_response(const struct mad *m)
{
	return wire_get_MAD_r(m->bytes) || wire_get_MAD_method(m->bytes) == MAD_TRAP_REPRESS;
}

static void exchange_grh(struct mad *m)
{
	uint8_t sgid[16];

	memcpy(sgid, wire_get_GRH_sgid(m->grh), 16);
	wire_set_GRH_sgid(m->grh, wire_get_GRH_dgid(m->grh));
	wire_set_GRH_dgid(m->grh, sgid);
	wire_set_GRH_hop_lmt(m->grh, 0xff);
}

void mad_answer(struct mad *m, uint16_t status)
{
	uint16_t lid = m->slid;
	uint32_t qpn = m->sqpn;
	unsigned method = (unsigned)wire_get_MAD_method(m->bytes);

	m->slid = m->dlid;
	m->dlid = lid;
	m->sqpn = m->dqpn;
	m->dqpn = qpn;
	m->hops = 0;
	if (m->has_grh)
		exchange_grh(m);
	wire_set_MAD_method(m->bytes, method == MAD_SET ? MAD_GET : method);
	wire_set_MAD_r(m->bytes, 1);
	wire_set_MAD_status(m->bytes, status);
}

unsigned mad_words(const struct mad *m)
{
	return (WIRE_LRH_LEN + (m->has_grh ? WIRE_GRH_LEN : 0) + WIRE_BTH_LEN + WIRE_DETH_LEN + MAD_LEN + 4) / 4;
}

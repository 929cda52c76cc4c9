/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/smp.h"

#include "wire/cm_fields.h"

static uint8_t *initial_path(struct mad *m)
{
	return m->bytes + WIRE_SMP_INITIAL_PATH;
}

static uint8_t *return_path(struct mad *m)
{
	return m->bytes + WIRE_SMP_RETURN_PATH;
}

/* A CA sends only by its own port, and forwards nothing (14.2.2.1, 14.2.2.2). */
static enum smp_step leave(struct fab_node *n, unsigned in, unsigned out, unsigned *ret_out)
{
	if (out == 0 || out > n->n_ports || (n->type != FAB_SWITCH && in != 0))
		return SMP_DISCARD;
	*ret_out = out;
	return SMP_LEAVE;
}

/* The directed part has ended at this node. */
static enum smp_step end_of_path(struct fab_node *n, struct mad *m, uint16_t lid)
{
	if (lid == MAD_LID_PERMISSIVE)
		return SMP_DELIVER;
	if (n->type != FAB_SWITCH)
		return SMP_DISCARD;
	m->dlid = lid;
	m->slid = fab_port_lid(&n->ports[0]);
	return SMP_BY_LID;
}

static enum smp_step outgoing(struct fab_node *n, unsigned in, struct mad *m, unsigned *ret_out)
{
	unsigned count = (unsigned)wire_get_SMP_hop_count(m->bytes);
	unsigned pointer = (unsigned)wire_get_SMP_hop_pointer(m->bytes);

	if (pointer == count + 1)
		return SMP_DELIVER;
	if (pointer > count)
		return SMP_DISCARD;
	/* Recorded where it arrived, but for the first node of the directed part. */
	if (pointer > 0) {
		if (in == 0)
			return SMP_DISCARD;
		return_path(m)[pointer] = (uint8_t)in;
	}
	wire_set_SMP_hop_pointer(m->bytes, pointer + 1);
	if (pointer == count)
		return end_of_path(n, m, (uint16_t)wire_get_SMP_dr_dlid(m->bytes));
	/* Entry i is the port by which node i-1 sends: the pointer names it once it has moved. */
	m->slid = m->dlid = MAD_LID_PERMISSIVE;
	return leave(n, in, initial_path(m)[pointer + 1], ret_out);
}

static enum smp_step returning(struct fab_node *n, unsigned in, struct mad *m, unsigned *ret_out)
{
	unsigned count = (unsigned)wire_get_SMP_hop_count(m->bytes);
	unsigned pointer = (unsigned)wire_get_SMP_hop_pointer(m->bytes);

	if (pointer == 0)
		return SMP_DELIVER;
	if (pointer > count + 1)
		return SMP_DISCARD;
	wire_set_SMP_hop_pointer(m->bytes, pointer - 1);
	if (pointer == 1)
		return end_of_path(n, m, (uint16_t)wire_get_SMP_dr_slid(m->bytes));
	m->slid = m->dlid = MAD_LID_PERMISSIVE;
	return leave(n, in, return_path(m)[pointer - 1], ret_out);
}

enum smp_step smp_dr_step(struct fab_node *n, unsigned in, struct mad *m, unsigned *ret_out)
{
	if (wire_get_SMP_hop_count(m->bytes) > FAB_HOPS_MAX)
		return SMP_DISCARD;
	if (wire_get_SMP_d(m->bytes))
		return returning(n, in, m, ret_out);
	return outgoing(n, in, m, ret_out);
}

void smp_answer(struct mad *m, uint16_t status)
{
	bool is_directed = wire_get_MAD_mgmt_class(m->bytes) == MAD_CLASS_SMP_DR;

	mad_answer(m, status);
	if (is_directed)
		wire_set_SMP_d(m->bytes, 1);
}

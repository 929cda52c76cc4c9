/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/agents.h"

#include "wire/cm_fields.h"
#include "wire/rmpp_fields.h"

#include <errno.h>

/* Management classes (IBTA vol 1, 13.4.4, table 112). */
enum {
	CLASS_SUBN_LID = 0x01,
	CLASS_SUBN_ADM = 0x03,
	CLASS_BM = 0x05,
	CLASS_DEV_MGT = 0x06,
	CLASS_DEV_ADM = 0x10,
	CLASS_BIS = 0x12,
	CLASS_VENDOR2_FIRST = 0x30,
	CLASS_VENDOR2_LAST = 0x4f,
	CLASS_SUBN_DIRECTED = 0x81
};

/* Methods (IBTA vol 1, 13.4.5, table 113). */
enum { METHOD_GET = 0x01, METHOD_SET = 0x02, METHOD_TRAP_REPRESS = 0x07 };

#define STATUS_METHOD_ATTRIBUTE 0x000c  /* IBTA vol 1, 13.4.7, table 115 */
#define STATUS_DIRECTION 0x8000         /* of directed-route SMPs */
#define BM_RESPONSE 1                   /* of the attribute modifier (IBTA vol 1, 16.2) */

/* Kernel: MAX_MGMT_VERSION, MAX_MGMT_CLASS. */
#define VERSIONS 8
#define CLASSES 0x50

static unsigned class_of(const uint8_t *mad)
{
	return (unsigned)wire_get_MAD_mgmt_class(mad);
}

static bool is_subn(unsigned c)
{
	return c == CLASS_SUBN_LID || c == CLASS_SUBN_DIRECTED;
}

bool agents_is_response(const uint8_t *mad)
{
	if (wire_get_MAD_r(mad) || wire_get_MAD_method(mad) == METHOD_TRAP_REPRESS)
		return true;
	return class_of(mad) == CLASS_BM && (wire_get_MAD_attr_mod(mad) & BM_RESPONSE);
}

bool agents_is_vendor_class(uint8_t c)
{
	return c >= CLASS_VENDOR2_FIRST && c <= CLASS_VENDOR2_LAST;
}

bool agents_is_rmpp_class(uint8_t c)
{
	return c == CLASS_SUBN_ADM || c == CLASS_DEV_MGT || c == CLASS_DEV_ADM || c == CLASS_BIS ||
	       agents_is_vendor_class(c);
}

unsigned agents_data_offset(uint8_t c)
{
	switch (c) {
	case CLASS_SUBN_ADM:
		return 56;
	case CLASS_DEV_MGT:
	case CLASS_DEV_ADM:
	case CLASS_BIS:
		return 64;
	default:
		return agents_is_vendor_class(c) ? 40 : WIRE_MAD_LEN;
	}
}

void agents_init(struct agents *t)
{
	*t = (struct agents){ 0 };
}

void agents_fini(struct agents *t)
{
	ut_idtab_fini(&t->by_tid);
}

void agents_port_init(struct agents_port *p)
{
	*p = (struct agents_port){ 0 };
	ut_list_init(&p->serving);
}

static bool has_methods(const struct agents_agent *a)
{
	return a->methods[0] || a->methods[1];
}

/* ib_register_mad_agent() of the kernel. */
static bool fits(const struct agents_agent *a)
{
	if (a->rmpp_version > 1 || a->qpn > 1)
		return false;
	if (!a->mgmt_class)
		return !has_methods(a);
	if (a->class_version >= VERSIONS || (a->mgmt_class >= CLASSES && a->mgmt_class != CLASS_SUBN_DIRECTED))
		return false;
	if (agents_is_vendor_class(a->mgmt_class) && !a->oui)
		return false;
	if (a->rmpp_version && !agents_is_rmpp_class(a->mgmt_class))
		return false;
	return is_subn(a->mgmt_class) == (a->qpn == 0);
}

static bool same_class(const struct agents_agent *a, uint8_t mgmt_class, uint8_t version, uint32_t oui)
{
	return a->mgmt_class == mgmt_class && a->class_version == version &&
	       (!agents_is_vendor_class(mgmt_class) || a->oui == oui);
}

static bool is_taken(const struct agents_port *p, const struct agents_agent *a)
{
	const struct agents_agent *o;

	ut_list_each(o, &p->serving, node)
		if (same_class(o, a->mgmt_class, a->class_version, a->oui) &&
		    ((o->methods[0] & a->methods[0]) || (o->methods[1] & a->methods[1])))
			return true;
	return false;
}

static int add_tid(struct agents *t, struct agents_agent *a)
{
	int r;

	do {
		if (!++t->last_tid)
			++t->last_tid;
		r = ut_idtab_add(&t->by_tid, t->last_tid, a);
	} while (r == -EEXIST);
	if (!r)
		a->tid_high = t->last_tid;
	return r;
}

int agents_add(struct agents *t, struct agents_port *p, struct agents_agent *a)
{
	int r;

	a->tid_high = 0;
	if (!fits(a) || is_taken(p, a))
		return -EINVAL;
	r = add_tid(t, a);
	if (r)
		return r;
	a->port = p;
	ut_list_init(&a->node);
	if (has_methods(a))
		ut_list_add_tail(&p->serving, &a->node);
	p->n++;
	return 0;
}

void agents_remove(struct agents *t, struct agents_agent *a)
{
	if (!a->tid_high)
		return;
	ut_idtab_del(&t->by_tid, a->tid_high);
	ut_list_del(&a->node);
	a->port->n--;
	a->tid_high = 0;
}

static struct agents_agent *by_tid(struct agents *t, struct agents_port *p, const uint8_t *mad)
{
	struct agents_agent *a = ut_idtab_get(&t->by_tid, (uint32_t)(wire_get_MAD_tid(mad) >> 32));

	return a && a->port == p ? a : NULL;
}

static uint32_t oui_of(const uint8_t *mad)
{
	return (uint32_t)wire_get_RMPP_vendor_oui(mad);
}

static struct agents_agent *by_method(struct agents_port *p, const uint8_t *mad)
{
	unsigned method = (unsigned)wire_get_MAD_method(mad);
	uint8_t mgmt_class = (uint8_t)class_of(mad), version = (uint8_t)wire_get_MAD_class_version(mad);
	struct agents_agent *a;

	ut_list_each(a, &p->serving, node)
		if (same_class(a, mgmt_class, version, oui_of(mad)) && a->methods[method / 64] >> method % 64 & 1)
			return a;
	return NULL;
}

/* generate_unmatched_resp() of the kernel. */
static bool make_answer(uint8_t *mad)
{
	unsigned method = (unsigned)wire_get_MAD_method(mad), status = STATUS_METHOD_ATTRIBUTE;

	if (method != METHOD_GET && method != METHOD_SET)
		return false;
	if (class_of(mad) == CLASS_SUBN_DIRECTED)
		status |= STATUS_DIRECTION;
	wire_set_MAD_method(mad, METHOD_GET);
	wire_set_MAD_r(mad, 1);
	wire_set_MAD_status(mad, status);
	return true;
}

/* QP0 has subnet management and nothing else; QP1 has all other classes. */
static bool is_for(const uint8_t *mad, unsigned qpn)
{
	return wire_get_MAD_base_version(mad) == 1 && qpn <= 1 && is_subn(class_of(mad)) == (qpn == 0);
}

enum agents_outcome agents_route(struct agents *t, struct agents_port *p, unsigned qpn, uint8_t mad[AGENTS_MAD_LENGTH],
				 struct agents_agent **ret)
{
	bool response = agents_is_response(mad);
	struct agents_agent *a = NULL;

	if (is_for(mad, qpn))
		a = response ? by_tid(t, p, mad) : by_method(p, mad);
	if (a && a->qpn == qpn) {
		*ret = a;
		p->delivered++;
		return AGENTS_TAKEN;
	}
	if (!response && is_for(mad, qpn) && make_answer(mad)) {
		p->answered++;
		return AGENTS_ANSWER;
	}
	p->dropped++;
	return AGENTS_DROPPED;
}

bool agents_may_send(const struct agents_agent *a, uint8_t mad[AGENTS_MAD_LENGTH])
{
	if (!is_for(mad, a->qpn))
		return false;
	if (!agents_is_response(mad))
		wire_set_MAD_tid(mad, (uint64_t)a->tid_high << 32 | (uint32_t)wire_get_MAD_tid(mad));
	return true;
}

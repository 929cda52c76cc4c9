/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/program/discover.h"
#include "ulp/srp/mads.h"
#include "ulp/srp/program/id.h"

#include <stdio.h>

#define PORTS_MAX 1024

static int failed(const struct srp_mads *m)
{
	fprintf(stderr, "dapple srp: the fabric: %s: no target is found; see that the link is InfiniBand (dapple doctor) and that a subnet "
		"manager runs\n", m->why);
	return 1;
}

static void print_target(const struct srp_port *p, const struct srp_dm_controller *c, const struct srp_dm_service *s)
{
	char text[SRP_ID_TEXT_MAX];
	uint8_t id[16];

	if (!srp_dm_target(id, c, s))
		return;
	printf("%s  gid %016llx%016llx  lid %u  service %016llx  %s\n", srp_id_text(text, id), (unsigned long long)p->prefix,
	       (unsigned long long)p->guid, p->lid, (unsigned long long)s->id, c->id);
}

/* A port that does not answer is left out, with a sentence. */
static void left_out(const struct srp_mads *m, const struct srp_port *p)
{
	fprintf(stderr, "dapple srp: port %016llx: %s: its targets are left out; look at the program that serves there\n",
		(unsigned long long)p->guid, m->why);
}

static int look_at_controller(struct srp_mads *m, const struct srp_port *p, unsigned slot)
{
	uint8_t mad[SRP_MAD_LEN];
	struct srp_dm_controller c;
	int r = srp_mads_ask(m, p->lid, WIRE_DM_IOC, srp_dm_slot(slot), mad);

	if (r)
		return r;
	srp_dm_controller_get(&c, mad);
	for (unsigned first = 0; first < c.services && !r; first += WIRE_SERVICE_ENTRIES) {
		unsigned n = c.services - first < WIRE_SERVICE_ENTRIES ? c.services - first : WIRE_SERVICE_ENTRIES;

		r = srp_mads_ask(m, p->lid, WIRE_DM_SERVICES, srp_dm_services(slot, first, first + n - 1), mad);
		for (unsigned i = 0; i < n && !r; i++) {
			struct srp_dm_service s;

			srp_dm_service_get(&s, mad, i);
			print_target(p, &c, &s);
		}
	}
	return r;
}

static void look_at_port(struct srp_mads *m, const struct srp_port *p)
{
	uint8_t unit[SRP_MAD_LEN];
	int r = srp_mads_ask(m, p->lid, WIRE_DM_IO_UNIT, 0, unit);

	for (unsigned slot = 1; !r && slot <= srp_dm_slots(unit); slot++)
		if (srp_dm_has_controller(unit, slot))
			r = look_at_controller(m, p, slot);
	if (r)
		left_out(m, p);
}

int srp_discover(void)
{
	static struct srp_port ports[PORTS_MAX];
	struct srp_mads m;
	int n = srp_mads_open(&m, NULL, 0);

	if (n)
		return failed(&m);
	n = srp_mads_client(&m);
	if (!n)
		n = srp_mads_ports(&m, ports, PORTS_MAX);
	if (n < 0)
		n = -failed(&m);
	for (int i = 0; i < n; i++)
		look_at_port(&m, &ports[i]);
	srp_mads_close(&m);
	return n < 0;
}

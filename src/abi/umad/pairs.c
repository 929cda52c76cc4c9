/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pairs of adapters for subnet and general management (rdma-core 56): where two adapters of a host share a port,
 * one serves each. An adapter here has ports of its own and serves both.
 */
#include "abi/umad/list.h"

#include "engine/port.h"
#include "util/export.h"

#include <errno.h>
#include <infiniband/umad.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* struct umad_ca_pair, under a name of its own: headers before rdma-core 56 have none. */
struct pair {
	char smi_name[UMAD_CA_NAME_LEN];
	uint32_t smi_port;
	char gsi_name[UMAD_CA_NAME_LEN];
	uint32_t gsi_port;
};

extern int pairs(struct pair v[], size_t max) __asm__("umad_get_smi_gsi_pairs");
extern int pair_of(const char *name, uint8_t port, struct pair *ret, unsigned smi_needed)
	__asm__("umad_get_smi_gsi_pair_by_ca_name");

static void fill(struct pair *p, const struct dev_info *d, uint32_t port)
{
	memset(p, 0, sizeof(*p));
	strcpy(p->smi_name, d->name); /* umad_list() gives those that fit */
	strcpy(p->gsi_name, d->name);
	p->smi_port = p->gsi_port = port;
}

/* Returns how many it has put into v. The ports are not chosen yet. */
UT_EXPORT int pairs(struct pair v[], size_t max)
{
	struct dev_info *d;
	int n = umad_list(&d);

	if (n < 0)
		return -1;
	if ((size_t)n > max)
		n = (int)max;
	for (int i = 0; i < n; i++)
		fill(&v[i], &d[i], 0);
	free(d);
	return n;
}

/* name NULL: the first adapter. port 0: its first one. Returns 0, 1: there is no such adapter or port, or -1. */
UT_EXPORT int pair_of(const char *name, uint8_t port, struct pair *ret, unsigned smi_needed)
{
	struct dev_info *d;
	int n = ret ? umad_list(&d) : -1, r = 1;

	if (n < 0)
		return -1;
	for (int i = 0; i < n && r; i++) {
		if ((name && strcmp(name, d[i].name)) || (port && port != ENG_PORT_NUM))
			continue;
		fill(ret, &d[i], ENG_PORT_NUM);
		r = 0;
	}
	free(d);
	return r;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Identifiers as lines, for the control socket of the process. Its thread holds a lock that a call may wait for, so an
 * identifier with a call in progress is not waited for: it is left out, and is there the next time.
 */
#include "cm/cma.h"

#include "cm/cma/change.h"
#include "cm/cma/id.h"
#include "util/ip.h"

#include <stdlib.h>

/* iproute2's words for the states of the kernel's manager. */
static const char *state_of(struct cma_id *id)
{
	static const char *const names[CMA_STATES] = {
		[CMA_IDLE] = "IDLE", [CMA_BOUND] = "ADDR_BOUND", [CMA_NAME_QUERY] = "ADDR_QUERY", [CMA_ADDR] = "ADDR_RESOLVED",
		[CMA_ROUTE_QUERY] = "ROUTE_QUERY", [CMA_ROUTED] = "ROUTE_RESOLVED", [CMA_LISTENING] = "LISTEN",
		[CMA_CONNECT] = "CONNECT", [CMA_DISCONNECT] = "DISCONNECT", [CMA_GONE] = "DEVICE_REMOVAL",
		[CMA_DEAD] = "DESTROYING",
	};
	enum cma_state s;

	ut_lock(&id->c->lock);
	s = id->state;
	ut_unlock(&id->c->lock);
	return names[s];
}

static const char *space_of(enum cm_ps ps)
{
	switch (ps) {
	case CM_PS_IPOIB: return "IPoIB";
	case CM_PS_SDP: return "SDP";
	case CM_PS_TCP: return "TCP";
	case CM_PS_UDP: return "UDP";
	case CM_PS_IB: return "IB";
	}
	return "-";
}

static void put_end(FILE *out, const char *word, bool known, const struct link_end *end)
{
	char text[INET6_ADDRSTRLEN];

	if (!known)
		fprintf(out, " %s 0.0.0.0:0", word);
	else if (ut_ip_is_v4(end->addr))
		fprintf(out, " %s %s:%u", word, ut_ip_text(end->addr, text), end->port);
	else
		fprintf(out, " %s [%s]:%u", word, ut_ip_text(end->addr, text), end->port);
}

static void show_one(struct cma_id *id, int number, const struct eng_show_who *who, FILE *out)
{
	const char *state = state_of(id);

	if (!ut_trylock(&id->call))
		return;
	if (id->port)
		fprintf(out, "link %s/%d", id->port->dev->name, ENG_PORT_NUM);
	else
		fputs("link -/-", out);
	fprintf(out, " cm-idn %d qp-type %s state %s ps %s pid %d comm %s", number, id->qp_type == IBV_QPT_UD ? "UD" : "RC",
		state, space_of(id->ps), who->pid, who->comm);
	put_end(out, "src-addr", id->has_local, &id->local);
	put_end(out, "dst-addr", id->has_remote, &id->remote);
	fputc('\n', out);
	ut_unlock(&id->call);
}

void cma_show(struct cma *c, const struct eng_show_who *who, FILE *out)
{
	struct cma_id **v;
	size_t n;

	if (cma_foreign(c))
		return;
	v = cma_hold_all(c, &n);
	for (size_t i = 0; i < n; i++) {
		show_one(v[i], (int)i, who, out);
		cma_id_put(v[i]);
	}
	free(v);
}

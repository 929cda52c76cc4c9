/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/exchange.h"

#include "ulp/rds/job.h"
#include "ulp/rds/node.h"

#include <stdlib.h>
#include <string.h>

static void begin_map(struct rds_conn *c)
{
	const struct rds_listener *listener = rds_listener_find(c->node, &c->local);

	c->out.header = (struct rds_header){ .len = WIRE_RDS_MAP_LEN, .map = true, .generation = c->node->generation };
	memset(c->out.map, 0, sizeof(c->out.map));
	if (listener)
		rds_map_put(c->out.map, listener->map);
	c->map_due = false;
	c->out.is_map = true;
	c->node->counters.cong_update_queued++;
}

static void begin_message(struct rds_conn *c, const struct rds_message *m)
{
	c->out.header = (struct rds_header){ .sequence = m->sequence, .len = m->len, .sport = m->sport, .dport = m->dport,
					     .retransmitted = m->retransmitted, .paths = m->paths, .cookie = m->cookie };
	if (!m->works[0])
		return;
	c->out.header.uses_region = true;
	c->out.header.key = m->works[0]->work.key;
}

bool rds_out_begin(struct rds_conn *c)
{
	const struct rds_message *m = rds_flow_next(&c->flow);

	if (c->map_due)
		begin_map(c);
	else if (m)
		begin_message(c, m);
	else
		return false;
	c->out.begun = true;
	return true;
}

const uint8_t *rds_out_payload(const struct rds_conn *c)
{
	return c->out.is_map ? c->out.map : rds_flow_next(&c->flow)->data;
}

void rds_out_end(struct rds_conn *c, uint64_t end)
{
	if (!c->out.is_map)
		rds_flow_sent(&c->flow, end);
	c->out.begun = c->out.is_map = false;
}

static bool has_posted(const struct rds_message *m, const void *key)
{
	return (m->works[0] && m->works[0]->posted) || (m->works[1] && m->works[1]->posted);
}

/* What the peer's memory has seen, or may have, is not done twice: as in Linux the message is dropped with it. */
void rds_out_restart(struct rds_conn *c)
{
	c->out.begun = c->out.is_map = false;
	rds_flow_restart(&c->flow);
	rds_flow_cancel(&c->flow, 0, has_posted, NULL, false, rds_node_dropped, c->node);
}

void rds_in_done(struct rds_conn *c, const struct rds_header *h, struct rds_message *m)
{
	if (h->map) {
		rds_node_map(c, h, m->data);
		rds_message_free(m);
	} else if (!rds_node_arrived(c, h, m)) {
		c->paused = true;
	}
}

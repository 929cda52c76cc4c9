/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How a port of the transport machine begins and ends. */
#include "proto/ib/port.h"

#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>

int ibp_port_init(struct eng_dev *dev, const struct ibp_config *cfg)
{
	struct ibp_port *port = ut_zalloc(sizeof(*port));
	int r;

	if (!port)
		return -ENOMEM;
	r = ut_stage_init(&port->train.stage, IBP_TRAIN_BYTES + 4096);
	if (r < 0) {
		free(port);
		return r;
	}
	port->dev = dev;
	port->link = cfg->link;
	port->chan = cfg->chan;
	r = ibp_shm_init(port);
	if (r < 0) {
		ut_stage_fini(&port->train.stage);
		free(port);
		return r;
	}
	port->cfg = *cfg;
	port->rng.state = cfg->seed;
	ut_list_init(&port->active);
	ut_list_init(&port->acks);
	ut_list_init(&port->unarmed);
	ibp_forwards_init(port);
	dev->proto_port = port;
	return 0;
}

void ibp_port_fini(struct eng_dev *dev)
{
	struct ibp_port *port = dev->proto_port;

	if (!port)
		return;
	ibp_gsi_fini(port);
	ibp_forwards_fini(port);
	ibp_shm_fini(port);
	ut_stage_fini(&port->train.stage);
	ut_heap_fini(&port->timers);
	free(port);
	dev->proto_port = NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapple-rds, the carrier: the process that has the RDS connections of a user's programs under `dapple run --rds`, one for
 * each network namespace. librds-preload.so starts it with the listener for its requests as descriptor 3. It detaches
 * itself, takes requests of its own user alone, and exits when there has been nothing to carry for a while. Its standby
 * takes over if it is killed.
 */
#include "ulp/preload/detach.h"
#include "ulp/clock.h"
#include "ulp/rds/node.h"
#include "ulp/rds/serve.h"
#include "ulp/rds/standby.h"
#include "ulp/rds/store.h"
#include "ulp/rds/takeover.h"

#include <signal.h>
#include <unistd.h>

#define IDLE_MS 2000                    /* without a socket */
#define LINGER_MS 10000                 /* the same, with messages of programs that have gone */
#define ROUND_MS 500

/* To be ended on purpose is no death: the standby goes, too. */
static void terminate(int sig)
{
	rds_standby_dismiss();
	_exit(0);
}

int main(void)
{
	static struct rds_node node;
	int64_t left_at;
	bool takes_over;

	if (rsp_detach(RDS_LISTEN_FD))
		_exit(1);
	if (rds_store_make() || rds_node_make_maps(&node))
		return 1;
	rds_message_memory(rds_store_get, rds_store_put);
	takes_over = rds_standby_fork();
	signal(SIGTERM, terminate);
	if (rds_node_init(&node) || (takes_over && rds_takeover(&node)) || rds_serve(&node, RDS_LISTEN_FD))
		return 1;
	left_at = ulp_now_ms();
	while (ulp_now_ms() - left_at < (rds_node_has_messages(&node) ? LINGER_MS : IDLE_MS)) {
		rds_loop_round(&node.loop, ROUND_MS);
		if (rds_node_has_socks(&node))
			left_at = ulp_now_ms();
	}
	rds_standby_dismiss();
	rds_node_leave(&node);
	return 0;
}

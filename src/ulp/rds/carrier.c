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
#include "ulp/rds/renew.h"
#include "ulp/rds/serve.h"
#include "ulp/rds/standby.h"
#include "ulp/rds/store.h"
#include "ulp/rds/takeover.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
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

static void raise_limit(int resource)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit((__rlimit_resource_t)resource, &limit);
}

/* A program's limits are made for a program: the store's file is long, though most of it is never used, and there is a descriptor for each socket. */
static void raise_limits(void)
{
	signal(SIGXFSZ, SIG_IGN);
	raise_limit(RLIMIT_FSIZE);
	raise_limit(RLIMIT_NOFILE);
}

/* A carrier from its begin, or its standby, which returns when it has to take over: first of all there is a standby then. */
static void begin(struct rds_node *n, bool is_standby)
{
	if (!is_standby && rsp_detach(RDS_LISTEN_FD))
		_exit(1);
	raise_limits();
	if (rds_store_make(is_standby ? RDS_STANDBY_STORE_FD : -1) || rds_node_make_maps(n, is_standby ? RDS_STANDBY_MAPS_FD : -1))
		_exit(1);
	rds_message_memory(rds_store_get, rds_store_put);
	if (is_standby)
		rds_standby_begin();
	rds_standby_renew(n->maps_fd); /* without one, ulp/rds/renew.h says so and tries again */
}

int main(int argc, char **argv)
{
	static struct rds_node node;
	bool takes_over = argc > 1 && !strcmp(argv[1], RDS_STANDBY_WORD);
	int64_t left_at;

	begin(&node, takes_over);
	signal(SIGTERM, terminate);
	if (rds_node_init(&node) || (takes_over && rds_takeover(&node)) || rds_serve(&node, RDS_LISTEN_FD))
		return 1;
	rds_renew_begin(&node);
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

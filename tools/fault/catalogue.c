/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "catalogue.h"

#include <string.h>

#define GOES_ON "goes on: the adapter repairs it"
#define REJECTED "connects again, or ends with an error"
/* Managers repeat a message of 4 s and more: three in a row are lost, then one gets through. */
#define REPEATS_S 15
#define FAILS "ends with an error: a completion or event says so"

const struct fault_row fault_catalogue[] = {
	{ "lost-requests", "roce", "lose in op=send|write|read|atomic every=5", GOES_ON, REPEATS_S },
	{ "lost-acks", "roce", "lose out op=ack every=3", GOES_ON, REPEATS_S },
	{ "lost-last-ack", "roce", "lose out op=ack p=0.3 seed=1", GOES_ON, REPEATS_S },
	{ "duplicates", "roce", "duplicate p=0.2 seed=2", GOES_ON, REPEATS_S },
	{ "duplicate-atomic", "roce", "duplicate op=atomic", "goes on: an atomic is executed once", REPEATS_S },
	{ "reordering", "roce", "reorder p=0.1 seed=3", GOES_ON, REPEATS_S },
	{ "damage", "roce", "corrupt p=0.05 seed=4", GOES_ON, REPEATS_S },
	{ "slow-network", "roce", "delay=5ms in every=4", GOES_ON, REPEATS_S },
	{ "slow-receiver", "roce", "slow=5ms op=send", "goes on, if its rnr_retry allows", REPEATS_S },
	{ "tiny-window", "roce", "window=1", GOES_ON, REPEATS_S },
	{ "port-down", "roce", "port-down=300ms in op=send|write|read nth=2", "goes on, or ends with an error: PORT_ERR and PORT_ACTIVE come", REPEATS_S },
	{ "lost-handshake", "roce", "lose in op=cm first=2", GOES_ON, REPEATS_S },
	{ "sequence-naks", "roce", "nak=sequence every=7", GOES_ON, REPEATS_S },
	{ "rnr-storm", "roce", "rnr op=send first=5", "goes on, if its rnr_retry allows", REPEATS_S },
	{ "retry-exhaustion", "roce", "lose in op=send|write|read|atomic|ack after=200ms", FAILS, 0 },
	{ "access-refused", NULL, "nak=access op=write|read|atomic nth=2", FAILS, 0 },
	{ "request-refused", NULL, "nak=request op=send nth=2", FAILS, 0 },
	{ "peer-fails", "roce", "nak=operation nth=3", FAILS, 0 },
	{ "overrun", NULL, "overrun op=send nth=2", "ends with an error: CQ_ERR comes, and the queue pair stops", 0 },
	{ "refused-connection", NULL, "reject first=1", REJECTED, 0 },
	{ "stale-connection", "roce", "reject=stale first=1", REJECTED, 0 },
	{ "half-open-mpa", "iwarp", "silence first=2", REJECTED, 0 },
	{ "late-timewait", "roce", "timewait=2s", "goes on: it waits for no TIMEWAIT_EXIT, and takes a new queue pair", REPEATS_S },
	{ "no-receive", "iwarp", "rnr op=send nth=2", FAILS, 0 },
	{ "terminate", "iwarp", "terminate nth=3", FAILS, 0 },
	{ "short-sends", "iwarp", "short=7", GOES_ON, 0 },
	{ "no-region", NULL, "fail=reg_mr:ENOMEM nth=1", FAILS, 0 },
	{ "no-queue-pair", NULL, "fail=create_qp:ENOMEM nth=1", FAILS, 0 },
	{ "peer-dies", NULL, "die op=send nth=2", FAILS, 0 },
};
const size_t fault_catalogue_rows = sizeof(fault_catalogue) / sizeof(fault_catalogue[0]);

const struct fault_row *fault_find(const char *name)
{
	for (size_t i = 0; i < fault_catalogue_rows; i++)
		if (!strcmp(fault_catalogue[i].name, name))
			return &fault_catalogue[i];
	return NULL;
}

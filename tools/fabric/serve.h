/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fabric process: one thread, one poll loop, the model, and the doors to it.
 *
 *	control socket      commands of `dapple fabric`                control.c, commands.c
 *	attach socket       processes that use QP0 and QP1 of a port   attachments.c
 *	children            opensm                                     opensm.c
 *	UDP                 trunks to other fabric processes           trunk.c
 *	session             the fabric ends with the session that started it
 *
 * The model's upcalls go to attachments; its deadlines are the loop's.
 */
#ifndef FABRIC_SERVE_H
#define FABRIC_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "loop.h"
#include "mgmt/fabric.h"
#include "opensm.h"
#include "place.h"
#include "record.h"
#include "subnet.h"
#include "trunk.h"

#define SERVE_SMS_MAX 16

struct serve {
	char name[PLACE_NAME_MAX + 1];
	char dir[PLACE_MAX];
	struct loop *loop;
	struct fab *model;
	struct attachments *attachments;
	struct ad *adapters;
	struct control *control;
	struct opensm *sms[SERVE_SMS_MAX];
	struct trunks *trunks;	/* or NULL */
	struct record *record;	/* or NULL */
	bool has_hosts;		/* each node has a network namespace (hosts.h) */
	bool is_hopping;	/* data packets travel hop by hop (mgmt/hop.h) */
	uint64_t started;	/* ns */
	bool ending;
	int report;		/* pipe to `dapple fabric up`; -1 once it has ended */
	uint64_t look_at;	/* next look at the ports for the report, ns */
	uint64_t reported;	/* model->sm_set at the last report */
	int session, owner;	/* pidfds of the session's leader, and of the owner; or -1 */
	int signals;
};

struct serve_config {
	const char *name, *dir;
	struct fab *model;
	const char *sm;			/* node of the SM, or NULL */
	char *const *sm_words;
	const struct trunk_spec *trunk;	/* or NULL */
	FILE *capture;			/* or NULL; with its name. The process has its own copy */
	const char *capture_name;
	bool is_session_bound, has_hosts, is_hopping;
	pid_t owner;			/* ends the fabric with its end; 0: none */
	int report;
};

/*
 * Serves until the fabric ends. The caller holds the lock of the directory. Lines to `report`: "progress ACTIVE
 * LINKED" and the LIDs missing, "up", or "failed" and a sentence. Returns an exit code.
 */
int serve_run(const struct serve_config *c);

/* Writes the line "failed ..." into a report pipe. */
void serve_report_failure(int report, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Starts a subnet manager on a node. Returns 0, or a negative errno: -EBUSY if one is there, -ENOENT without opensm. */
int serve_sm_start(struct serve *s, struct fab_node *n, char *const *words);
/* Ends the one of this node. Returns false if there is none. */
bool serve_sm_stop(struct serve *s, const char *node);
/* The SM that the fabric process has started on the node, or NULL. */
struct opensm *serve_sm_of(const struct serve *s, const char *node);

/* How far the first subnet manager has brought the fabric; without one, the whole fabric. */
void serve_subnet(const struct serve *s, struct subnet *ret);
/* Takes care of processes at a node that is about to be removed. */
void serve_node_gone(void *arg, struct fab_node *n);

#endif

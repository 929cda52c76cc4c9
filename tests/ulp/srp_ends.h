/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The two ends of a test of SRP: a target of two disks in the memory of the server's process, which one initiator may use, and
 * logins to it.
 */
#ifndef TESTS_ULP_SRP_ENDS_H
#define TESTS_ULP_SRP_ENDS_H

#include "listens.h"

#include "ulp/srp/disk.h"
#include "ulp/srp/target.h"

#include <pthread.h>

#define SRP_ENDS_MS 60000
#define SRP_ENDS_UNIT (8u << 20) /* octets of the first disk */

extern const uint8_t srp_ends_target[16], srp_ends_initiator[16];
extern struct srp_target target;
/* The first disk, and the second one, which is read only. */
extern struct scsi_unit unit, fixed;

void srp_ends_make_target(void);

struct srp_service {
	struct ulp_request q;
	/* Called after the login, before anything is taken; may be NULL. */
	void (*logged_in)(struct ulp_conn *u, void *user);
	void *user;
	pthread_t thread;
	struct srp_served served;
	int result;
	char why[ULP_WHY_MAX];
};

/* Serves the request in a thread of its own. */
void srp_ends_begin(struct srp_service *s);
/* Serves so many logins, and returns when their sessions have ended. */
void srp_ends_serve(struct ulp_listener *l, struct srp_service *s, unsigned nr);

/* The initiator that the target lets in; waits for the server's address. */
struct srp_disk_conf srp_ends_conf(struct ends *e);
struct srp_session *srp_ends_log_in(const struct srp_disk_conf *c);
/* A login that fails, with these words. Returns the errno. */
int srp_ends_refused(const struct srp_disk_conf *c, const char *words);

#endif

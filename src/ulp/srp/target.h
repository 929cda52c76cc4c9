/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The target of SRP: a target port with logical units, and the sessions of initiators with it. Each session has a thread,
 * which is in srp_target_serve() as long as the session stands.
 *
 * A second login of an initiator ends its sessions before, once its own one stands: the request of a login that was given up may come
 * late, behind that of the next one, and must not end that.
 */
#ifndef ULP_SRP_TARGET_H
#define ULP_SRP_TARGET_H

#include "ulp/conn.h"
#include "ulp/srp/scsi.h"

#include <pthread.h>

#define SRP_INITIATORS_MAX 64

struct srp_serving;

struct srp_target {
	uint8_t id[16];
	struct scsi_unit *units[SCSI_UNITS_MAX];
	unsigned nr_units;
	uint8_t allowed[SRP_INITIATORS_MAX][16];  /* initiator ports that may log in. They are no authentication */
	unsigned nr_allowed;
	uint16_t limit;                 /* requests of a session under way: 1 to 1,024 */
	uint16_t first_limit;           /* those that the login response grants; SRP_CRED_REQ grants the rest. 0: all */
	uint32_t it_length;             /* longest information unit that is taken */
	bool immediate;
	pthread_mutex_t lock;           /* of the sessions */
	pthread_cond_t ended;
	struct srp_serving *sessions;
	uint64_t arrivals;              /* of requests */
	bool stopping;
};

struct srp_served {
	uint64_t commands, read, written, tasks_aborted;
	uint8_t initiator[16];
};

/* 64 requests, 8,276 octets, immediate data; no unit and no initiator. */
void srp_target_init(struct srp_target *t);

/*
 * Takes over the identifier of a connection request with its private data, and serves the session until it ends. Returns 0
 * after a logout or a disconnection, or a negative errno; why says more. `logged_in` is called when the session stands.
 */
int srp_target_serve(struct srp_target *t, struct rdma_cm_id *id, const void *data, size_t len, struct srp_served *ret,
		     void (*logged_in)(const struct srp_served *served, void *user), void *user, char why[ULP_WHY_MAX]);
/* Logs all sessions out, and waits for their ends for timeout_ms. No new ones are taken. */
void srp_target_stop(struct srp_target *t, int timeout_ms);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A session at the target, for the files of this room. A command goes through these states:
 *
 *   QUEUED       there is no stage for it yet
 *   TABLE        its descriptor table is being read
 *   BRINGING     its data-out is being read into the stage
 *   GIVING       it has been executed, its data-in is being written from the stage
 *   DONE         its response waits for the completions of older ones
 *   RESPONDING   the response is under way
 *
 * A command keeps the receive in which it came until its response, which grants the initiator a request again. A stage is
 * memory for the data of one command.
 */
#ifndef ULP_SRP_SERVING_H
#define ULP_SRP_SERVING_H

#include "ulp/srp/chan.h"
#include "ulp/srp/target.h"

#define SRP_STAGES 16
#define SRP_SPARE_RECEIVES 8    /* for answers and the logout */
#define SRP_REQUESTS 4          /* messages for requests of the target */
#define SRP_RDMA_DEPTH 64       /* RDMA operations that are posted */

enum srp_work { SRP_WORK_TABLE = 1, SRP_WORK_DATA, SRP_WORK_RESPONSE, SRP_WORK_REQUEST };

enum srp_state { SRP_FREE, SRP_QUEUED, SRP_TABLE, SRP_BRINGING, SRP_GIVING, SRP_DONE, SRP_MANAGING, SRP_RESPONDING };

struct srp_stage {
	uint8_t *data;                  /* SCSI_TRANSFER_MAX octets, and room for a descriptor table behind */
	struct srp_memory table[SRP_DESCRIPTORS_MAX];
	bool used;
};

struct srp_work_task {
	enum srp_state state;
	uint32_t recv;                  /* the receive in which it came */
	struct srp_command c;
	struct srp_task manage;         /* with SRP_MANAGING */
	uint8_t code;
	struct scsi_plan plan;
	struct scsi_result result;
	struct srp_stage *stage;
	uint32_t piece, left;           /* of the data: next descriptor, octets that are to be posted */
	uint32_t done;                  /* octets of the stage that are posted */
	uint32_t outstanding;           /* RDMA operations */
	unsigned resets;                /* of the unit, when it came */
	bool aborted;
	struct srp_work_task *next;     /* in the queue */
};

struct srp_serving {
	struct srp_chan ch;
	struct srp_target *target;
	struct srp_login login;
	struct scsi_nexus nexus;
	struct srp_work_task *tasks;
	uint32_t nr_tasks;
	struct srp_work_task *queue, **queue_end; /* SRP_QUEUED */
	struct srp_stage stages[SRP_STAGES];
	uint8_t *memory;                /* of the stages */
	struct ibv_mr *mr;
	uint32_t rdma_posted, responding, requests; /* requests under way from the initiator */
	uint32_t granted;               /* the request limit in all */
	uint32_t owed;                  /* requests of tasks that ended without a response */
	bool ordered;                   /* an ordered command is under way */
	bool leaving;                   /* SRP_T_LOGOUT has been sent */
	bool logged_out;
	int kick_fd;                    /* readable: the session is to end, for this reason */
	/* Guarded by the target's lock. */
	uint64_t arrival;               /* of its request, among all */
	bool stands;                    /* the initiator has got the response, and commands are taken */
	bool kicked;
	uint32_t kick_reason;           /* set before the kick */
	struct srp_served served;
	struct srp_serving *next;       /* in the target's list */
};

#endif

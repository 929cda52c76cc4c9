/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tasks of a session at the target: commands and task management functions from their receive to their response. */
#ifndef ULP_SRP_TASK_H
#define ULP_SRP_TASK_H

#include "ulp/srp/serving.h"

/* Makes and frees tasks and stages; the channel's protection domain is there. */
int srp_tasks_init(struct srp_serving *s);
void srp_tasks_fini(struct srp_serving *s);
/* Takes an SRP_CMD or SRP_TSK_MGMT that lies in a receive. */
int srp_tasks_take(struct srp_serving *s, uint32_t recv, uint32_t len);
/* A work request of a task has been completed. */
int srp_tasks_completed(struct srp_serving *s, enum srp_work kind, uint32_t index);
/* Starts and continues what can be. */
int srp_tasks_pump(struct srp_serving *s);

#endif

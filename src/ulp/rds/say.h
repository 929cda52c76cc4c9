/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sentences for the user: what `dapple why` prints. Under rdma-core there is no such place, and nothing is said. */
#ifndef ULP_RDS_SAY_H
#define ULP_RDS_SAY_H

void rds_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif

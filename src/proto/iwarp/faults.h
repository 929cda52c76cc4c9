/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rules of faults (link/rules.h) on FPDUs that arrive, and on sends of streams. */
#ifndef PROTO_IWARP_FAULTS_H
#define PROTO_IWARP_FAULTS_H

#include "proto/iwarp/port.h"

/* Returns ENG_OK, or the verdict that a rule of port->rules wants, which is not NULL. */
enum eng_verdict iwp_fault_request(struct iwp_qp *q, const struct iwp_rx *rx);

#endif

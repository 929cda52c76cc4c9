/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rules of faults (link/rules.h) on connections: the managers ask where a request arrives, and where a connection ends. */
#ifndef CM_FAULTS_H
#define CM_FAULTS_H

#include "cm/cm.h"
#include "link/rules.h"

/* Returns the rule with one of these acts that acts now on a connection with this address, or NULL. dev->lock held. */
const struct link_rule *cm_fault(struct cm_port *p, uint32_t acts, const uint8_t peer[16], uint64_t now);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Notices of the SMA to the subnet manager (IBTA 13.4.9, 14.2.5.1, 14.3.2 to 14.3.13). A notice leaves as soon as
 * the port has a LID and knows the SM, and again after each subnet timeout until the SM represses it. A node has
 * one notice of each kind under way; a further event of that kind while one waits makes it leave once more.
 */
#ifndef MGMT_TRAP_H
#define MGMT_TRAP_H

#include "mgmt/fabric.h"

/* Trap numbers (14.2.5.1, table 131). */
enum {
	FAB_TRAP_LINK_STATE = 128,
	FAB_TRAP_INTEGRITY = 129,
	FAB_TRAP_OVERRUN = 130,
	FAB_TRAP_WATCHDOG = 131,
	FAB_TRAP_LOCAL_CHANGES = 144,
	FAB_TRAP_SYSTEM_GUID = 145,
	FAB_TRAP_M_KEY = 256,
	FAB_TRAP_P_KEY = 257,
	FAB_TRAP_Q_KEY = 258,
	FAB_TRAP_SWITCH_P_KEY = 259,
};

/* ChangeFlags of notice 144 (14.2.5.1). */
enum { FAB_LOCAL_DESCRIPTION = 1, FAB_LOCAL_WIDTH = 2, FAB_LOCAL_SPEED = 4 };

/* 128: a port of the switch has changed its state. */
void fab_trap_link_state(struct fab_node *sw);
/* 129 to 131: the port has reached a threshold. */
void fab_trap_threshold(struct fab_port *p, unsigned trap);
/* 144: capability mask (flags 0) or description. */
void fab_trap_local(struct fab_port *p, unsigned flags);
/* 145: a new SystemImageGUID. */
void fab_trap_system_guid(struct fab_node *n);
/* 256: an SMP with a wrong M_Key. */
void fab_trap_m_key(struct fab_port *p, const struct mad *m);
/* 257, 258: a packet for QP1 with a P_Key or Q_Key that the port refuses. */
void fab_trap_key(struct fab_port *p, unsigned trap, const struct mad *m);
/* 259: partition enforcement of a switch port has dropped a packet. */
void fab_trap_switch_p_key(struct fab_port *p, uint16_t slid, uint16_t dlid, unsigned sl, uint16_t pkey);

/* TrapRepress has arrived at the port: the notice with this transaction ID has been seen. */
void fab_trap_repress(struct fab_port *p, const struct mad *m);
/* The SM is known now, or another one: what waits leaves. */
void fab_trap_resume(struct fab_port *p);

void fab_traps_free(struct fab_node *n);

#endif

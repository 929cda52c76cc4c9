/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state machine of a port and its link (IBTA 7.2, 14.2.5.6 and 14.3.1).
 *
 *      physical:  POLLING --both ends enabled--> LINK_UP          DISABLED: set by the SM or a user
 *      logical:   DOWN --link up--> INIT --SM--> ARMED --SM, or a data packet--> ACTIVE
 *                 any --link lost, or set to DOWN--> DOWN
 *
 * Training takes no time: a link whose both ends are enabled, connected and not cut is up. Widths and speeds are
 * the best that both ends have enabled.
 */
#ifndef MGMT_PORT_H
#define MGMT_PORT_H

#include "mgmt/fabric.h"

/* LinkWidth codes and LinkSpeed codes, as bit sets (14.2.5.6). */
enum { FAB_1X = 1, FAB_4X = 2, FAB_8X = 4, FAB_12X = 8, FAB_2X = 16 };
enum { FAB_SDR = 1, FAB_DDR = 2, FAB_QDR = 4 };			/* LinkSpeed */
enum { FAB_FDR = 1, FAB_EDR = 2, FAB_HDR = 4, FAB_NDR = 8 };	/* LinkSpeedExt */

/* Fills PortInfo of a new port: down, polling, 1X to 4X, SDR to EDR, MTU 4096, eight data lanes. */
void fab_port_init(struct fab_port *p, struct fab_node *n, unsigned num);
/* Frees its tables and timers. */
void fab_port_fini(struct fab_port *p);

/* What a port can do, as bit sets; ext 0: no extended speeds. Enabled becomes equal; a link that is up trains anew. */
void fab_port_set_abilities(struct fab_port *p, unsigned widths, unsigned speeds, unsigned ext);
/* Restricts the enabled widths and speeds, within the supported ones, and trains anew (dapple fabric link ... slow). Notice 144. */
void fab_port_enable(struct fab_port *p, unsigned widths, unsigned speeds, unsigned ext);

/* The cable of the link is out, or in again: both ends lose, or make, the link. */
void fab_port_cut(struct fab_port *p, bool is_cut);
/* The far end of a trunk: its enabled widths and speeds, MTU capability; up: reachable and enabled. */
void fab_port_trunk(struct fab_port *p, bool is_trunk);
void fab_port_trunk_far(struct fab_port *p, bool up, const uint8_t far_info[4]);
/* What the far end of a trunk has to know of this port. Returns true if it is enabled. */
bool fab_port_trunk_own(const struct fab_port *p, uint8_t ret_info[4]);

/* Brings link, widths and speeds to what both ends ask for; called after each change of either end. */
void fab_port_train(struct fab_port *p);
/* Takes the link down; both ends train again as they are enabled. */
void fab_port_bounce(struct fab_port *p);

/* The port's buffers overflow in as many flow control periods in a row as OverrunErrors allows: notice 130. */
void fab_port_overrun(struct fab_port *p);
/* The far end's flow control packets stay out until the watchdog expires, and the link recovers (IBTA 7.9.4): notice 131. */
void fab_port_stall(struct fab_port *p);

/* Sets PortPhysicalState as the SM asks: FAB_POLLING or FAB_DISABLED; FAB_SLEEP counts as disabled. */
void fab_port_set_phys(struct fab_port *p, unsigned phys);
/* INIT -> ARMED -> ACTIVE. Returns false if the state machine has no such edge. */
bool fab_port_advance(struct fab_port *p, unsigned state);

/* True if packets can cross the link from here: both ends physically up. */
bool fab_port_is_up(const struct fab_port *p);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which sockets go by SDP: the rules of libsdp.
 *
 *   use {sdp|tcp|both} {server|listen|client|connect} PROGRAM ADDRESS[/BITS]:PORT[-PORT]
 *
 * PROGRAM is a pattern of fnmatch(3); ADDRESS and PORT may be *. The first rule that fits decides; without one it
 * is `both`. `log` lines have no effect.
 */
#ifndef ULP_PRELOAD_RULES_H
#define ULP_PRELOAD_RULES_H

#include "ulp/preload/name.h"

#define AF_INET_SDP 27          /* what Linux calls AF_IB today; a stream socket of it is SDP's */

enum rsp_role { RSP_RULE_LISTEN, RSP_RULE_CONNECT };
enum rsp_rule {
	RSP_RULE_RSOCKET,       /* no SDP at all: `dapple run --rsockets` */
	RSP_RULE_TCP, RSP_RULE_SDP, RSP_RULE_BOTH
};

/* True under `dapple run --sdp` (DAPPLE_SOCKETS=sdp). */
bool rsp_sdp_is_on(void);
/* What the rules of this process say of a socket that listens at, or connects to, an address. */
enum rsp_rule rsp_rule_for(enum rsp_role role, const struct rsp_addr *at);

struct rsp_rule_row {
	uint8_t family;         /* of addr; 0: any address */
	uint8_t role;           /* enum rsp_role */
	uint8_t use;            /* enum rsp_rule */
	uint8_t bits;
	uint16_t first, last;   /* ports, host order */
	uint8_t addr[16];
	char program[64];
};

/* Reads one line. Returns 1: a rule; 0: none, it says nothing; -1: it is not understood. */
int rsp_rule_read(const char *line, struct rsp_rule_row *ret);
/* True if the rule fits. */
bool rsp_rule_fits(const struct rsp_rule_row *row, const char *program, enum rsp_role role, const struct rsp_addr *at);

#endif

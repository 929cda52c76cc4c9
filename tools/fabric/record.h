/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A capture of a fabric (`up --capture FILE`): each MAD on each link that it crosses, and with --hop each data packet, as the
 * link would have carried it, from LRH to VCRC with both CRCs right, in a pcapng file for Wireshark and tshark. Each
 * sending port is an interface of the file, NODE/PORT.
 */
#ifndef FABRIC_RECORD_H
#define FABRIC_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "mgmt/fabric.h"

struct record;

/* Takes over the file, name: for sentences. Returns NULL without memory; the file is closed then. */
struct record *record_open(FILE *file, const char *name);
/* NULL: nothing. */
void record_close(struct record *r);

/* fab_ops.crossed */
void record_crossed(struct record *r, const struct fab_port *out, const struct mad *m);
/* fab_ops.passed */
void record_passed(struct record *r, const struct fab_port *out, const uint8_t *bytes, size_t len);
/* After each round: readers of the file see what it has recorded. A write that fails ends the capture with a sentence. */
void record_settle(struct record *r);

/* For `show`: how many, and where. */
void record_print(const struct record *r, FILE *to);

#endif

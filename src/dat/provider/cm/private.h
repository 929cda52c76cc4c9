/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the two ends of a connection must agree on beyond rdma_cm: how a 64 bit qualifier becomes a
 * port, and how a reject is framed. Both follow what Debian's rdma_cm provider does, since
 * that is who may be at the other end.
 */
#ifndef DAT_PROVIDER_CM_PRIVATE_H
#define DAT_PROVIDER_CM_PRIVATE_H

#include <dat2/udat.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_ep;
struct dpr_private;

/* Qualifier to port as Debian's provider folds it: up to 65535 itself, above that
 * (q mod 32001) + 33534. */
uint16_t dpr_qual_port(DAT_CONN_QUAL q);

/* What ep may send with a request. */
unsigned int dpr_private_max(const struct dpr_ep *ep);

/* False: too large, or a size without data. */
bool dpr_private_set(struct dpr_private *p, DAT_COUNT size, const void *data, unsigned int max);

/* A reject as libdaplofa frames it. `ours`: the provider refuses, nobody was asked. */
void dpr_private_reject(struct dpr_private *p, bool ours);

/* What a reject is for the active side; strips the frame. */
DAT_EVENT_NUMBER dpr_private_rejected(struct dpr_private *p, int status, bool iwarp);

#endif

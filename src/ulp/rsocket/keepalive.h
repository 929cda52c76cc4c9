/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Keepalive of a stream. Both functions are called with c held. */
#ifndef ULP_RSOCKET_KEEPALIVE_H
#define ULP_RSOCKET_KEEPALIVE_H

#include "ulp/rsocket/sock.h"

/* Returns the milliseconds until the next keepalive is due, or -1 if none will be. */
int rs_keep_wait(struct rs_sock *s);
/* Sends a keepalive, if one is due. */
void rs_keep_send(struct rs_sock *s);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connection requests of a listening rsocket. */
#ifndef ULP_RSOCKET_LISTEN_H
#define ULP_RSOCKET_LISTEN_H

#include "ulp/rsocket/sock.h"

/* Takes requests off the channel. Returns how many wait for raccept(). Keeps errno. */
int rs_listen_look(struct rs_sock *s);
/* Rejects and frees the requests that wait. Called by the last user. */
void rs_listen_free(struct rs_sock *s);

#endif

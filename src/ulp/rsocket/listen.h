/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Listening rsockets and their connection requests. */
#ifndef ULP_RSOCKET_LISTEN_H
#define ULP_RSOCKET_LISTEN_H

#include "ulp/rsocket/sock.h"

int rs_listen(struct rs_sock *s, int backlog);
/* Waits for a request, unless the rsocket is non-blocking. Returns the new descriptor or an errno. */
int rs_accept(struct rs_sock *s);
/* Takes requests off the channel. Returns how many wait for raccept(). Keeps errno. */
int rs_listen_look(struct rs_sock *s);
/* Rejects and frees the requests that wait. Called by the last user. */
void rs_listen_free(struct rs_sock *s);

#endif

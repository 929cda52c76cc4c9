/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Half-close and close of rsockets of both types. */
#ifndef ULP_RSOCKET_CLOSE_H
#define ULP_RSOCKET_CLOSE_H

#include "ulp/rsocket/sock.h"

/* Returns 0, -EINTR after a signal, or why it is refused. A cancellation point. */
int rs_shutdown(struct rs_sock *s, int how);
/* Ends the connection of an rsocket that is in no table any more; rs_put() frees it. */
void rs_close(struct rs_sock *s);

#endif

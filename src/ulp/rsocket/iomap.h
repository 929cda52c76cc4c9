/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* I/O maps of a stream: memory that the peer writes by offset. */
#ifndef ULP_RSOCKET_IOMAP_H
#define ULP_RSOCKET_IOMAP_H

#include "ulp/rsocket/sock.h"

/* Announces all new maps to the peer. Called with s held; releases s while it waits. */
int rs_maps_send(struct rs_sock *s, bool nowait);
void rs_maps_free(struct rs_sock *s);

#endif

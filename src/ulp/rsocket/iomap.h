/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* I/O maps of a stream: memory that the peer writes by offset. */
#ifndef ULP_RSOCKET_IOMAP_H
#define ULP_RSOCKET_IOMAP_H

#include "ulp/rsocket/sock.h"

/*
 * Registers memory and, with PROT_WRITE, lets the peer write it at the offset. Returns 0 or a negative
 * errno; waits until the stream is connected.
 */
int rs_map_add(struct rs_sock *s, void *buf, size_t len, int prot, uint64_t offset);
int rs_map_remove(struct rs_sock *s, void *buf, size_t len);
/* Writes into the peer's maps. Returns the bytes written, or a negative errno if there were none. */
ssize_t rs_map_write(struct rs_sock *s, const void *buf, size_t len, uint64_t offset, int flags);
/* Announces all new maps to the peer. Called with s held; releases s while it waits. */
int rs_maps_send(struct rs_sock *s, bool nowait);
void rs_maps_free(struct rs_sock *s);

#endif

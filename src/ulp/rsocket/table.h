/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of an rsocket: creation, the table from descriptors to rsockets, references, the end. */
#ifndef ULP_RSOCKET_TABLE_H
#define ULP_RSOCKET_TABLE_H

#include "ulp/rsocket/sock.h"

/* Returns an rsocket with one reference and the options `from`, in no table; NULL without memory. */
struct rs_sock *rs_new(int type, int family, const struct rs_opts *from);
/* Enters the rsocket as fd; the table takes over the caller's reference. Returns fd or an errno. */
int rs_publish(struct rs_sock *s, int fd);
/* Returns true and the table's reference to the caller; false if another thread closed it first. */
bool rs_unpublish(struct rs_sock *s);
/* Returns the rsocket of fd with a reference, or NULL. */
struct rs_sock *rs_get(int fd);
/* Drops a reference; the last one frees the rsocket with all that belongs to it. */
void rs_put(struct rs_sock *s);
/* Returns true if fd was inherited through fork(), and clears its slot. */
bool rs_stale(int fd);

#endif

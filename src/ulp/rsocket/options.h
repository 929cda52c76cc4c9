/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Socket options of rsockets of both types. */
#ifndef ULP_RSOCKET_OPTIONS_H
#define ULP_RSOCKET_OPTIONS_H

#include "ulp/rsocket/sock.h"

/* Both return 0, or -ENOPROTOOPT, -EINVAL or -EFAULT, as setsockopt(2) and getsockopt(2) do. */
int rs_option_set(struct rs_sock *s, int level, int name, const void *val, socklen_t len);
int rs_option_get(struct rs_sock *s, int level, int name, void *val, socklen_t *len);

#endif

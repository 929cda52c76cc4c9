/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Socket options of TCP, as the program's end answers them. */
#ifndef ULP_PRELOAD_OPTIONS_H
#define ULP_PRELOAD_OPTIONS_H

#include "ulp/preload/name.h"

/* As getsockopt(2) of a socket with this name, with a negative errno; err is a failed attempt's. */
int rsp_option_get(int fd, const struct rsp_name *name, int err, int level, int opt, void *val, socklen_t *len);
/* As setsockopt(2), with a negative errno. */
int rsp_option_set(int fd, int level, int opt, const void *val, socklen_t len);

#endif

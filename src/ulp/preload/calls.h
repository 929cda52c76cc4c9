/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of the C library that libdapple-rsockets.so replaces. */
#ifndef ULP_PRELOAD_CALLS_H
#define ULP_PRELOAD_CALLS_H

#include <sys/socket.h>

#define RSP_EXPORT __attribute__((visibility("default")))

#endif

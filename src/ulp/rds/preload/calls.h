/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of the C library that librds-preload.so replaces: those that would tell an RDS socket from a unix one. */
#ifndef ULP_RDS_PRELOAD_CALLS_H
#define ULP_RDS_PRELOAD_CALLS_H

#define RDS_EXPORT __attribute__((visibility("default")))

#endif

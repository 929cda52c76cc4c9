/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls of <rdma/rsocket.h> that librdmacm.so.1 exports. The version script of librdmacm names
 * each call besides.
 */
#ifndef ULP_RSOCKET_CALLS_H
#define ULP_RSOCKET_CALLS_H

#include <rdma/rsocket.h>

#define RS_EXPORT __attribute__((visibility("default")))

#endif

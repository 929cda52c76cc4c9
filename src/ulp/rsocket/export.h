/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of <rdma/rsocket.h> that leave librdmacm.so.1; its version script names them besides. */
#ifndef ULP_RSOCKET_EXPORT_H
#define ULP_RSOCKET_EXPORT_H

#define RS_EXPORT __attribute__((visibility("default")))

#endif

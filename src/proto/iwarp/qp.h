/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs of the iWARP machine. */
#ifndef PROTO_IWARP_QP_H
#define PROTO_IWARP_QP_H

#include "engine/dev.h"
#include "proto/stream.h"

extern const struct eng_proto_ops iwp_proto_ops;
extern const struct proto_stream_ops iwp_stream_ops;

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Incoming FPDUs: link_stream_user.received and received_shm. */
#ifndef PROTO_IWARP_RX_H
#define PROTO_IWARP_RX_H

#include "proto/iwarp/port.h"

size_t iwp_received(struct link_stream *s, const uint8_t *data, size_t off, size_t len,
		    uint64_t now);
size_t iwp_received_shm(struct link_stream *s, const uint8_t *data, size_t len, uint64_t now);

#endif

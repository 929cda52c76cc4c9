/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A packet as one line of text, from the same rows that made the accessors. */
#ifndef WIRE_IB_TEXT_H
#define WIRE_IB_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Write at most size bytes with the final 0 and return the length of the text as it was written,
 * without that 0; text beyond is cut. buf may hold any bytes; a packet that cannot be parsed gives
 * the reason.
 */

/* A transport packet: BTH to ICRC, the payload of a RoCEv2 datagram. */
size_t wire_ib_text(char *out, size_t size, const uint8_t *buf, size_t len);

/* A packet of an InfiniBand link: LRH to ICRC. */
size_t wire_link_text(char *out, size_t size, const uint8_t *buf, size_t len);

#endif

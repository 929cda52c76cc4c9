/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Chunks of outgoing FPDUs. */
#ifndef PROTO_IWARP_TX_H
#define PROTO_IWARP_TX_H

#include "proto/iwarp/port.h"

/* Begins a chunk. Returns false if nothing can be sent now. */
bool iwp_tx_open(struct iwp_qp *q);
/* Returns true if the chunk has room for an FPDU of this ULPDU; the first one of a chunk always
 * fits. */
bool iwp_tx_fits(const struct iwp_qp *q, uint32_t ulpdu);
/* Returns true if the chunk has room for an FPDU of a message that has `left` octets yet to be sent; *ret_n: how many of
 * them, at most max, behind a header of `head` octets. */
bool iwp_tx_share(const struct iwp_qp *q, uint32_t head, uint32_t max, uint64_t left, uint32_t *ret_n);
/* Returns where the FPDU is built; *stage_off: its offset in the stage. */
uint8_t *iwp_tx_begin(struct iwp_qp *q, size_t *stage_off);
/* Adds application memory behind the header of `head` octets, which is complete but for its length:
 * a posted buffer, or what a Read asks for. Returns false if some of it is not present. */
bool iwp_tx_gather(struct iwp_qp *q, size_t stage_off, uint32_t head, const struct iovec *iov,
		   int n, uint32_t len, bool posted);
/* Adds length, pad, CRC and markers: the FPDU is part of the chunk now. */
void iwp_tx_end(struct iwp_qp *q, uint32_t ulpdu);
/* Gives the chunk to the stream. */
void iwp_tx_close(struct iwp_qp *q);
/* Returns the octets of the stream that TCP has taken. */
uint64_t iwp_tx_taken(const struct iwp_qp *q);
/* Writes the header of an untagged or tagged segment at h. */
void iwp_untagged(uint8_t *h, unsigned opcode, uint32_t inv, uint32_t msn, uint32_t mo, bool last);
void iwp_tagged(uint8_t *h, unsigned opcode, uint32_t stag, uint64_t to, bool last);

#endif

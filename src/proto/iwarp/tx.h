/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Chunks of FPDUs, out. */
#ifndef PROTO_IWARP_TX_H
#define PROTO_IWARP_TX_H

#include "proto/iwarp/port.h"

/* Begins a chunk. False: nothing can be sent now. */
bool iwp_tx_open(struct iwp_qp *q);
/* Is there room for an FPDU of this ULPDU? The first one of a chunk always fits. */
bool iwp_tx_fits(const struct iwp_qp *q, uint32_t ulpdu);
/* Where the FPDU is built; *stage_off tells its place in the stage. */
uint8_t *iwp_tx_begin(struct iwp_qp *q, size_t *stage_off);
/* Application memory to behind the header of `head` octets, which is complete but for its length;
 * a posted buffer, or what a Read asks for. False: some of it is not there. */
bool iwp_tx_gather(struct iwp_qp *q, size_t stage_off, uint32_t head, const struct iovec *iov,
		   int n, uint32_t len, bool posted);
/* Length, pad, CRC and markers; it is part of the chunk now. */
void iwp_tx_end(struct iwp_qp *q, uint32_t ulpdu);
/* Hands the chunk to the stream. */
void iwp_tx_close(struct iwp_qp *q);
/* Octets of the stream that TCP has taken. */
uint64_t iwp_tx_taken(const struct iwp_qp *q);
/* Header of an untagged / tagged segment at h. */
void iwp_untagged(uint8_t *h, unsigned opcode, uint32_t inv, uint32_t msn, uint32_t mo, bool last);
void iwp_tagged(uint8_t *h, unsigned opcode, uint32_t stag, uint64_t to, bool last);

#endif

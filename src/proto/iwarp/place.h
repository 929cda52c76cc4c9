/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Placement of incoming Sends, immediate data and Writes. */
#ifndef PROTO_IWARP_PLACE_H
#define PROTO_IWARP_PLACE_H

#include "proto/iwarp/port.h"

enum eng_verdict iwp_take_send(struct iwp_qp *q, const struct iwp_rx *rx);
enum eng_verdict iwp_take_write(struct iwp_qp *q, const struct iwp_rx *rx);
/* Puts payload into application memory; the last 64 octets last if it ends a message. */
bool iwp_scatter(struct iwp_qp *q, const struct iwp_rx *rx, struct iovec *iov, int n);
/* Checks the peer's right to memory here, and returns the address; both are valid for one segment
 * only. */
enum eng_verdict iwp_remote_right(struct iwp_qp *q, uint32_t stag, uint64_t to, uint32_t len,
				  unsigned need, struct eng_mkey **ret_mk, uint64_t *ret_off);
enum eng_verdict iwp_remote(struct iwp_qp *q, uint32_t stag, uint64_t to, uint32_t len,
			    unsigned need, struct iovec *iov, int *ret_n);

#endif

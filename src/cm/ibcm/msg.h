/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_IBCM_MSG_H
#define CM_IBCM_MSG_H

#include "cm/ibcm/ep.h"

/* Starts a MAD in buf and returns its message part. */
uint8_t *ibcm_mad(uint8_t buf[WIRE_MAD_BYTES], enum wire_cm_attr attr, uint64_t tid);
/* ... with both communication IDs of the endpoint, to be repeated. */
uint8_t *ibcm_ep_mad(struct ibcm_ep *e, enum wire_cm_attr attr);
void ibcm_send_kept(struct ibcm_ep *e);
/* Without keeping: RTU, DREP, MRA of a message, REJ of a message. */
void ibcm_send_plain(struct ibcm_ep *e, enum wire_cm_attr attr);
void ibcm_send_mra(struct ibcm_ep *e, unsigned message);
void ibcm_build_rej(struct ibcm_ep *e, unsigned message, unsigned reason, const void *data,
		    uint16_t len);
/* An answer to a stranger: back to where rx came from. */
void ibcm_reply(struct ibcm *cm, const struct gsi_rx *rx, const uint8_t mad[WIRE_MAD_BYTES]);
void ibcm_reply_rej(struct ibcm *cm, const struct gsi_rx *rx, unsigned message, unsigned reason);
void ibcm_reply_ids(struct ibcm *cm, const struct gsi_rx *rx, enum wire_cm_attr attr);
void ibcm_reply_apr(struct ibcm *cm, const struct gsi_rx *rx, enum cm_apr status);
/* Our QP's ACK timeout from a CA's ACK delay and the packet life time, IBTA 12.7.34. */
uint8_t ibcm_ack_timeout(unsigned ack_delay, unsigned life);
enum ibv_mtu ibcm_mtu(uint32_t bytes);
/* Returns true if messages name this address by this GID. */
bool ibcm_is_gid_of(const struct ibcm *cm, const uint8_t *gid, const uint8_t addr[16]);

#endif

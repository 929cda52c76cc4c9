/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A record of the observation ring (ring.h): one packet, message, access or frame, and the beginning of its bytes. */
#ifndef OBSERVE_RECORD_H
#define OBSERVE_RECORD_H

#include <stdint.h>

enum obs_kind {
	OBS_DATAGRAM = 1, /* BTH to ICRC, as the link carried it */
	OBS_MESSAGE,      /* of the shm channel: its header of 40 bytes (proto/ib/frame_shm.h), then payload */
	OBS_ACCESS,       /* a direct access: such a header; of an atomic two operands of 8 bytes; then data */
	OBS_FPDU,         /* from ULPDU_Length on, without markers and CRC */
	OBS_FRAME,        /* an MPA Request or Reply */
	OBS_KINDS
};

enum obs_way {
	OBS_WIRE,
	OBS_RING,   /* through the ring of the shm channel, payload included */
	OBS_FETCH,  /* the same; the payload was fetched by its receiver */
	OBS_DIRECT, /* direct access by a copy of the kernel */
	OBS_STORES, /* direct access by loads and stores */
	OBS_PIPE,   /* a stream in shared memory */
	OBS_WAYS
};

#define OBS_HEADER 40u /* bytes of a message's header */

struct obs_record {
	uint32_t size;   /* of the record in the ring: this structure and the bytes, a multiple of 8 */
	uint8_t kind, way;
	uint8_t out;     /* 1: this process sent it */
	uint8_t tos;
	uint64_t time;   /* ns of CLOCK_MONOTONIC */
	uint64_t number; /* counts the records of a ring from 0 on */
	uint32_t len;    /* bytes of the thing itself */
	uint32_t have;   /* of them behind this structure */
	uint16_t sport, dport;
	uint32_t qpn;    /* of this process; 0: see the header */
	uint8_t src[16], dst[16]; /* IP addresses; between LIDs those of the GRH, or of the ports by their GUIDs */
	/* Of packets between LIDs; all 0 in others. */
	uint16_t slid, dlid; /* 0 in messages: not known to their receiver */
	uint8_t lids, grh;   /* 1: such a packet; 1: it has a GRH, with traffic class tos */
	uint8_t sl, hop_limit;
	uint32_t flow_label, rsv;
};
_Static_assert(sizeof(struct obs_record) == 88, "no gaps: it goes through memory to another program");

#endif

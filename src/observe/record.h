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
	OBS_DIRECT, /* direct access by a copy of the kernel */
	OBS_STORES, /* direct access by loads and stores */
	OBS_PIPE,   /* a stream in shared memory */
	OBS_WAYS
};

#define OBS_HEADER 40u /* bytes of a message's header */

/* What many records have in common. Stands in the ring's table, and is never changed there. */
struct obs_flow {
	uint8_t src[16], dst[16]; /* IP addresses; between LIDs those of the GRH, or of the ports by their GUIDs */
	uint16_t sport, dport;
	uint32_t qpn;             /* of this process; 0: see the header */
	/* Of packets between LIDs; all 0 in others. */
	uint16_t slid, dlid;      /* 0 in messages: not known to their receiver */
	uint8_t lids, grh;        /* 1: such a packet; 1: it has a GRH, with traffic class tos */
	uint8_t sl, hop_limit;
	uint32_t flow_label;
	uint8_t tos, rsv[3];
	uint32_t rsv2[2];
};
_Static_assert(sizeof(struct obs_flow) == 64, "no gaps: compared as bytes, and another program reads it");

/* As it stands in the ring: the bytes follow, and zeros up to a multiple of 8. */
struct obs_stored {
	uint64_t time;       /* on the ring's clock */
	uint8_t kind_way;    /* kind in the lower, way in the upper four bits; 0: no record, len bytes to be skipped */
	uint8_t out;
	uint16_t flow;       /* index in the table, or OBS_FLOW_APART */
	uint32_t number;     /* lower 32 bits */
	uint32_t len, have;
};
_Static_assert(sizeof(struct obs_stored) == 24, "with a message's header one cache line");

#define OBS_FLOWS 1024u
#define OBS_FLOW_APART 0xffffu /* a struct obs_flow stands in front of the bytes */

/* As a reader gets it. */
struct obs_record {
	uint8_t kind, way;
	uint8_t out;     /* 1: this process sent it */
	uint64_t time;   /* ns of CLOCK_MONOTONIC */
	uint64_t number; /* counts the records of a ring from 0 on */
	uint32_t len;    /* bytes of the thing itself */
	uint32_t have;   /* of them that are at hand */
	struct obs_flow flow;
};

#endif

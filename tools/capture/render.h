/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From records of the observation ring to packets of IP, or of an InfiniBand link from LRH to VCRC. A datagram is shown as it was; a message of the shm channel
 * and a direct access as the packets, and an FPDU as the TCP segment, that the wire would have carried.
 *
 * On the local path a PSN counts messages of up to 64 KiB. Here each message is cut at the path MTU and PSNs are
 * counted anew from the first one of a queue pair on, in requests and in the responses to them alike. Sequence numbers
 * of TCP count from 1 for each stream. An FPDU has no markers, and a CRC that is right; if a stream is older than the
 * capture, a Request and a Reply are put in front, without which no dissector knows what the bytes are.
 *
 * Pure: no clock, file or process. Records come in the order of their times.
 */
#ifndef CAPTURE_RENDER_H
#define CAPTURE_RENDER_H

#include "observe/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RENDER_FRAME (64u * 1024 + 512) /* room of one packet */
#define RENDER_DATAGRAM 4096u /* bytes of payload in one datagram (IBTA table 32: the largest MTU) */

/* One packet: `len` bytes from its IP header or LRH on, of which the first `have` are at data. */
struct render_frame {
	const uint8_t *data;
	uint32_t have, len;
	bool lids;       /* it begins with an LRH */
	bool out;        /* sent by the record's process */
	const char *note; /* what the packet is not: NULL, or words for its comment */
};

struct render;

typedef void render_emit(void *arg, const struct render_frame *f);

/* mtu: of RoCE paths. Returns NULL without memory. */
struct render *render_new(uint32_t mtu, render_emit *emit, void *arg);
void render_free(struct render *r);
/* Emits the packets of one record with `h->have` bytes. Returns false for a record that is no packet, or was emitted
 * as the record of its other end. */
bool render_record(struct render *r, const struct obs_record *h, const uint8_t *bytes);

/* Words for a way: "by shared memory (ring)"; "" for the wire. */
const char *render_way(enum obs_way way);

#endif

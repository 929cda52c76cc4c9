/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A writer of pcapng files (draft-ietf-opsawg-pcapng): a section, an interface for each adapter of each process, and
 * packets with a direction and a comment: raw IP, or InfiniBand. Times are nanoseconds since 1970.
 */
#ifndef CAPTURE_PCAPNG_H
#define CAPTURE_PCAPNG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pcapng {
	FILE *file;
	uint32_t interfaces;
	int error; /* the first that writing has met, a positive errno; nothing is written after it */
};

/* Begins a section. file stays the caller's. */
void pcapng_begin(struct pcapng *p, FILE *file, const char *application);
/* Of interfaces (www.tcpdump.org/linktypes.html). Packets of InfiniBand have a header of Endace's ERF, by which Wireshark
 * knows them; it has no dissector for LINKTYPE_INFINIBAND. */
enum pcapng_link { PCAPNG_RAW = 101, PCAPNG_ERF = 197 };

/* Returns the number of the new interface. */
uint32_t pcapng_interface(struct pcapng *p, enum pcapng_link link, const char *name, const char *description);
/* A packet of len bytes, of which the first `have` are written, of an interface of this link; PCAPNG_ERF: from LRH to
 * VCRC. comment: NULL for none. */
void pcapng_packet(struct pcapng *p, uint32_t interface, enum pcapng_link link, uint64_t time, bool out, const uint8_t *data, uint32_t have,
		   uint32_t len, const char *comment);
/* What the interface has seen and lost. */
void pcapng_statistics(struct pcapng *p, uint32_t interface, uint64_t time, uint64_t received, uint64_t lost);
void pcapng_flush(struct pcapng *p);

#endif

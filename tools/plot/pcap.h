/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A reader of pcapng files (draft-ietf-opsawg-pcapng), as dapple capture, dumpcap and tcpdump write them on a machine of
 * this byte order: enhanced packets of raw IP and of Ethernet. Blocks of other kinds are passed over.
 */
#ifndef PLOT_PCAP_H
#define PLOT_PCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pcap_packet {
	uint64_t time;       /* ns */
	const uint8_t *data; /* the IP packet */
	uint32_t have, len;  /* octets that are here; of the packet */
};

/* Calls each() for every packet of IP. Returns 0, or -1 with the cause in why. */
int pcap_read(FILE *f, void (*each)(const struct pcap_packet *p, void *arg), void *arg, char why[100]);

#endif
